// Lists the models built into the program and resolves model names.
//
// ATTNFLOW_BUILTIN_MODELS (attnflow/model/CMakeLists.txt) chooses them when the program is configured. Their files
// become part of the program and are read in place.
#pragma once

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

// Returns all built-in models. The first that takes text and the first that takes images are the defaults.
std::span<const BuiltinModel> builtin_models();

// Returns the model with that name among `models`, or null.
const BuiltinModel* find_builtin_model(std::string_view name, std::span<const BuiltinModel> models = builtin_models());

// Resolves a user's `reference` to a model: a built-in model's name, a path, or a Hugging Face Hub name ("org/name") in
// the Hub's local cache, in this order. If the path is a folder of the cache or of sentence-transformers, returns the
// folder in it that holds the model (hub_cache.h).
//
// The name of a built-in model takes precedence over a folder of that name in the current directory; write
// "./agreement" for the folder. A folder "org/name" there takes precedence over that name on the Hub. Throws
// Error(kBadFile) when nothing is found and the reference can be a name, and as model_folder_in() does. A reference
// that can only be a path is returned as it is. Whether a folder on disk holds a model is left to its reader.
Folder find_model(const std::string& reference, std::span<const BuiltinModel> models = builtin_models());

// "agreement, other", or "none".
std::string builtin_model_names(std::span<const BuiltinModel> models = builtin_models());

}  // namespace attnflow
