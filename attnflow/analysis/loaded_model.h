// A model with what belongs to it: a tokenizer, or the preprocessing of images.
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
  // Of a model that load_decoder_model() gave.
  Decoder& decoder() const { return *model->decoder(); }
};

// Small things first: a bad tokenizer is found before weights are mapped. `tokenizer`: where it is loaded already.
// Errors as those of ModelFiles and Tokenizer::load.
LoadedText load_text_model(const ModelFiles& files, const LoadOptions& options,
                           std::optional<Tokenizer> tokenizer = std::nullopt);
// Takes encoder-decoders as well.
LoadedText load_decoder_model(const ModelFiles& files, const LoadOptions& options);

struct ImageModel {
  std::unique_ptr<VisionModel> model;
  ImageProcessor processor;
};

// The model and what its preprocessor_config.json says. Errors as ModelFiles::load_vision's; Error(kUsage) for a model
// of text, Error(kBadFile) where the folder holds no preprocessor_config.json.
ImageModel load_image_model(const ModelFiles& files, const LoadOptions& options = {});

}  // namespace attnflow
