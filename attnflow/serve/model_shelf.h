// The models that a server offers: a table of names, filled at startup, with the loaded models.
//
// A request names a model only by a name in this table, so request text is never used as a path.
//
// A model is loaded once, when it is first requested, and kept. Encoders (torch) have no state that changes when they
// run, so one may run for several requests at the same time, as evaluate does; a decoder holds the state of one
// sequence, so it handles one request at a time (ShelfModel::exclusive).
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/analysis/loaded_model.h"
#include "attnflow/files/folder.h"
#include "attnflow/model/model_files.h"
#include "attnflow/serve/examples.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow {

enum class ModelKind { kText, kImage, kGeneration };

// The kinds that explain and evaluate accept: a decoder can also explain a text.
inline const std::vector<ModelKind> kTextModels{ModelKind::kText, ModelKind::kGeneration};

// "text", "image", "generation".
const char* model_kind_name(ModelKind kind);

// A loaded model.
struct LoadedModel {
  LoadedText text;   // for a text model
  ImageModel image;  // for a vision model
};

class ShelfModel {
 public:
  std::string name;
  std::string path;  // as in its readers' messages; empty for a built-in model
  ModelKind kind = ModelKind::kText;
  // For a GGUF file: name, architecture, layers, heads and positions, from its header.
  ModelInfo info;
  bool built_in = false;
  bool blanks = false;     // explain accepts blank: there is a neutral token, which decoders do not have
  bool evaluates = false;  // evaluate accepts it: the model makes predictions that can be scored
  bool chat = false;       // generate accepts chat: the files have a chat template
  std::string mask;        // how a masked language model's mask is written in a text; otherwise empty
  std::vector<Example> examples;

  // Loads the model on the first call (weights that need more than half of the free memory are mapped regardless of
  // `asked`); later calls, also from other threads, return the same object. The files are opened again, as they may
  // have changed since the server started. If that throws, the next call tries again and may throw again.
  LoadedModel& load(const LoadOptions& asked);
  bool loaded() const;
  // The resource that jobs for this model must not share; null if they may run at the same time.
  const void* exclusive() const { return info.causal || info.target ? this : nullptr; }

 private:
  friend class ModelShelf;
  ModelFiles open() const;
  // Approximate memory for its weights.
  std::size_t weight_bytes() const;

  OpenOptions options_;
  std::optional<Folder> folder_;  // if absent, gguf_ is set
  std::string gguf_;
  std::optional<Tokenizer> tokenizer_;  // of an encoder, until it is loaded
  mutable std::mutex mutex_;
  std::unique_ptr<LoadedModel> loaded_;
};

class ModelShelf {
 public:
  // Opens the models that `references` name, in that order: GGUF files, and whatever find_model() accepts; then the
  // other built-in models. A built-in model is listed once. Other models are called by Folder::name() or, for a GGUF
  // file, by its file name without ".gguf", with "-2", "-3", ... after a name that is taken, even by the same model.
  // Reads configs, headers, examples and encoders' tokenizers, but no weights. Throws as find_model() and ModelFiles
  // do, and Error(kUnsupportedModel) for a GGUF file if its backend is not installed.
  explicit ModelShelf(const std::vector<std::string>& references, const OpenOptions& options = {});

  std::deque<ShelfModel>& models() { return models_; }
  const std::deque<ShelfModel>& models() const { return models_; }
  // Problems with optional files, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Returns null when there is none.
  ShelfModel* find(std::string_view name);
  // Returns the first model of one of the kinds, the default for requests that name none. Null when there is none.
  ShelfModel* first(const std::vector<ModelKind>& kinds);

 private:
  ShelfModel& add(const std::string& name);
  void add_built_in(const std::string& name);
  void describe(ShelfModel& model);
  void find_examples(ShelfModel& model);
  std::deque<ShelfModel> models_;  // never moved: they hold a mutex
  std::vector<std::string> warnings_;
};

}  // namespace attnflow
