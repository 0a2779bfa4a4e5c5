#include "attnflow/model/model_files.h"

#include <utility>

#include "attnflow/files/extension.h"
#include "attnflow/model/backend.h"
#include "attnflow/model/config_reader.h"
#include "attnflow/model/gguf_decoder.h"
#include "attnflow/model/model_input.h"

namespace attnflow {

ModelFiles::ModelFiles(const Folder& folder, const OpenOptions& options) : folder_(folder) {
  const std::string config = internal::read_config_text(folder);
  const std::string source = folder.label("config.json");
  const Architecture* const row = find_architecture(internal::model_type_of(config, source));
  if (row != nullptr && row->kind == ArchitectureKind::kEncoderDecoder) {
    files_ = find_encoder_decoder_weights(folder, read_encoder_decoder_config(folder), options);
  } else {
    files_ = find_weights(folder, parse_model_config(config, source), options);
  }
}

const ModelInfo& ModelFiles::info() const {
  return std::visit([](const auto& files) -> const ModelInfo& { return files.info; }, files_);
}

const ModelWeights& ModelFiles::encoder_weights() const {
  const auto* const weights = std::get_if<ModelWeights>(&files_);
  if (weights != nullptr && weights->config.architecture->is_encoder()) return *weights;
  if (folder_)
    read_model_config(*folder_, ArchitectureKind::kEncoder);  // reports what is wrong with a decoder's config
  throw Error(ErrorKind::kUnsupportedModel, "expected an encoder, found the decoder " + info().name);
}

std::unique_ptr<TextModel> ModelFiles::load_text(const LoadOptions& options) const {
  if (info().causal || info().target) return load_decoder(options);
  return load_encoder(options);
}

// Checks the device before opening libtorch, which takes most of a second; the files have already been checked.
std::unique_ptr<Encoder> ModelFiles::load_encoder(const LoadOptions& options) const {
  check_takes_text(info());
  check_device(options.device);
  const ModelWeights& weights = encoder_weights();
  return torch_backend().encoder(weights, options);
}

std::unique_ptr<VisionModel> ModelFiles::load_vision(const LoadOptions& options) const {
  check_takes_pictures(info());
  check_device(options.device);
  const ModelWeights& weights = encoder_weights();
  return torch_backend().vision(weights, options);
}

std::unique_ptr<Decoder> ModelFiles::load_decoder(const LoadOptions& options) const {
  check_device(options.device);
  if (const auto* gguf = std::get_if<GgufFile>(&files_)) {
    return std::make_unique<GgufDecoder>(llama_backend().gguf(*gguf, options), *gguf, options);
  }
  if (const auto* both = std::get_if<EncoderDecoderWeights>(&files_)) {
    return torch_backend().encoder_decoder(*both, options);
  }
  if (!info().causal)
    read_model_config(*folder_, ArchitectureKind::kDecoder);  // reports what is wrong with an encoder's config
  return torch_backend().decoder(std::get<ModelWeights>(files_), options);
}

bool is_gguf(const std::string& reference) { return internal::lower_extension(reference) == ".gguf"; }

}  // namespace attnflow
