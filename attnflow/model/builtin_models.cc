#include "attnflow/model/builtin_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "attnflow/base/error.h"

namespace attnflow {

const BuiltinModel* find_builtin_model(std::string_view name, std::span<const BuiltinModel> models) {
  const auto found =
      std::find_if(models.begin(), models.end(), [&](const BuiltinModel& model) { return model.name == name; });
  return found == models.end() ? nullptr : &*found;
}

Folder find_model(const std::string& reference, std::span<const BuiltinModel> models) {
  if (const BuiltinModel* model = find_builtin_model(reference, models); model != nullptr) return model->folder();
  std::error_code ignored;
  if (reference.find('/') == std::string::npos && !std::filesystem::exists(reference, ignored)) {
    throw Error(
        ErrorKind::kBadFile,
        fmt::format("{}: expected the folder of a model, or the name of one that is built in ({}), found nothing "
                    "of that name",
                    reference.empty() ? "\"\"" : reference, builtin_model_names(models)));
  }
  return reference;
}

std::string builtin_model_names(std::span<const BuiltinModel> models) {
  std::string names;
  for (const BuiltinModel& model : models) names += (names.empty() ? "" : ", ") + model.name;
  return names.empty() ? "none" : names;
}

}  // namespace attnflow
