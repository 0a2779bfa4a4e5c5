// The models that a server offers: a table of names, filled when it starts, and the loaded models behind them.
//
// A request names a model by a name of this table and by nothing else, so no text of a request is ever a path.
//
// A model is loaded when it is first asked for, once, and kept. Encoders (torch) change nothing when they run, so one
// may run for several requests at the same time, as evaluate does; a decoder is at one place of one sequence, so it
// takes one at a time (ShelfModel::exclusive).
#ifndef ATTNFLOW_SERVE_MODEL_SHELF_H_
#define ATTNFLOW_SERVE_MODEL_SHELF_H_

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

// The kinds that explain and evaluate take: a decoder explains a text as well as it continues one.
inline const std::vector<ModelKind> kTextModels{ModelKind::kText, ModelKind::kGeneration};

// "text", "image", "generation".
const char* model_kind_name(ModelKind kind);

// A model that runs.
struct LoadedModel {
  LoadedText text;   // of a model of text
  ImageModel image;  // of a vision model
};

class ShelfModel {
 public:
  std::string name;
  std::string path;  // as messages of what reads it have it; empty of a built-in one
  ModelKind kind = ModelKind::kText;
  // Of a GGUF file: name, architecture, layers, heads and positions, as its header says.
  ModelInfo info;
  bool built_in = false;
  bool blanks = false;     // explain takes blank: there is a token that says nothing, which decoders do not have
  bool evaluates = false;  // evaluate takes it: the model predicts something, and has the means to score it
  bool chat = false;       // generate takes chat: the files have a chat template
  std::string mask;        // how a masked language model's mask is written in a text; else empty
  std::vector<Example> examples;

  // Loads it at the first call (weights that take more than half of the memory that is free are mapped whatever
  // is asked); later ones, and those of other threads, get the same. The files are opened again: they may have changed
  // since the server started. What that throws is thrown again at the next call.
  LoadedModel& load(const LoadOptions& asked);
  bool loaded() const;
  // What jobs of this model may not share; null when they may.
  const void* exclusive() const { return info.causal || info.target ? this : nullptr; }

 private:
  friend class ModelShelf;
  ModelFiles open() const;
  // What its weights take in memory, about.
  std::size_t weight_bytes() const;

  OpenOptions options_;
  std::optional<Folder> folder_;  // else
  std::string gguf_;
  std::optional<Tokenizer> tokenizer_;  // of an encoder, until it is loaded
  mutable std::mutex mutex_;
  std::unique_ptr<LoadedModel> loaded_;
};

class ModelShelf {
 public:
  // The models that `references` name, in that order: built-in ones, folders and GGUF files, each once; then the other
  // built-in models. Folders and files are known by their last part (without ".gguf"), with "-2", "-3", ... after a
  // name that is taken. Reads configs, headers, examples and tokenizers of encoders, no weights. Throws as ModelFiles
  // does.
  explicit ModelShelf(const std::vector<std::string>& references, const OpenOptions& options = {});

  std::deque<ShelfModel>& models() { return models_; }
  const std::deque<ShelfModel>& models() const { return models_; }
  // What is wrong with files that a model can do without, a line each.
  const std::vector<std::string>& warnings() const { return warnings_; }
  // Null when there is none.
  ShelfModel* find(std::string_view name);
  // The first of one of the kinds: whoever asks without naming a model means that one. Null when there is none.
  ShelfModel* first(const std::vector<ModelKind>& kinds);

 private:
  ShelfModel& add(const std::string& name);
  void add_built_in(const std::string& name);
  void describe(ShelfModel& model);
  void find_examples(ShelfModel& model);
  std::deque<ShelfModel> models_;  // not moved: they hold a mutex
  std::vector<std::string> warnings_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_MODEL_SHELF_H_
