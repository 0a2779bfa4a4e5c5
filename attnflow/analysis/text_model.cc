#include "attnflow/analysis/text_model.h"

#include <utility>

namespace attnflow {

LoadedText load_text_model(const ModelFiles& files, const LoadOptions& options, std::optional<Tokenizer> tokenizer) {
  LoadedText loaded;
  loaded.tokenizer = std::move(tokenizer);
  if (files.folder() != nullptr && !loaded.tokenizer) {
    loaded.tokenizer = Tokenizer::load(*files.folder(), files.info().architecture);
  }
  loaded.model = files.load_text(options);
  return loaded;
}

LoadedText load_decoder_model(const ModelFiles& files, const LoadOptions& options) {
  if (files.info().causal) return load_text_model(files, options);
  return {files.load_decoder(options), std::nullopt};  // which says that it is none
}

}  // namespace attnflow
