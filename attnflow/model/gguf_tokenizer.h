// The tokenizer inside a GGUF file as the files of a Hugging Face folder.
//
// Byte-level BPE (Radford et al., 2019; "gpt2" in GGUF) is a vocabulary, a list of merges, and a rule that splits text
// before anything is merged. The first two are in the file; the rule is there only by name (tokenizer.ggml.pre), so it
// takes a table of names:
//   gpt-2      GPT-2's expression
//   smollm     each digit apart, then GPT-2's
//   llama-bpe  Llama 3's expression, digits in groups of up to three; whole words that are in the vocabulary stay whole
//   qwen2      the same with single digits. Qwen's own tokenizer composes characters first (NFC), which GGUF does not
//              say and llama.cpp does not do, so neither do these files
#ifndef ATTNFLOW_MODEL_GGUF_TOKENIZER_H_
#define ATTNFLOW_MODEL_GGUF_TOKENIZER_H_

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
  std::string generation;   // generation_config.json: where generation ends
  std::int64_t begin = -1;  // ids of the tokens that begin and end a text; -1: none is named
  std::int64_t end = -1;
  std::vector<std::string> special_tokens;  // as they are spelled
  std::vector<std::string> notes;           // what is in the GGUF file and not in these, as sentences
};

// `header` must have been read with GgufArrays::kWhole; `codec` is the file's own (Decoder::codec()), which says what
// it puts around a text and which tokens are special; `positions` is how long a sequence may be; `source` is what
// messages call the file. Work and memory are linear in the vocabulary.
// Throws Error(kUnsupportedModel): a tokenizer of another kind or rule; Error(kBadFile): lists that do not agree, a
// vocabulary that is not `vocabulary` tokens, pieces that are twice there or not UTF-8.
ConvertedTokenizer convert_tokenizer(const GgufHeader& header, const TextCodec& codec, std::size_t vocabulary,
                                     std::size_t positions, const std::string& source);

// Compares the tokenizer of a folder with the one that it was made from, by the ids of some sixty texts of all kinds,
// in which `special_tokens` are spelled out too. Returns how many were compared. Throws Error(kUnsupportedModel) with
// the first text whose ids differ.
std::size_t check_tokenizer(const Folder& folder, const std::string& model_type, const TextCodec& codec,
                            const std::vector<std::string>& special_tokens);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_GGUF_TOKENIZER_H_
