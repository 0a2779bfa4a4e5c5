#include "attnflow/model/builtin_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "attnflow/base/error.h"
#include "attnflow/base/suggestion.h"
#include "attnflow/files/input_file.h"
#include "attnflow/model/family_rows.h"
#include "attnflow/model/hub_cache.h"

namespace attnflow {

const BuiltinModel* find_builtin_model(std::string_view name, std::span<const BuiltinModel> models) {
  const auto found =
      std::find_if(models.begin(), models.end(), [&](const BuiltinModel& model) { return model.name == name; });
  return found == models.end() ? nullptr : &*found;
}

Folder find_model(const std::string& reference, std::span<const BuiltinModel> models) {
  if (const BuiltinModel* model = find_builtin_model(reference, models); model != nullptr) return model->folder();
  if (internal::is_listed(reference)) return model_folder_in(reference);
  const std::optional<std::filesystem::path> cache = hub_cache();
  if (cache) {
    if (std::optional<Folder> found = find_in_hub_cache(reference, *cache)) return *found;
  }
  const bool hub_name = is_hub_name(reference);
  if (reference.find('/') != std::string::npos && !hub_name) return reference;  // a path: its reader reports errors
  std::vector<std::string> names;
  for (const BuiltinModel& model : models) names.emplace_back(model.name);
  const std::string meant = internal::did_you_mean(reference, names);
  std::string message = fmt::format(
      "{}: expected the folder of a model, or the name of a built-in one ({}), found nothing of that name{}",
      reference.empty() ? "\"\"" : reference, builtin_model_names(models), meant);
  if (hub_name && meant.empty()) {
    message += fmt::format(
        "{}. attnflow does not download models: run 'hf download {}' (pip install huggingface_hub), then the same "
        "command again, or give the model's folder",
        cache ? fmt::format(", neither here nor in {}", cache->string()) : "", reference);
  }
  throw Error(ErrorKind::kBadFile, message);
}

std::string builtin_model_names(std::span<const BuiltinModel> models) {
  return models.empty() ? "none" : internal::list_of(models, &BuiltinModel::name);
}

}  // namespace attnflow
