// Models that are built into the program, and what a model's name stands for.
//
// Which they are is settled when the program is configured (ATTNFLOW_BUILTIN_MODELS, attnflow/model/CMakeLists.txt):
// their files become part of it and are read where they lie.
#ifndef ATTNFLOW_MODEL_BUILTIN_MODELS_H_
#define ATTNFLOW_MODEL_BUILTIN_MODELS_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/folder.h"

namespace attnflow {

struct BuiltinModel {
  std::string name;
  std::vector<MemoryFile> files;  // as in a Hugging Face folder: config.json, model.safetensors, README.md, ...

  Folder folder() const { return Folder::built_in(name, files); }
};

// All of them. The first that takes a text, and the first that takes a picture, are the defaults: what explains one
// when nobody names a model.
std::span<const BuiltinModel> builtin_models();

// The model of that name among `models`; null when there is none.
const BuiltinModel* find_builtin_model(std::string_view name, std::span<const BuiltinModel> models = builtin_models());

// What a user's `reference` to a model stands for: a built-in model's name, a path, or the name of a model on the
// Hugging Face Hub ("org/name") that lies in the Hub's cache on this machine, in this order. Of a path to a folder of
// the cache, or of sentence-transformers, the folder in it that holds the model (attnflow/model/hub_cache.h).
//
// A name means the same wherever it is used: a folder that happens to lie in the current one does not change it. Such a
// folder is meant by a path with a slash, "./agreement".
// Throws Error(kBadFile) for a reference that may be a name when there is neither a model nor anything on disk of that
// name, and as model_folder_in() does; that what is on disk is a model's folder, those find out who read it.
Folder find_model(const std::string& reference, std::span<const BuiltinModel> models = builtin_models());

// "agreement, other", or "none".
std::string builtin_model_names(std::span<const BuiltinModel> models = builtin_models());

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_BUILTIN_MODELS_H_
