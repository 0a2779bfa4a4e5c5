// Converts the tokenizer in a GGUF file to the files of a Hugging Face folder.
//
// Byte-level BPE (Radford et al., 2019; "gpt2" in GGUF) has a vocabulary, a list of merges, and a rule that splits text
// before merging. The file gives only the rule's name (tokenizer.ggml.pre), so the conversion needs a table of names:
//   gpt-2      GPT-2's expression
//   smollm     single digits, then GPT-2's expression
//   llama-bpe  Llama 3's expression, digits in groups of up to three; whole words that are in the vocabulary stay whole
//   qwen2      the same with single digits. Qwen's own tokenizer first composes characters (NFC), which GGUF does not
//              record and llama.cpp does not do, so the converted files do not do it either
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/files/gguf.h"
#include "attnflow/text/text_codec.h"

namespace attnflow::internal {

struct ConvertedTokenizer {
  std::string tokenizer;    // tokenizer.json
  std::string settings;     // tokenizer_config.json
  std::string generation;   // generation_config.json: the tokens that end generation
  std::int64_t begin = -1;  // ids of the tokens that begin and end a text; -1: not named
  std::int64_t end = -1;
  std::vector<std::string> special_tokens;  // their spelling
  std::vector<std::string> notes;           // contents of the GGUF file that these files lack, as sentences
};

// `header` must have been read with GgufArrays::kWhole; `codec` is the file's own (Decoder::codec()), which defines the
// tokens that it adds around a text and the special tokens; `positions` is the maximum length of a sequence; messages
// call the file `source`. Work and memory are linear in the vocabulary. Throws Error(kUnsupportedModel): another kind
// of tokenizer or rule; Error(kBadFile): inconsistent lists, another number of tokens, duplicates, pieces not in UTF-8.
ConvertedTokenizer convert_tokenizer(const GgufHeader& header, const TextCodec& codec, std::size_t vocabulary,
                                     std::size_t positions, const std::string& source);

// Compares a folder's tokenizer with its original, by the ids of about sixty texts, including the spelled-out
// `special_tokens`. Returns the number compared. Throws Error(kUnsupportedModel) with the first text that differs.
std::size_t check_tokenizer(const Folder& folder, const std::string& model_type, const TextCodec& codec,
                            const std::vector<std::string>& special_tokens);

}  // namespace attnflow::internal
