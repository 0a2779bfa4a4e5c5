// Models that lie where others put them: the cache of the Hugging Face Hub, and folders of sentence-transformers.
//
// The cache keeps the files of the model "org/name" in models--org--name/snapshots/<commit>, and in refs/main the
// commit that was fetched last. Nothing is fetched here: what lies in the cache was put there by another program.
// sentence-transformers lists the parts of a model in modules.json; the Transformer among them may have a folder of its
// own, 0_Transformer.
#ifndef ATTNFLOW_MODEL_HUB_CACHE_H_
#define ATTNFLOW_MODEL_HUB_CACHE_H_

#include <filesystem>
#include <optional>
#include <string>

#include "attnflow/files/folder.h"

namespace attnflow {

// The folder of the cache: $HF_HUB_CACHE, else $HF_HOME/hub, else $XDG_CACHE_HOME/huggingface/hub, else
// ~/.cache/huggingface/hub. Nothing when none of these is set. It need not exist.
std::optional<std::filesystem::path> hub_cache();

// Whether a model on the Hub can be called so: "name" or "org/name", of letters, digits, '-', '_' and '.'.
bool is_hub_name(const std::string& reference);

// The model called `name` in `cache`, or nothing when none of it is there; an adapter as model_folder_in() says.
std::optional<Folder> find_in_hub_cache(const std::string& name, const std::filesystem::path& cache);

// The folder in `folder` in which the model's config.json lies: `folder` itself; where that holds none, the snapshot of
// a folder of the cache, or the Transformer of modules.json. It carries the model's name. `folder` again where there is
// no such thing: who reads it says what is missing. For a folder of an adapter alone (adapter_config.json), the folder
// of its base model, which is a folder that it names or lies in hub_cache(), with that adapter and its name. Throws
// Error(kBadFile) when modules.json is no JSON, or names a folder outside, or refs/main a snapshot without a
// config.json.
Folder model_folder_in(const std::filesystem::path& folder);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_HUB_CACHE_H_
