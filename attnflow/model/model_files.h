// Opens a model's files, reports what they say of the model, and loads it.
//
// Opening checks the configuration and the weight files' headers once, without weights or a backend, in milliseconds.
//
//   ModelFiles files("models/minilm");              // or ModelFiles::gguf("model.gguf")
//   files.info().layers;                            // what it is
//   auto model = files.load_encoder({.threads = 2});
//   model->run({ids, {}}, &sink);
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "attnflow/files/folder.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/gguf_info.h"
#include "attnflow/model/model.h"
#include "attnflow/model/model_weights.h"

namespace attnflow {

class ModelFiles {
 public:
  // Opens a Hugging Face folder: config.json and weights in any form that Checkpoint opens (safetensors or PyTorch's
  // .bin, in one file or in shards). attnflow/model/builtin_models.h finds the folder for a name given by a user.
  // Throws Error(kBadFile) for missing or damaged files or weights that config.json has no place for,
  // Error(kUnsupportedModel) for an architecture that no backend runs.
  explicit ModelFiles(const Folder& folder, const OpenOptions& options = {});
  // Opens a GGUF file. Throws Error(kBadFile) for a damaged one.
  explicit ModelFiles(GgufFile file) : files_(std::move(file)) {}
  static ModelFiles gguf(const std::filesystem::path& file) { return ModelFiles(read_gguf_file(file)); }

  // For a GGUF file, the information in its header; a number that the header lacks is 0.
  const ModelInfo& info() const;
  // Null for a GGUF file, which contains its tokenizer.
  const Folder* folder() const { return folder_ ? &*folder_ : nullptr; }

  // Load the model as the type named. Weights are mapped, not copied, if the backend can use them as they are: the
  // files must not change during the model's lifetime (truncating one ends the program with SIGBUS), unless
  // options.copy_weights is set. Throw Error(kUsage) for a device that does not exist, and for an image model where a
  // text model is expected or the reverse; Error(kUnsupportedModel) when the backend is not installed (backend.h lists
  // where it is looked for) or the model is of another kind, such as a decoder where an encoder is expected.
  std::unique_ptr<TextModel> load_text(const LoadOptions& options = {}) const;
  std::unique_ptr<Encoder> load_encoder(const LoadOptions& options = {}) const;
  std::unique_ptr<Decoder> load_decoder(const LoadOptions& options = {}) const;  // or an encoder-decoder
  std::unique_ptr<VisionModel> load_vision(const LoadOptions& options = {}) const;

 private:
  const ModelWeights& encoder_weights() const;

  std::optional<Folder> folder_;
  std::variant<ModelWeights, EncoderDecoderWeights, GgufFile> files_;
};

bool is_gguf(const std::string& reference);

}  // namespace attnflow
