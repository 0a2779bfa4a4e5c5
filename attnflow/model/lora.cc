#include "attnflow/model/lora.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attnflow/attribution/note.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/config_reader.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/family_rows.h"

namespace attnflow::internal {
namespace {

constexpr const char* kLoraConfig = "adapter_config.json";
constexpr const char* kLoraSafetensors = "adapter_model.safetensors";
constexpr const char* kLoraPytorch = "adapter_model.bin";
constexpr std::size_t kMaxLoraConfigBytes = std::size_t{16} << 20;
constexpr std::string_view kModelPart = "base_model.model.";  // precedes every name in an adapter
constexpr std::string_view kFirstFactor = ".lora_A.weight";
constexpr std::string_view kSecondFactor = ".lora_B.weight";
constexpr const char* kMergeAdvice =
    ". Merge the adapter with peft (merge_and_unload), save the result with save_pretrained, and give that folder";

// Above that of any adapter.
constexpr std::size_t kMaxWholes = 1000;
// Embedding tables, and matrices that give logits, which may be the same tensor.
constexpr std::string_view kTables[] = {"embed_tokens.weight", "wte.weight", "word_embeddings.weight",
                                        "tok_embeddings.weight", "embed_in.weight"};
constexpr std::string_view kOutputs[] = {"lm_head.weight", "embed_out.weight"};

// Whether a setting is read, describes training, or follows from the tensors.
bool is_usual(std::string_view key) {
  return is_one_of(key, "auto_mapping", "base_model_name_or_path", "bias", "eva_config", "exclude_modules",
                   "fan_in_fan_out", "inference_mode", "layers_pattern", "layers_to_transform", "lora_alpha",
                   "lora_dropout", "megatron_core", "modules_to_save", "peft_type", "peft_version", "qalora_group_size",
                   "r", "target_modules", "task_type", "use_rslora");
}

bool says_nothing(const nlohmann::json& value) {
  return value.is_null() || value == false || ((value.is_object() || value.is_array()) && value.empty());
}

// The base model's folder also holds the default revision.
bool is_newest(const nlohmann::json& revision) {
  if (!revision.is_string()) return says_nothing(revision);
  const auto& name = revision.get_ref<const std::string&>();
  return name.empty() || name == "main";
}

// Some initialization methods change the model's own weights, so that the adapter does not apply to those in its files.
bool keeps_the_model(const nlohmann::json& init) {
  return init.is_boolean() || init.is_null() || init == "gaussian" || init == "eva" || init == "orthogonal";
}

Tensor<float> numbers_of(DType dtype, const Shape& shape, std::span<const std::byte> bytes, const std::string& what) {
  return Array{dtype, shape, {bytes.begin(), bytes.end()}, {}}.to_float(what);
}

// Finds the tensor to adapt; null when none or several fit. The model's files or the adapter may lack the
// base model's prefix ("bert."). Early checkpoints call a norm's scale and shift gamma and beta.
StoredTensor* find_adapted(LoraAdapter::Tensors& tensors, const std::string& name) {
  for (const std::string& one : {name, name.substr(name.find('.') + 1)}) {
    if (const auto found = tensors.find(one); found != tensors.end()) return &found->second;
  }
  StoredTensor* fits = nullptr;
  const std::string suffix = "." + name;
  for (auto& [other, tensor] : tensors) {
    if (!other.ends_with(suffix)) continue;
    if (fits != nullptr) return nullptr;
    fits = &tensor;
  }
  if (fits != nullptr) return fits;
  for (const auto& [now, before] : {std::pair(".weight", ".gamma"), std::pair(".bias", ".beta")}) {
    if (!name.ends_with(std::string("LayerNorm") + now)) continue;
    return find_adapted(tensors, name.substr(0, name.size() - std::string_view(now).size()) + before);
  }
  return nullptr;
}

}  // namespace

LoraConfig parse_lora_config(std::string_view text, const std::string& source) {
  const nlohmann::json json = parse_json_object(text, source);
  const ConfigReader reader(json, source);
  const auto refuse = [&](const std::string& what) { reader.unsupported("{}{}", what, kMergeAdvice); };
  const std::string type = reader.text_or("peft_type", "LORA");
  if (type != "LORA") refuse(fmt::format("expected \"LORA\" as \"peft_type\", found {}", quote_name(type)));
  const std::string bias = reader.text_or("bias", "none");
  if (bias != "none") refuse(fmt::format("expected \"none\" as \"bias\", found {}", quote_name(bias)));
  for (const auto& [key, value] : json.items()) {
    if (key == "revision"            ? is_newest(value)
        : key == "init_lora_weights" ? keeps_the_model(value)
                                     : is_usual(key) || says_nothing(value))
      continue;
    refuse(fmt::format("expected a plain LoRA adapter, found {} as {}, which is not computed", show_json(value),
                       quote_name(key)));
  }
  constexpr std::size_t kMaxRank = 1 << 20;
  constexpr std::size_t kUsualRank = 8;
  constexpr double kMaxAlpha = 1e9;
  LoraConfig config;
  config.rank = reader.size_or("r", kUsualRank, kMaxRank);
  config.fan_in_fan_out = reader.flag_or("fan_in_fan_out", false);
  constexpr double kUsualAlpha = 8;
  const double alpha = reader.number_or("lora_alpha", kUsualAlpha, -kMaxAlpha, kMaxAlpha);
  const auto rank = static_cast<double>(config.rank);
  config.scale = alpha / (reader.flag_or("use_rslora", false) ? std::sqrt(rank) : rank);
  return config;
}

LoraAdapter::LoraAdapter(const Folder& folder)
    : config_label_(folder.label(kLoraConfig)),
      config_(parse_lora_config(folder.read(kLoraConfig, kMaxLoraConfigBytes), config_label_)) {
  if (folder.has(kLoraSafetensors)) {
    file_ = folder.label(kLoraSafetensors);
    sort(safetensors_.emplace(folder.open_safetensors(kLoraSafetensors)).entries());
  } else if (!folder.has(kLoraPytorch)) {
    fail(ErrorKind::kBadFile, "{}: expected {} or {} next to this file, found neither; copy the adapter again",
         config_label_, kLoraSafetensors, kLoraPytorch);
  } else {
    file_ = folder.label(kLoraPytorch);
    sort(pytorch_.emplace(folder.open_pytorch(kLoraPytorch)).entries());
  }
}

void LoraAdapter::sort(const std::map<std::string, Entry, std::less<>>& entries) {
  for (const auto& [full, entry] : entries) {
    const auto refuse = [&, &full = full](const std::string& expected) {
      fail(ErrorKind::kUnsupportedModel, "{}: expected {}, found tensor {}{}", file_, expected, quote_name(full),
           kMergeAdvice);
    };
    if (!full.starts_with(kModelPart)) refuse(fmt::format("names that begin with {}", kModelPart));
    if (!is_floating_point(entry.dtype)) refuse("floating-point numbers");
    std::string name = full.substr(kModelPart.size());
    const bool first = name.ends_with(kFirstFactor);
    if (first || name.ends_with(kSecondFactor)) {
      if (entry.shape.size() != 2) refuse("matrices");
      name.resize(name.size() - kFirstFactor.size());
      (first ? factors_[name].a : factors_[name].b) = &entry;
    } else if (name.find("lora_") != std::string::npos) {
      refuse("the lora_A and lora_B of linear maps");
    } else {
      constexpr std::string_view kSaved = ".modules_to_save";
      if (const std::size_t at = name.find(kSaved); at != std::string::npos) name.erase(at, kSaved.size());
      wholes_[name] = &entry;
    }
  }
  for (const auto& [module, factors] : factors_) {
    if (wholes_.count(module + ".weight") == 0) continue;
    fail(ErrorKind::kBadFile, "{}: expected either lora_A and lora_B of {} or its weight, found both", file_,
         quote_name(module));
  }
  if (wholes_.size() > kMaxWholes) {
    fail(ErrorKind::kBadFile, "{}: expected at most {} whole tensors in an adapter, found {}", file_, kMaxWholes,
         wholes_.size());
  }
  if (factors_.empty()) {
    fail(ErrorKind::kBadFile, "{}: expected the tensors lora_A and lora_B of an adapter, found none", file_);
  }
}

void LoraAdapter::add_to(Tensors& tensors, const std::string& source) {
  // Replacing one of two tensors that share numbers leaves the other unchanged. By address, overlaps are neighbors.
  std::vector<std::span<const std::byte>> places;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.bytes.empty()) places.push_back(tensor.bytes);
  }
  std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.data() < b.data(); });
  const auto is_shared = [&](std::span<const std::byte> bytes) {
    const auto own = std::lower_bound(places.begin(), places.end(), bytes.data(),
                                      [](const auto& place, const std::byte* data) { return place.data() < data; });
    if (own == places.end() || own->data() != bytes.data()) return true;  // already a sum
    const bool with_next = own + 1 != places.end() && (own + 1)->data() < bytes.data() + bytes.size();
    return with_next || (own != places.begin() && (own - 1)->data() + (own - 1)->size() > bytes.data());
  };
  for (const auto& [module, factors] : factors_) {
    const StoredTensor* const stored = find_adapted(tensors, module + ".weight");
    if (stored != nullptr && is_shared(stored->bytes)) {
      fail(ErrorKind::kUnsupportedModel,
           "{}: expected maps of their own, found {} adapted, which shares its numbers with another "
           "tensor of {}{}",
           file_, quote_name(module), source, kMergeAdvice);
    }
    merge(module, factors, tensors, source);
  }
  for (const auto& whole : wholes_) {
    const std::string& name = whole.first;
    const auto& entry = whole.second;
    const bool embeds =
        std::any_of(std::begin(kTables), std::end(kTables), [&](auto table) { return name.ends_with(table); });
    const bool has_output = std::any_of(std::begin(kOutputs), std::end(kOutputs), [&](auto output) {
      return wholes_.count(std::string(output)) != 0 || tensors.count(std::string(output)) != 0;
    });
    if (embeds && !has_output) {
      fail(ErrorKind::kUnsupportedModel,
           "{}: expected an adapter that leaves embeddings alone or has lm_head.weight, too, found "
           "{}, which the output may share{}",
           file_, quote_name(name), kMergeAdvice);
    }
    StoredTensor* const stored = find_adapted(tensors, name);
    StoredTensor& place = stored != nullptr ? *stored : tensors[name];
    const std::string kept = stored != nullptr ? stored->name : name;
    place = StoredTensor{kept, entry->dtype, entry->shape, entry->bytes, file_};
  }
}

void LoraAdapter::merge(const std::string& module, const Factors& factors, Tensors& tensors,
                        const std::string& source) {
  const auto refuse = [&](const std::string& what) {
    fail(ErrorKind::kBadFile, "{}: {}: {}. Use the adapter with the model that it was made for", file_,
         quote_name(module), what);
  };
  if (factors.a == nullptr || factors.b == nullptr) refuse("expected lora_A and lora_B, found one of them");
  StoredTensor* const stored = find_adapted(tensors, module + ".weight");
  if (stored == nullptr) refuse(fmt::format("expected its weight in {}, found none", source));
  const std::size_t rank = factors.a->shape[0];
  const std::size_t in = factors.a->shape[1];
  const std::size_t out = factors.b->shape[0];
  if (rank != config_.rank || factors.b->shape[1] != rank) {
    refuse(fmt::format("expected rank {}, as {} says, found lora_A {} and lora_B {}", config_.rank, config_label_,
                       shape_to_string(factors.a->shape), shape_to_string(factors.b->shape)));
  }
  if (!is_floating_point(stored->dtype)) {
    fail(ErrorKind::kUnsupportedModel,
         "{}: tensor {} has type {}; expected floating-point numbers to add the adapter to", stored->file,
         quote_name(stored->name), dtype_name(stored->dtype));
  }
  const bool fits = stored->shape == Shape{out, in};
  const bool fits_transposed = stored->shape == Shape{in, out};
  if (!fits && !fits_transposed) {
    refuse(fmt::format("expected a weight of shape {}, or transposed, found {} in {}", shape_to_string(Shape{out, in}),
                       shape_to_string(stored->shape), stored->file));
  }
  // For a square map, peft goes by the kind of layer, regardless of the adapter's config. GPT-2's maps are transposed.
  const bool of_gpt2 = module.ends_with("attn.c_proj") || module.ends_with("attn.c_attn") ||
                       (config_.fan_in_fan_out && (module.ends_with("mlp.c_fc") || module.ends_with("mlp.c_proj")));
  const bool transposed = fits_transposed && (!fits || of_gpt2);

  const Tensor<float> a = numbers_of(factors.a->dtype, factors.a->shape, factors.a->bytes, module);
  const Tensor<float> b = numbers_of(factors.b->dtype, factors.b->shape, factors.b->bytes, module);
  const Tensor<float> weight = numbers_of(stored->dtype, stored->shape, stored->bytes, stored->name);
  const std::size_t rows = stored->shape[0];
  const std::size_t columns = stored->shape[1];
  std::vector<float>& sums = sums_.emplace_back(weight.span().begin(), weight.span().end());
  // Row `row` of B A is a weighted sum of A's rows; for its transpose, of B's columns.
  parallel_for(rows, {}, [&](std::size_t row, std::size_t) {
    std::vector<double> change(columns);
    for (std::size_t k = 0; k < rank; ++k) {
      const double factor = transposed ? a(k, row) : b(row, k);
      for (std::size_t c = 0; c < columns; ++c) change[c] += factor * (transposed ? b(c, k) : a(k, c));
    }
    float* const into = sums.data() + row * columns;
    for (std::size_t c = 0; c < columns; ++c)
      into[c] = static_cast<float>(static_cast<double>(into[c]) + config_.scale * change[c]);
  });
  stored->dtype = DType::kF32;
  stored->bytes = std::as_bytes(std::span(sums));
}

std::optional<Folder> adapter_folder(const Folder& folder) {
  if (folder.adapter() != nullptr) return *folder.adapter();  // requested explicitly: missing parts are an error
  const bool has = folder.has(kLoraConfig) && (folder.has(kLoraSafetensors) || folder.has(kLoraPytorch));
  return has ? std::optional(folder) : std::nullopt;
}

}  // namespace attnflow::internal

namespace attnflow {

std::optional<Adapter> find_adapter(const Folder& folder) {
  using internal::kLoraConfig;
  if (!folder.has(kLoraConfig)) return std::nullopt;
  const nlohmann::json json =
      internal::parse_json_object(folder.read(kLoraConfig, internal::kMaxLoraConfigBytes), folder.label(kLoraConfig));
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return Adapter{text("base_model_name_or_path"), text("task_type")};
}

std::vector<ModelNote> adapter_notes(const Folder& folder) {
  const std::optional<Folder> applied = internal::adapter_folder(folder);
  const std::optional<Adapter> adapter = find_adapter(applied ? *applied : folder);
  if (!adapter) return {};
  const std::string base = adapter->base.empty() ? "" : internal::quote_name(adapter->base);
  return {{Note{applied ? NoteCode::kAdapterApplied : NoteCode::kAdapterNotApplied, {{"base", base}}}}};
}

}  // namespace attnflow
