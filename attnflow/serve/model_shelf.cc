#include "attnflow/serve/model_shelf.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <system_error>
#include <utility>

#include "attnflow/analysis/loaded_model.h"
#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/base/available_memory.h"
#include "attnflow/base/error.h"
#include "attnflow/model/backend.h"
#include "attnflow/model/builtin_models.h"
#include "attnflow/model/gguf_info.h"
#include "attnflow/text/chat_template.h"

namespace attnflow {
namespace {

// Correlations need predictions: an encoder that classifies or a decoder that generates.
bool can_be_evaluated(const ModelInfo& info) {
  if (info.head == ModelHead::kCausalLm) return !info.target;
  return info.head == ModelHead::kClassification && !info.causal && !info.multi_label && info.labels.size() >= 2;
}

// Nothing if unreadable; the error is reported when the model is used.
std::optional<Tokenizer> tokenizer_of(const Folder& folder, const std::string& architecture) {
  try {
    return Tokenizer::load(folder, architecture);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool has_blank_token(const Tokenizer& tokenizer, const ModelInfo& info) {
  try {
    find_blank_token(tokenizer, info);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

const char* model_kind_name(ModelKind kind) {
  switch (kind) {
    case ModelKind::kText:
      return "text";
    case ModelKind::kImage:
      return "image";
    case ModelKind::kGeneration:
      return "generation";
  }
  return "";
}

ModelFiles ShelfModel::open() const { return folder_ ? ModelFiles(*folder_, options_) : ModelFiles::gguf(gguf_); }

std::size_t ShelfModel::weight_bytes() const {
  if (folder_) return sizeof(float) * info.parameters;
  std::error_code error;
  const auto size = std::filesystem::file_size(gguf_, error);
  return error ? 0 : static_cast<std::size_t>(size);
}

LoadedModel& ShelfModel::load(const LoadOptions& asked) {
  const std::scoped_lock lock(mutex_);
  if (loaded_) return *loaded_;
  LoadOptions options = asked;
  // Mapped weights take no memory from others, but end the server if the file shrinks; copied weights end it if memory
  // runs out.
  const auto available = available_memory();
  if (available && weight_bytes() > *available / 2) options.copy_weights = false;
  auto fresh = std::make_unique<LoadedModel>();
  if (kind == ModelKind::kImage) {
    fresh->image = load_image_model(open(), options);
  } else {
    // The first load reuses the tokenizer that described the model.
    fresh->text = load_text_model(open(), options, std::exchange(tokenizer_, std::nullopt));
  }
  loaded_ = std::move(fresh);
  return *loaded_;
}

bool ShelfModel::loaded() const {
  // Loading holds the lock for seconds and counts as not loaded.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  return lock.owns_lock() && loaded_ != nullptr;
}

ModelShelf::ModelShelf(const std::vector<std::string>& references, const OpenOptions& options) {
  for (const std::string& reference : references) {
    if (is_gguf(reference)) {
      ShelfModel& added = add(std::filesystem::path(reference).stem().string());
      added.gguf_ = reference;
      added.path = reference;
      continue;
    }
    const Folder folder = find_model(reference);
    if (folder.is_built_in()) {
      add_built_in(folder.name());
      continue;
    }
    ShelfModel& added = add(folder.name());
    added.folder_ = folder;
    added.path = folder.path().string();
  }
  for (const BuiltinModel& model : builtin_models()) add_built_in(model.name);
  for (ShelfModel& model : models_) {
    model.options_ = options;
    describe(model);
  }
}

void ModelShelf::describe(ShelfModel& model) {
  ModelInfo& info = model.info;
  info = model.open().info();
  if (!model.folder_) llama_backend();  // rejects models that cannot be run now, rather than when they are first used
  if (info.image) {
    model.kind = ModelKind::kImage;
  } else if ((info.causal && !predicts_classes(info.head)) || info.target) {
    model.kind = ModelKind::kGeneration;
    model.chat = model.folder_ ? internal::ChatTemplate(*model.folder_).exists()
                               : gguf_info(model.gguf_, read_gguf_file(model.gguf_).header).chat_template;
  }
  model.evaluates = model.kind != ModelKind::kImage && can_be_evaluated(info);
  if (model.kind == ModelKind::kText) {
    model.tokenizer_ = tokenizer_of(*model.folder_, info.architecture);
    if (const auto& tokenizer = model.tokenizer_) {
      model.blanks = has_blank_token(*tokenizer, info);
      const auto mask = tokenizer->mask_id();
      const bool has_row = mask && *mask < static_cast<std::int64_t>(info.vocabulary);
      if (has_row && info.head == ModelHead::kMaskedLm) {
        model.mask = tokenizer->spelled(*mask);
        model.evaluates = true;
      }
    }
  }
  find_examples(model);
}

void ModelShelf::find_examples(ShelfModel& model) {
  try {
    if (model.folder_ && model.kind != ModelKind::kImage) model.examples = text_examples(*model.folder_);
  } catch (const Error& error) {
    warnings_.push_back(fmt::format("{}: {}; other examples are offered", model.name, error.what()));
  }
  if (model.built_in && model.kind == ModelKind::kImage) {
    const BuiltinModel* const built_in = find_builtin_model(model.folder_->name());
    if (built_in != nullptr) model.examples = picture_examples(built_in->files);
  }
  if (model.examples.empty()) model.examples = examples_by_task(model.info, model.mask);
}

// A built-in model's name always means that model, not a folder.
ShelfModel& ModelShelf::add(const std::string& name) {
  std::string unique = name;
  for (std::size_t number = 2; find(unique) != nullptr || find_builtin_model(unique) != nullptr; ++number) {
    unique = fmt::format("{}-{}", name, number);
  }
  ShelfModel& added = models_.emplace_back();
  added.name = std::move(unique);
  return added;
}

void ModelShelf::add_built_in(const std::string& name) {
  if (find(name) != nullptr) return;
  ShelfModel& added = models_.emplace_back();
  added.name = name;
  added.folder_ = find_builtin_model(name)->folder();
  added.built_in = true;
}

ShelfModel* ModelShelf::find(std::string_view name) {
  const auto found = std::find_if(models_.begin(), models_.end(), [&](const ShelfModel& m) { return m.name == name; });
  return found == models_.end() ? nullptr : &*found;
}

ShelfModel* ModelShelf::first(const std::vector<ModelKind>& kinds) {
  const auto found = std::find_if(models_.begin(), models_.end(), [&](const ShelfModel& m) {
    return std::find(kinds.begin(), kinds.end(), m.kind) != kinds.end();
  });
  return found == models_.end() ? nullptr : &*found;
}

}  // namespace attnflow
