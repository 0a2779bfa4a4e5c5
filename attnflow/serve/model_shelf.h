// A server's models: a table of names, filled at startup, with the loaded models.
//
// A request names a model only by a name in this table, so request text is never used as a path.
//
// A model is loaded on first request and kept. Encoders (torch) have no state that changes when they run, so one may
// serve several requests at once, as in evaluate; a decoder holds one sequence's state, so it handles one request at a
// time (ShelfModel::exclusive).
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

const char* model_kind_name(ModelKind kind);

struct LoadedModel {
  LoadedText text;   // for a text model
  ImageModel image;  // for a vision model
};

class ShelfModel {
 public:
  std::string name;
  std::string path;  // as in its readers' messages; empty for a built-in model
  ModelKind kind = ModelKind::kText;
  // A GGUF file's name, architecture, layers, heads and positions, from its header.
  ModelInfo info;
  bool built_in = false;
  bool blanks = false;     // explain accepts blank: there is a neutral token, which decoders do not have
  bool evaluates = false;  // evaluate accepts it: the model makes predictions that can be scored
  bool chat = false;       // generate accepts chat: the files have a chat template
  std::string mask;        // how a masked language model's mask is written in a text; otherwise empty
  std::vector<Example> examples;

  // Loads the model on the first call, mapping weights that need more than half of the free memory regardless of
  // `asked`; later calls, from any thread, return the same object. Reopens the files, which may have changed since
  // startup. If it throws, the next call tries again.
  LoadedModel& load(const LoadOptions& asked);
  bool loaded() const;
  // Jobs for this model must not share this resource; null if they may run at once.
  const void* exclusive() const { return info.causal || info.target ? this : nullptr; }

 private:
  friend class ModelShelf;
  ModelFiles open() const;
  // Approximate.
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
  // Opens the models that `references` name, in that order (GGUF files, and whatever find_model() accepts), then the
  // other built-in models. A built-in model is listed once. Others are called by Folder::name() or a GGUF file's name
  // without ".gguf", with "-2", "-3", ... if the name is taken, even by the same model. Reads configs, headers,
  // examples and encoders' tokenizers, but no weights. Throws as find_model() and ModelFiles do, and
  // Error(kUnsupportedModel) for a GGUF file without its backend.
  explicit ModelShelf(const std::vector<std::string>& references, const OpenOptions& options = {});

  std::deque<ShelfModel>& models() { return models_; }
  const std::deque<ShelfModel>& models() const { return models_; }
  // Problems with optional files, one line each.
  const std::vector<std::string>& warnings() const { return warnings_; }
  ShelfModel* find(std::string_view name);
  // The first model of these kinds, the default for requests that name none; null if none.
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
