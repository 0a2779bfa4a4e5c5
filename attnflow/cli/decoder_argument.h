// The decoder that --model stands for, with its tokenizer.
#ifndef ATTNFLOW_CLI_DECODER_ARGUMENT_H_
#define ATTNFLOW_CLI_DECODER_ARGUMENT_H_

#include <memory>
#include <optional>
#include <string>

#include "attnflow/model/decoder.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow {

struct LoadedDecoder {
  std::unique_ptr<Decoder> decoder;
  std::optional<Tokenizer> tokenizer;  // of a Hugging Face folder

  const TextCodec& codec() const { return tokenizer ? *tokenizer : *decoder->codec(); }
};

// Whether a model is named by a file of that kind.
bool is_gguf(const std::string& reference);

// A GGUF file, or what resolve_model() takes. Errors as load_gguf's and load_decoder's.
LoadedDecoder load_decoder_argument(const std::string& reference, const LoadOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_DECODER_ARGUMENT_H_
