#include "attnflow/cli/decoder_argument.h"

#include "attnflow/cli/model_argument.h"
#include "attnflow/files/extension.h"

namespace attnflow {

bool is_gguf(const std::string& reference) { return internal::lower_extension(reference) == ".gguf"; }

LoadedDecoder load_decoder_argument(const std::string& reference, const LoadOptions& options) {
  LoadedDecoder loaded;
  if (is_gguf(reference)) {
    loaded.decoder = load_gguf(reference, options);
    return loaded;
  }
  const Folder folder = resolve_model(reference);
  loaded.decoder = load_decoder(folder, options);
  loaded.tokenizer = Tokenizer::load(folder, loaded.decoder->info().architecture);
  return loaded;
}

}  // namespace attnflow
