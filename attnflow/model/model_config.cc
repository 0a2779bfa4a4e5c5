#include "attnflow/model/model_config.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/json_text.h"

namespace attnflow {

namespace {

using internal::quote_name;
using internal::show_json;
using Json = nlohmann::json;

// Far above any model, and low enough that products of two of them cannot overflow.
constexpr std::size_t kMaxSize = std::size_t{1} << 30;
// A number of layers needs no bytes in the file where layers share weights, so it is bounded by itself.
constexpr std::size_t kMaxLayers = 4096;
constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;

// The epsilon of the layer norms where config.json does not state it: the default of every architecture's config class
// in transformers, and the constant in DistilBERT's code.
constexpr double kDefaultNormEps = 1e-12;

class Reader {
 public:
  Reader(const Json& object, std::string source) : object_(object), source_(std::move(source)) {}

  [[noreturn]] void fail(ErrorKind kind, const std::string& message) const {
    throw Error(kind, source_ + ": " + message);
  }

  // Null for a key that is absent or null, which mean the same to transformers.
  const Json* find(std::string_view key) const {
    const auto found = object_.find(key);
    return found == object_.end() || found->is_null() ? nullptr : &*found;
  }

  std::size_t size(std::string_view key, std::size_t max = kMaxSize) const {
    const Json& value = *find(key);
    if (!value.is_number_unsigned() || value.get<std::uint64_t>() < 1 || value.get<std::uint64_t>() > max) {
      wrong(key, fmt::format("a whole number from 1 to {}", max), value);
    }
    return value.get<std::size_t>();
  }
  std::size_t size_or(std::string_view key, std::size_t fallback, std::size_t max = kMaxSize) const {
    return find(key) == nullptr ? fallback : size(key, max);
  }

  bool flag_or(std::string_view key, bool fallback) const {
    const Json* value = find(key);
    if (value == nullptr) return fallback;
    if (!value->is_boolean()) wrong(key, "true or false", *value);
    return value->get<bool>();
  }

  std::string text_or(std::string_view key, std::string_view fallback) const {
    const Json* value = find(key);
    if (value == nullptr) return std::string(fallback);
    if (!value->is_string()) wrong(key, "a text", *value);
    return value->get<std::string>();
  }

  double norm_eps(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) return kDefaultNormEps;
    const double eps = value->is_number() ? value->get<double>() : -1.0;
    if (!(eps >= 0.0 && eps <= 1.0)) wrong(key, "a number from 0 to 1", *value);
    return eps;
  }

  [[noreturn]] void wrong(std::string_view key, const std::string& expected, const Json& found) const {
    fail(ErrorKind::kBadFile, fmt::format("expected {} as \"{}\", found {}", expected, key, show_json(found)));
  }

 private:
  const Json& object_;
  std::string source_;
};

const Architecture& read_architecture(const Reader& reader) {
  const std::string type = reader.text_or("model_type", "");
  if (type.empty()) {
    reader.fail(ErrorKind::kBadFile, "the key \"model_type\" is missing; expected one of " + architecture_list() +
                                         ". Is this the config.json of a Hugging Face model?");
  }
  const Architecture* architecture = find_architecture(type);
  if (architecture == nullptr) {
    reader.fail(ErrorKind::kUnsupportedModel,
                fmt::format("model_type is {}; supported are {}. For other models, save the attention weights to an "
                            ".npz file and explain those (--attention FILE)",
                            quote_name(type), architecture_list()));
  }
  return *architecture;
}

void require_keys(const Reader& reader, const Architecture& architecture) {
  const ConfigKeys& keys = architecture.keys;
  std::string missing;
  for (const std::string_view key : {keys.hidden, keys.layers, keys.heads, keys.intermediate, keys.embedding,
                                     std::string_view("vocab_size"), std::string_view("max_position_embeddings")}) {
    if (key.empty() || reader.find(key) != nullptr) continue;
    if (!missing.empty()) missing += ", ";
    missing += key;
  }
  if (!missing.empty()) {
    reader.fail(ErrorKind::kBadFile,
                fmt::format("model type {} needs these keys, which are missing: {}. Use the config.json that was "
                            "saved together with the weights",
                            architecture.model_type, missing));
  }
}

// Settings under which the model computes something else than the encoder of architecture.h.
void refuse_variants(const Reader& reader) {
  const std::string positions = reader.text_or("position_embedding_type", "absolute");
  if (positions != "absolute") {
    reader.fail(ErrorKind::kUnsupportedModel,
                fmt::format("position_embedding_type is {}; supported is \"absolute\"", quote_name(positions)));
  }
  for (const std::string_view key : {"is_decoder", "add_cross_attention"}) {
    if (reader.flag_or(key, false)) {
      reader.fail(ErrorKind::kUnsupportedModel,
                  fmt::format("{} is true; of this architecture only encoders are supported ({} false)", key, key));
    }
  }
  if (const Json* pruned = reader.find("pruned_heads"); pruned != nullptr && !pruned->empty()) {
    reader.fail(ErrorKind::kUnsupportedModel,
                "pruned_heads is not empty; supported are models whose layers all have the same number of heads");
  }
  if (reader.find("quantization_config") != nullptr) {
    reader.fail(ErrorKind::kUnsupportedModel,
                "quantization_config is set; supported are weights in float32, float16 and bfloat16: use the "
                "model's unquantised files");
  }
}

Activation read_activation(const Reader& reader, const Architecture& architecture) {
  const std::string name = reader.text_or(architecture.keys.activation, architecture.default_activation);
  const std::optional<Activation> activation = find_activation(name);
  if (!activation) {
    reader.fail(ErrorKind::kUnsupportedModel, fmt::format("{} is {}; supported are {}", architecture.keys.activation,
                                                          quote_name(name), activation_list()));
  }
  return *activation;
}

std::optional<std::size_t> parse_index(std::string_view text) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), index);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return index;
}

// {"0": "negative", "1": "positive"}: JSON orders "10" before "2", the model counts.
std::optional<std::vector<std::string>> read_labels(const Reader& reader) {
  const Json* value = reader.find("id2label");
  if (value == nullptr) return std::nullopt;
  const std::string expected = "an object with the keys \"0\", \"1\", ... and texts";
  if (!value->is_object() || value->empty()) reader.wrong("id2label", expected, *value);
  std::vector<std::string> labels(value->size());
  std::vector<bool> seen(value->size(), false);
  for (const auto& [key, label] : value->items()) {
    const std::optional<std::size_t> index = parse_index(key);
    if (!index || *index >= labels.size() || seen[*index] || !label.is_string()) {
      reader.wrong("id2label", expected, *value);
    }
    seen[*index] = true;
    labels[*index] = label.get<std::string>();
  }
  return labels;
}

std::vector<std::string> read_classes(const Reader& reader) {
  std::vector<std::string> classes;
  const Json* value = reader.find("architectures");
  if (value == nullptr) return classes;
  if (!value->is_array()) reader.wrong("architectures", "a list of texts", *value);
  for (const Json& name : *value) {
    if (!name.is_string()) reader.wrong("architectures", "a list of texts", *value);
    classes.push_back(name.get<std::string>());
  }
  return classes;
}

void read_layers(const Reader& reader, const Architecture& architecture, ModelConfig& config) {
  const ConfigKeys& keys = architecture.keys;
  const std::size_t repetitions = reader.size(keys.layers, kMaxLayers);
  config.layer_groups = keys.groups.empty() ? repetitions : reader.size_or(keys.groups, 1, kMaxLayers);
  config.inner_layers = keys.inner.empty() ? 1 : reader.size_or(keys.inner, 1, kMaxLayers);
  config.layers = repetitions * config.inner_layers;
  if (config.layer_groups > repetitions || config.layers > kMaxLayers) {
    reader.fail(
        ErrorKind::kBadFile,
        fmt::format("expected at most as many groups as layers and at most {} layers, found {} {}, {} {}, {} {}",
                    kMaxLayers, keys.layers, repetitions, keys.groups, config.layer_groups, keys.inner,
                    config.inner_layers));
  }
}

void read_positions(const Reader& reader, const Architecture& architecture, ModelConfig& config) {
  config.positions = reader.size("max_position_embeddings");
  const std::string_view key = architecture.keys.padding_id;
  if (key.empty()) return;
  constexpr std::int64_t kDefaultPadding = 1;  // RoBERTa's
  const Json* value = reader.find(key);
  std::int64_t padding = kDefaultPadding;
  if (value != nullptr) {
    // Positions padding + 1 and on must exist, or no token fits.
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() >= config.positions - 1) {
      reader.wrong(key, fmt::format("a token id below max_position_embeddings - 1 = {}", config.positions - 1), *value);
    }
    padding = value->get<std::int64_t>();
  } else if (config.positions < 3) {
    reader.wrong("max_position_embeddings", "at least 3 (two positions are reserved)", config.positions);
  }
  config.padding_id = padding;
}

}  // namespace

std::size_t ModelConfig::max_tokens() const {
  return padding_id ? positions - static_cast<std::size_t>(*padding_id) - 1 : positions;
}

std::size_t ModelConfig::group_of(std::size_t index) const {
  const std::size_t repetitions = layers / inner_layers;
  return (index / inner_layers) * layer_groups / repetitions;
}

ModelConfig parse_model_config(std::string_view text, const std::string& source) {
  const Json json = internal::parse_json_object(text, source);
  const Reader reader(json, source);
  const Architecture& architecture = read_architecture(reader);
  refuse_variants(reader);
  require_keys(reader, architecture);
  const ConfigKeys& keys = architecture.keys;

  ModelConfig config;
  config.architecture = &architecture;
  read_layers(reader, architecture, config);
  config.heads = reader.size(keys.heads);
  config.hidden = reader.size(keys.hidden);
  if (config.hidden % config.heads != 0) {
    reader.fail(ErrorKind::kBadFile, fmt::format("expected {} to be a multiple of {}, found {} and {}", keys.hidden,
                                                 keys.heads, config.hidden, config.heads));
  }
  config.embedding = keys.embedding.empty() ? config.hidden : reader.size(keys.embedding);
  config.intermediate = reader.size(keys.intermediate);
  config.vocabulary = reader.size("vocab_size");
  config.token_types = keys.token_types.empty() ? 0 : reader.size_or(keys.token_types, 2);
  read_positions(reader, architecture, config);
  config.norm_eps = keys.norm_eps.empty() ? kDefaultNormEps : reader.norm_eps(keys.norm_eps);
  config.activation = read_activation(reader, architecture);
  config.tied_decoder = reader.flag_or("tie_word_embeddings", true);
  config.classes = read_classes(reader);
  config.labels = read_labels(reader);
  config.multi_label = reader.text_or("problem_type", "") == "multi_label_classification";
  return config;
}

ModelConfig read_model_config(const Folder& folder) {
  constexpr const char* kConfig = "config.json";
  if (!folder.exists()) {
    std::error_code ignored;
    const bool exists = std::filesystem::exists(folder.path(), ignored);
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a folder with config.json and model.safetensors, found {}", folder.label(),
                            exists ? "a file; give the folder that holds it" : "nothing of that name"));
  }
  if (!folder.has(kConfig)) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected a Hugging Face model folder, found no config.json in it", folder.label()));
  }
  return parse_model_config(folder.read(kConfig, kMaxConfigBytes), folder.label(kConfig));
}

}  // namespace attnflow
