// A model with its tokenizer, or its preprocessing of images.
#pragma once

#include <memory>
#include <optional>

#include "attnflow/image/image_processor.h"
#include "attnflow/model/model_files.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow {

struct LoadedText {
  std::unique_ptr<TextModel> model;
  std::optional<Tokenizer> tokenizer;  // of a Hugging Face folder; a GGUF file's is the decoder's own

  const TextCodec& codec() const { return tokenizer ? *tokenizer : *model->decoder()->codec(); }
  // Requires a model from load_decoder_model().
  Decoder& decoder() const { return *model->decoder(); }
};

// Loads small things first, so a bad tokenizer is found before weights are mapped. `tokenizer`: if already loaded.
// Throws as ModelFiles and Tokenizer::load.
LoadedText load_text_model(const ModelFiles& files, const LoadOptions& options,
                           std::optional<Tokenizer> tokenizer = std::nullopt);
// Likewise; refuses encoders.
LoadedText load_decoder_model(const ModelFiles& files, const LoadOptions& options);

struct ImageModel {
  std::unique_ptr<VisionModel> model;
  ImageProcessor processor;
};

// The model and its preprocessor_config.json. Throws as ModelFiles::load_vision; Error(kUsage) for a model of text,
// Error(kBadFile) if the folder holds no preprocessor_config.json.
ImageModel load_image_model(const ModelFiles& files, const LoadOptions& options = {});

}  // namespace attnflow
