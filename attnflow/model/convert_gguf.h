// A decoder's GGUF file as a Hugging Face folder.
//
// A GGUF file holds quantised numbers: blocks of 32 or 256 that share a few scales. What libllama computes with them
// rounds once more (activations are quantised too); what they stand for is exact float32. This writes those numbers,
// with config.json and the tokenizer, as a folder that the torch backend and transformers read: the same model without
// the rounding, and with gradients. It is not the model from before quantisation, which the file no longer knows.
//
//   config.json, model.safetensors                weights under Hugging Face's names and in its order (gguf_layout.h)
//   tokenizer.json, tokenizer_config.json         the vocabulary and its rules, the chat template (gguf_tokenizer.h)
//   generation_config.json                        the tokens that end a text
//   README.md                                     where it comes from, and under which licence
//
// The tokenizer is compared with the file's own before anything appears. The folder appears whole or not at all. Work
// is linear in the weights; memory holds one tensor at most, which is written before the next is read. Same file, same
// bytes.
#ifndef ATTNFLOW_MODEL_CONVERT_GGUF_H_
#define ATTNFLOW_MODEL_CONVERT_GGUF_H_

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
  std::size_t quantised = 0;       // of them, stored in blocks before
  std::size_t parameters = 0;      // numbers of all tensors
  std::size_t bytes = 0;           // of model.safetensors
  std::size_t texts_compared = 0;  // on which both tokenizers agree
  std::vector<std::string> notes;  // what is in the file and not in the folder, as sentences
};

// `folder` must not exist; the folder that it is to lie in must.
// Throws Error(kUsage): it does exist; Error(kBadFile) and Error(kUnsupportedModel) as read_gguf(), ModelFiles,
// plan_conversion() and convert_tokenizer() do, and for weights that are no finite numbers; Error(kOther): no room on
// the disk, a file that cannot be written; Cancelled.
ConvertResult convert_gguf(const std::filesystem::path& file, const std::filesystem::path& folder,
                           const ConvertOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_CONVERT_GGUF_H_
