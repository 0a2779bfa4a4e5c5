#include "attnflow/cli/model_argument.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "attnflow/base/error.h"
#include "attnflow/cli/messages.h"
#include "attnflow/model/builtin_models.h"
#include "attnflow/model/model.h"

namespace attnflow {

namespace {

enum class ModelInputKind { kText, kPicture };

// The first of that kind; null when there is none. Reads configs and headers of weights, a millisecond.
const BuiltinModel* find_builtin_model_of(ModelInputKind kind) {
  for (const BuiltinModel& model : builtin_models()) {
    const bool takes_pictures = read_model_info(model.folder()).image.has_value();
    if (takes_pictures == (kind == ModelInputKind::kPicture)) return &model;
  }
  return nullptr;
}

}  // namespace

Folder resolve_model(const std::string& reference) {
  Folder folder = find_model(reference);
  std::error_code ignored;
  if (folder.is_built_in() && std::filesystem::is_directory(reference, ignored)) {
    print_message(fmt::format("note: {0} is the built-in model; for the folder of that name, write ./{0}", reference));
  }
  return folder;
}

Folder default_model() {
  if (const BuiltinModel* model = find_builtin_model_of(ModelInputKind::kText)) return model->folder();
  throw Error(ErrorKind::kUsage,
              "expected --model DIR, the folder of a Hugging Face model (config.json, model.safetensors, "
              "tokenizer.json), found none, and this program has no built-in text model");
}

Folder default_image_model() {
  if (const BuiltinModel* model = find_builtin_model_of(ModelInputKind::kPicture)) return model->folder();
  throw Error(ErrorKind::kUsage,
              "expected --model DIR, the folder of a Hugging Face ViT, DeiT or DINOv2 (config.json, model.safetensors, "
              "preprocessor_config.json), found none, and this program has no built-in vision model");
}

}  // namespace attnflow
