#include "attnflow/cli/model_argument.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <span>
#include <system_error>

#include "attnflow/base/error.h"
#include "attnflow/model/builtin_models.h"

namespace attnflow {

Folder resolve_model(const std::string& reference) {
  Folder folder = find_model(reference);
  std::error_code ignored;
  if (folder.is_built_in() && std::filesystem::is_directory(reference, ignored)) {
    fmt::print(stderr, "note: {0} is the built-in model; for the folder of that name, write ./{0}\n", reference);
  }
  return folder;
}

Folder default_model() {
  const std::span<const BuiltinModel> models = builtin_models();
  if (models.empty()) {
    throw Error(ErrorKind::kUsage,
                "expected --model DIR, the folder of a Hugging Face model (config.json, model.safetensors, "
                "tokenizer.json), found none, and this program has no model built in");
  }
  return models.front().folder();
}

}  // namespace attnflow
