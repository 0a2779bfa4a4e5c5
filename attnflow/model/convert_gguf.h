// Converts a decoder's GGUF file to a Hugging Face folder.
//
// A GGUF file holds quantized numbers: blocks of 32 or 256 that share a few scales. libllama rounds again when it
// computes with them (it also quantizes activations), but the values that they represent are exact in float32. The
// conversion writes those values, with config.json and the tokenizer, as a folder for the torch backend and
// transformers: the same model without more rounding, and with gradients. It cannot undo the quantization.
//
//   config.json, model.safetensors                weights under Hugging Face's names and in its order (gguf_layout.h)
//   tokenizer.json, tokenizer_config.json         the vocabulary and its rules, the chat template (gguf_tokenizer.h)
//   generation_config.json                        the tokens that end a text
//   README.md                                     where it comes from, and under which license
//
// The tokenizer is compared with the file's own first. The folder appears whole or not at all. Work is linear in the
// weights; memory holds one tensor at most. The output is bitwise reproducible for the same file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/base/progress.h"

namespace attnflow {

struct ConvertOptions {
  ProgressFunction progress;  // in bytes of weights
  std::stop_token stop_token;
};

struct ConvertResult {
  std::string model_type;          // config.json's
  std::size_t tensors = 0;         // in model.safetensors
  std::size_t quantised = 0;       // those of them that were stored in blocks
  std::size_t parameters = 0;      // numbers in all tensors
  std::size_t bytes = 0;           // of model.safetensors
  std::size_t texts_compared = 0;  // for which both tokenizers agree
  std::vector<std::string> notes;  // contents of the file that the folder lacks, as sentences
};

// `folder` must not exist, but its parent must. Throws Error(kUsage) if `folder` exists; Error(kBadFile) and
// Error(kUnsupportedModel) as read_gguf(), ModelFiles, plan_conversion() and convert_tokenizer() do, and for weights
// that are not finite numbers; Error(kOther) for a full disk or a file that cannot be written; Cancelled.
ConvertResult convert_gguf(const std::filesystem::path& file, const std::filesystem::path& folder,
                           const ConvertOptions& options = {});

}  // namespace attnflow
