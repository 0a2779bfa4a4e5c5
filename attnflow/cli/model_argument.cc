#include "attnflow/cli/model_argument.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/cli/messages.h"
#include "attnflow/model/builtin_models.h"
#include "attnflow/model/model_input.h"

namespace attnflow {

namespace {

// The first built-in model for images, or text; nothing if none. Reads configs and weight headers, which takes a
// millisecond.
std::optional<ModelFiles> open_builtin_model(bool takes_images) {
  for (const BuiltinModel& model : builtin_models()) {
    ModelFiles files(model.folder());
    if (files.info().image.has_value() == takes_images) return files;
  }
  return std::nullopt;
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

ModelFiles open_model(const std::string& reference, const OpenOptions& options) {
  return is_gguf(reference) ? ModelFiles::gguf(reference) : ModelFiles(resolve_model(reference), options);
}

ModelFiles open_text_model(const std::optional<std::string>& reference, const OpenOptions& options) {
  if (reference) {
    ModelFiles files = open_model(*reference, options);
    check_takes_text(files.info());
    return files;
  }
  if (std::optional<ModelFiles> files = open_builtin_model(false)) return *std::move(files);
  throw Error(ErrorKind::kUsage,
              "expected --model DIR, the folder of a Hugging Face model (config.json, model.safetensors, "
              "tokenizer.json), found none, and this program has no built-in text model");
}

ModelFiles open_image_model(const std::optional<std::string>& reference, const OpenOptions& options) {
  if (reference) {
    ModelFiles files(resolve_model(*reference), options);
    check_takes_pictures(files.info());
    return files;
  }
  if (std::optional<ModelFiles> files = open_builtin_model(true)) return *std::move(files);
  throw Error(ErrorKind::kUsage,
              fmt::format("expected --model DIR, the folder of a Hugging Face {} (config.json, model.safetensors, "
                          "preprocessor_config.json), found none, and this program has no built-in vision model",
                          kVisionFamilies));
}

}  // namespace attnflow
