// A model's files, opened: what they say of the model, and the way to load it.
//
// Opening reads the configuration and the headers of the weight files once, and checks them; no weight is read, and no
// backend is opened, so it takes milliseconds. Loading goes on from what was found.
//
//   ModelFiles files("models/minilm");              // or ModelFiles::gguf("model.gguf")
//   files.info().layers;                            // what it is
//   auto model = files.load_encoder({.threads = 2});
//   model->run({ids, {}}, &sink);
#ifndef ATTNFLOW_MODEL_MODEL_FILES_H_
#define ATTNFLOW_MODEL_MODEL_FILES_H_

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "attnflow/files/folder.h"
#include "attnflow/model/decoder.h"
#include "attnflow/model/decoder_weights.h"
#include "attnflow/model/encoder_decoder_weights.h"
#include "attnflow/model/encoder_weights.h"
#include "attnflow/model/gguf_info.h"
#include "attnflow/model/model.h"

namespace attnflow {

class ModelFiles {
 public:
  // A Hugging Face folder (config.json and model.safetensors, or model.safetensors.index.json and its shards). For the
  // folder of a built-in model, or of a name that a user gives: attnflow/model/builtin_models.h. Throws Error(kBadFile)
  // for missing or damaged files or weights that config.json has no place for, Error(kUnsupportedModel) for an
  // architecture that no backend runs.
  explicit ModelFiles(const Folder& folder, const OpenOptions& options = {});
  // A GGUF file. Throws Error(kBadFile) for a damaged one.
  explicit ModelFiles(GgufFile file) : files_(std::move(file)) {}
  static ModelFiles gguf(const std::filesystem::path& file) { return ModelFiles(read_gguf_file(file)); }

  // Of a GGUF file, what its header says; a number that it does not say is 0.
  const ModelInfo& info() const;
  // Null for a GGUF file, which has its tokenizer in it.
  const Folder* folder() const { return folder_ ? &*folder_ : nullptr; }

  // Load the model, as what it is. Weights are mapped, not copied, where the backend can use them as they are: the
  // files must not change while the model lives (a file that becomes shorter ends the program with SIGBUS), unless
  // options.copy_weights is set. Throw Error(kUsage) for a device that is not there, Error(kUnsupportedModel) when the
  // backend is not installed (attnflow/model/backend.h says where it is looked for) or the model is of another kind.
  std::unique_ptr<TextModel> load_text(const LoadOptions& options = {}) const;  // an encoder or a decoder
  std::unique_ptr<Encoder> load_encoder(const LoadOptions& options = {}) const;
  std::unique_ptr<Decoder> load_decoder(const LoadOptions& options = {}) const;  // or an encoder-decoder
  std::unique_ptr<VisionModel> load_vision(const LoadOptions& options = {}) const;

 private:
  const EncoderWeights& encoder_weights() const;

  std::optional<Folder> folder_;
  std::variant<EncoderWeights, DecoderWeights, EncoderDecoderWeights, GgufFile> files_;
};

// By its ending.
bool is_gguf(const std::string& reference);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_MODEL_FILES_H_
