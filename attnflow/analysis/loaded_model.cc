#include "attnflow/analysis/loaded_model.h"

#include <utility>

#include "attnflow/base/format_error.h"
#include "attnflow/model/model_input.h"

namespace attnflow {
namespace {

constexpr const char* kProcessorFile = "preprocessor_config.json";

}  // namespace

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
  if (files.info().causal || files.info().target) return load_text_model(files, options);
  return {files.load_decoder(options), std::nullopt};  // which says that it is none
}

ImageModel load_image_model(const ModelFiles& files, const LoadOptions& options) {
  const ModelInfo& info = files.info();
  check_takes_pictures(info);
  const Folder& folder = *files.folder();
  if (!folder.has(kProcessorFile)) {
    throw internal::file_error(
        "{}: expected a file {}, which describes how images are preprocessed, found none; copy it from the model's "
        "source, where it is next to config.json",
        folder.label(), kProcessorFile);
  }
  ImageProcessorOptions processor;
  processor.channels = info.image->channels;
  processor.model_type = info.architecture;
  ImageModel result;
  result.processor = read_image_processor(folder.read(kProcessorFile), folder.label(kProcessorFile), processor);
  result.model = files.load_vision(options);
  return result;
}

}  // namespace attnflow
