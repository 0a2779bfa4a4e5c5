// Finds models stored by other programs: the cache of the Hugging Face Hub, and sentence-transformers folders.
//
// The cache keeps the files of the model "org/name" in models--org--name/snapshots/<commit>, and the most recently
// fetched commit in refs/main. Nothing is downloaded here. sentence-transformers lists a model's parts in modules.json;
// the Transformer among them may have its own folder, 0_Transformer.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "attnflow/files/folder.h"

namespace attnflow {

// Returns the cache folder: $HF_HUB_CACHE, else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else
// ~/.cache/huggingface/hub; nothing when none of these is set. The folder need not exist.
std::optional<std::filesystem::path> hub_cache();

// Whether `reference` is a valid model name on the Hub: "name" or "org/name", of letters, digits, '-', '_' and '.'.
bool is_hub_name(const std::string& reference);

// Returns the model `name` in `cache`, or nothing when none of it is there; adapters as in model_folder_in().
std::optional<Folder> find_in_hub_cache(const std::string& name, const std::filesystem::path& cache);

// Returns the folder that holds the model's config.json: `folder` itself if it holds one, else the snapshot of a cache
// folder, or the Transformer in modules.json; if there is none, `folder`, whose reader reports what is missing. The
// result carries the model's name. For a folder that holds only an adapter (adapter_config.json), returns its base
// model's folder, one that the adapter names or one in hub_cache(), with the adapter and its name attached. Throws
// Error(kBadFile) when modules.json is not JSON or names a folder outside `folder`, or refs/main a snapshot without a
// config.json.
Folder model_folder_in(const std::filesystem::path& folder);

}  // namespace attnflow
