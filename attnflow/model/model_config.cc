#include "attnflow/model/model_config.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/config_reader.h"
#include "attnflow/model/decoder_architecture.h"
#include "attnflow/model/distance_bucket.h"
#include "attnflow/model/encoder_decoder_architecture.h"

namespace attnflow {

namespace {

using internal::quote_name;
using Reader = internal::ConfigReader;
using Json = nlohmann::json;

std::string model_type_list() {
  return fmt::format("{}, {}, and with generate {}", architecture_list(), decoder_architecture_list(),
                     encoder_decoder_architecture_list());
}

const Architecture& read_architecture(const Reader& reader) {
  const std::string type = reader.text_or("model_type", "");
  if (type.empty()) {
    reader.damaged(
        "the key \"model_type\" is missing; expected one of {}. Is this the config.json of a Hugging Face model?",
        model_type_list());
  }
  const Architecture* architecture = find_architecture(type);
  if (find_decoder_architecture(type) != nullptr) {
    reader.unsupported("model_type is {}, a decoder; expected an encoder: {}", quote_name(type), architecture_list());
  }
  if (architecture == nullptr) {
    reader.unsupported("model_type is {}; supported are {}", quote_name(type), model_type_list());
  }
  return *architecture;
}

void refuse_variants(const Reader& reader, const Architecture& architecture) {
  const std::string positions = reader.text_or("position_embedding_type", "absolute");
  if (positions != "absolute") {
    reader.unsupported("position_embedding_type is {}; supported is \"absolute\"", quote_name(positions));
  }
  for (const std::string_view key : {"is_decoder", "add_cross_attention"}) {
    if (reader.flag_or(key, false)) {
      reader.unsupported("{} is true; of this architecture only encoders are supported ({} false)", key, key);
    }
  }
  if (reader.flag_or("use_task_id", false)) {
    reader.unsupported("use_task_id is true, which adds an embedding of the task to every token; supported is false");
  }
  reader.refuse_what_none_runs();
  reader.refuse_other_values(architecture.fixed);
}

// Rejects a separate head width, which transformers would read for images although none of its own configs sets it.
void refuse_head_width(const Reader& reader, const ModelConfig& config) {
  const std::size_t width = config.hidden / config.heads;
  if (const std::size_t found = reader.size_or("head_dim", width); found != width) {
    reader.unsupported("head_dim is {}; supported is {} / {} = {}", found, config.architecture->keys.hidden,
                       config.architecture->keys.heads, width);
  }
}

void read_layers(const Reader& reader, const Architecture& architecture, ModelConfig& config) {
  const ConfigKeys& keys = architecture.keys;
  const std::size_t repetitions = reader.size(keys.layers, internal::kMaxConfigLayers);
  config.layer_groups = keys.groups.empty() ? repetitions : reader.size_or(keys.groups, 1, internal::kMaxConfigLayers);
  config.inner_layers = reader.size_or(keys.inner, 1, internal::kMaxConfigLayers);
  config.layers = repetitions * config.inner_layers;
  if (config.layer_groups > repetitions || config.layers > internal::kMaxConfigLayers) {
    reader.damaged("expected at most as many groups as layers and at most {} layers, found {} {}, {} {}, {} {}",
                   internal::kMaxConfigLayers, keys.layers, repetitions, keys.groups, config.layer_groups, keys.inner,
                   config.inner_layers);
  }
}

void read_positions(const Reader& reader, const Architecture& architecture, ModelConfig& config) {
  config.positions = reader.size("max_position_embeddings");
  const std::string_view key = architecture.keys.padding_id;
  if (!architecture.skips_padding()) return;
  constexpr std::int64_t kDefaultPadding = 1;  // RoBERTa's
  const Json* value = reader.find(key);
  std::int64_t padding = architecture.padding_id.value_or(kDefaultPadding);
  if (value != nullptr) {
    // Positions from padding + 1 on must exist, or no token fits.
    if (!value->is_number_unsigned() || value->get<std::uint64_t>() >= config.positions - 1) {
      reader.wrong(key, fmt::format("a token id below max_position_embeddings - 1 = {}", config.positions - 1), *value);
    }
    padding = value->get<std::int64_t>();
  } else if (config.positions < 3) {
    reader.wrong("max_position_embeddings", "at least 3 (two positions are reserved)", config.positions);
  }
  config.padding_id = padding;
}

std::pair<std::size_t, std::size_t> read_sides(const Reader& reader, std::string_view key) {
  constexpr std::size_t kMaxSide = std::size_t{1} << 16;
  const Json& value = *reader.find(key);
  if (!value.is_array()) {
    const std::size_t side = reader.size(key, kMaxSide);
    return {side, side};
  }
  const auto is_side = [](const Json& one) { return internal::is_whole(one, 1, kMaxSide); };
  if (value.size() != 2 || !is_side(value[0]) || !is_side(value[1])) {
    reader.wrong(key, fmt::format("a whole number from 1 to {}, or a height and a width", kMaxSide), value);
  }
  return {value[0].get<std::size_t>(), value[1].get<std::size_t>()};
}

void read_image(const Reader& reader, ModelConfig& config) {
  constexpr std::size_t kMaxChannels = 1024;
  constexpr std::size_t kMaxRegisters = 1024;
  const ImageNames& names = *config.architecture->image;
  ImageInfo image;
  image.channels = reader.size_or("num_channels", 3, kMaxChannels);
  std::tie(image.height, image.width) = read_sides(reader, "image_size");
  std::tie(image.patch_height, image.patch_width) = read_sides(reader, "patch_size");
  if (image.patch_height > image.height || image.patch_width > image.width) {
    reader.damaged("expected patch_size to be at most image_size, found {} x {} and {} x {}", image.patch_height,
                   image.patch_width, image.height, image.width);
  }
  if (!names.class_token.empty()) image.leading.push_back(TokenRole::kClass);
  if (!names.distillation_token.empty()) image.leading.push_back(TokenRole::kDistillation);
  config.positions = image.leading.size() + image.rows() * image.columns();
  if (const std::string_view key = config.architecture->keys.registers; !key.empty()) {
    image.leading.insert(image.leading.end(), reader.count_or(key, 0, kMaxRegisters), TokenRole::kRegister);
  }
  config.image = image;
  const ConfigKeys& keys = config.architecture->keys;
  config.patch_distances = reader.flag_or(keys.patch_distances, false);
  if (config.patch_distances && image.rows() != image.columns()) {  // otherwise transformers mixes up rows and columns
    reader.unsupported("with {}, expected a square grid of patches, found {} x {}", keys.patch_distances, image.rows(),
                       image.columns());
  }
}

void check_distance_terms(const Reader& reader) {
  constexpr std::string_view kKey = "pos_att_type";
  const Json* const value = reader.find(kKey);
  if (value == nullptr) reader.damaged("the key \"{}\" is missing", kKey);
  const bool both =
      *value == "p2c|c2p" || *value == "c2p|p2c" || *value == Json({"p2c", "c2p"}) || *value == Json({"c2p", "p2c"});
  if (both) return;
  reader.unsupported("{} is {}; supported is \"c2p|p2c\"", kKey, internal::show_json(*value));
}

constexpr std::size_t kMaxDistances = std::size_t{1} << 20;

// Returns nothing unless the number is above 0: -1 stands for the default.
std::optional<std::size_t> read_if_positive(const Reader& reader, std::string_view key) {
  const Json* const value = reader.find(key);
  const bool is_unset = value == nullptr || *value == 0 || (value->is_number_integer() && !value->is_number_unsigned());
  if (is_unset) return std::nullopt;
  return reader.size(key, kMaxDistances);
}

void read_distances(const Reader& reader, const DistanceNames& names, ModelConfig& config) {
  check_distance_terms(reader);
  const std::size_t embedding = reader.size_or("embedding_size", config.hidden);
  const std::size_t width = reader.size_or("attention_head_size", config.hidden / config.heads);
  if (embedding != config.hidden || width != config.hidden / config.heads) {
    reader.unsupported("embedding_size is {} and attention_head_size {}; supported are {} and {}", embedding, width,
                       config.hidden, config.hidden / config.heads);
  }
  config.distance_maps =
      !names.key.empty() && (names.shared.empty() || !reader.flag_or(names.shared, /*fallback=*/false));
  config.distance_norm = !names.norm.empty();
  if (!names.norm_setting.empty()) {
    const std::string norm = reader.text_or(names.norm_setting, "none");
    config.distance_norm = norm == "layer_norm";
    if (norm != "layer_norm" && norm != "none") {
      reader.unsupported("{} is {}; supported are \"layer_norm\" and \"none\"", names.norm_setting, quote_name(norm));
    }
  }
  config.distances.farthest = read_if_positive(reader, names.farthest).value_or(config.positions);
  const std::optional<std::size_t> buckets = read_if_positive(reader, names.buckets);
  config.distances.grow = buckets.has_value();
  config.distances.span = buckets.value_or(config.distances.farthest);
  const std::size_t exact = config.distances.span / 2;
  if (config.distances.grow && (exact < 1 || config.distances.farthest <= exact + 1)) {
    reader.damaged(
        "expected {} of at least 2 and {} (else max_position_embeddings) above half of it and 1, found "
        "{} and {}",
        names.buckets, names.farthest, config.distances.span, config.distances.farthest);
  }
}

void read_text(const Reader& reader, ModelConfig& config) {
  const ConfigKeys& keys = config.architecture->keys;
  config.vocabulary = reader.size("vocab_size");
  const std::size_t types = config.architecture->default_token_types;
  if (!keys.token_types.empty()) {
    config.token_types = types == 0 ? reader.count_or(keys.token_types, 0) : reader.size_or(keys.token_types, types);
  }
  config.position_input = reader.flag_or(keys.position_input, true);
  read_positions(reader, *config.architecture, config);
  if (config.architecture->distances) read_distances(reader, *config.architecture->distances, config);
  if (keys.buckets.empty()) return;
  config.buckets = reader.size_or(keys.buckets, kDistanceBuckets);
  if (config.buckets != kDistanceBuckets) {
    reader.unsupported("{} is {}; supported is {}, which distances are put into", keys.buckets, config.buckets,
                       kDistanceBuckets);
  }
}

double read_theta(const Reader& reader, std::string_view key, double fallback) {
  constexpr double kLargestTheta = 1e12;
  return reader.number_or(key, fallback, 1.0, kLargestTheta);
}

double read_theta_of_type(const Reader& reader, const std::string& type, double fallback) {
  constexpr std::string_view kKey = "rope_parameters";
  const Json* const all = reader.find(kKey);
  if (all == nullptr) return fallback;
  if (!all->is_object()) reader.wrong(kKey, "an object", *all);
  const auto found = all->find(type);
  if (found == all->end() || found->is_null()) return fallback;
  if (!found->is_object()) reader.wrong(kKey, "an object for " + quote_name(type), *found);
  for (const auto& [key, value] : found->items()) {
    const bool usual = key == "rope_theta" || value.is_null() || (key == "rope_type" && value == "default");
    if (usual) continue;
    reader.unsupported("{} of {} has {} {}; supported are rope_type \"default\" and rope_theta", kKey, type,
                       quote_name(key), internal::show_json(value));
  }
  return read_theta(Reader(*found, reader.source()), "rope_theta", fallback);
}

std::vector<bool> read_near_layers(const Reader& reader, const RotaryKeys& keys, std::size_t layers) {
  const std::size_t interval = reader.size_or(keys.interval, keys.default_interval);  // checked even if not used
  std::vector<bool> near = reader.sliding_layers(layers);
  if (!near.empty()) return near;
  for (std::size_t layer = 0; layer < layers; ++layer) near.push_back(layer % interval != 0);
  return near;
}

void read_rotary(const Reader& reader, const RotaryKeys& keys, ModelConfig& config) {
  if (const Json* const scaling = reader.find("rope_scaling"); scaling != nullptr && !scaling->empty()) {
    reader.unsupported("rope_scaling is {}; supported is null", internal::show_json(*scaling));
  }
  const std::size_t width = config.hidden / config.heads;
  const std::size_t step = config.image ? 4 : 2;  // rows and columns use half of the angles each
  if (width % step != 0) {
    reader.damaged("expected a head size that is a multiple of {} for the rotary embedding, found {}", step, width);
  }
  config.theta = read_theta(reader, keys.theta, keys.default_theta);
  if (config.image) return;
  // null differs from absent here: it means that both are the same.
  const bool alike = reader.object().contains(keys.local_theta) && reader.find(keys.local_theta) == nullptr;
  config.local_theta = alike ? config.theta : read_theta(reader, keys.local_theta, keys.default_local_theta);
  config.theta = read_theta_of_type(reader, "full_attention", config.theta);
  config.local_theta = read_theta_of_type(reader, "sliding_attention", config.local_theta);
  const std::size_t stated = reader.size_or(keys.window, keys.default_window);
  constexpr std::size_t kMaxHalf = internal::kMaxConfigSize / 2;
  const std::size_t window =
      reader.find(keys.half_window) == nullptr ? stated : 2 * reader.count_or(keys.half_window, 0, kMaxHalf);
  for (const bool near : read_near_layers(reader, keys, config.layers)) {
    config.windows.push_back(near ? window / 2 + 1 : 0);
  }
}

ClassifierInput read_pooling(const Reader& reader, const Architecture& architecture) {
  const std::string_view key = architecture.keys.pooling;
  if (key.empty()) return architecture.classifier.input;
  const std::string name = reader.text_or(key, "cls");
  if (name == "cls") return ClassifierInput::kFirstToken;
  if (name == "mean") return ClassifierInput::kTokens;
  reader.unsupported("{} is {}; supported are \"cls\" and \"mean\"", key, quote_name(name));
}

void read_intermediate(const Reader& reader, ModelConfig& config) {
  const ConfigKeys& keys = config.architecture->keys;
  config.gated = config.architecture->gated || reader.flag_or(keys.gated, false);
  if (keys.mlp_ratio.empty()) {
    config.intermediate = reader.size(keys.intermediate);
    return;
  }
  constexpr double kMaxRatio = 1024.0;
  const double ratio = reader.number_or(keys.mlp_ratio, 4.0, 0.0, kMaxRatio);
  config.intermediate = static_cast<std::size_t>(static_cast<double>(config.hidden) * ratio);
  // A gated network has three matrices instead of two, so two thirds of the width, rounded up to a multiple of 8.
  if (config.gated) config.intermediate = (config.intermediate * 2 / 3 + 7) / 8 * 8;
  if (config.intermediate == 0) reader.wrong(keys.mlp_ratio, "a ratio that leaves a width of at least 1", ratio);
}

// Returns the settings of the part to run, with defaults for those that the file omits.
Json settings_of(const Reader& file, const Architecture& architecture) {
  const Json defaults = architecture.defaults.empty() ? Json::object() : Json::parse(architecture.defaults);
  Json settings = defaults;
  if (architecture.part.empty()) {
    settings.update(file.object());
    return settings;
  }
  const std::string key(architecture.part);
  for (const std::string& name :
       {key, key + "_dict"}) {  // the second, in older files, takes precedence with its defaults
    const Json* const part = file.find(name);
    if (part == nullptr) continue;
    if (!part->is_object()) file.wrong(name, "an object", *part);
    settings.update(name == key ? Json::object() : defaults);
    settings.update(*part);
  }
  if (const auto type = settings.find("model_type"); type != settings.end() && *type != architecture.part_type) {
    file.unsupported("{} has the model_type {}; supported is \"{}\"", key, internal::show_json(*type),
                     architecture.part_type);
  }
  for (const char* const whole : {"architectures", "auto_map", "id2label", "problem_type", "quantization_config"}) {
    settings.erase(whole);
    if (const Json* const value = file.find(whole)) settings[whole] = *value;
  }
  return settings;
}

}  // namespace

std::size_t ModelConfig::max_tokens() const {
  if (image) return image->leading.size() + image->rows() * image->columns();
  return padding_id ? positions - static_cast<std::size_t>(*padding_id) - 1 : positions;
}

std::size_t ModelConfig::stored_layer(std::size_t index) const {
  const std::size_t repetitions = layers / inner_layers;
  const std::size_t group = (index / inner_layers) * layer_groups / repetitions;
  return group * inner_layers + index % inner_layers;
}

ModelConfig parse_model_config(std::string_view text, const std::string& source) {
  const Json json = internal::parse_json_object(text, source);
  const Architecture& architecture = read_architecture(Reader(json, source));
  Json settings = settings_of(Reader(json, source), architecture);
  internal::resolve_aliases(architecture.aliases, settings);
  const Reader reader(settings, source);
  refuse_variants(reader, architecture);
  reader.refuse_own_code(architecture.model_type, architecture.class_name);
  const ConfigKeys& keys = architecture.keys;
  ModelConfig config;
  config.architecture = &architecture;
  const std::string what = fmt::format("model type {}", architecture.model_type);
  if (architecture.image) {
    reader.require(
        what, {keys.hidden, keys.layers, keys.heads, keys.intermediate, "image_size", "patch_size", keys.registers});
  } else {
    reader.require(what, {keys.hidden, keys.layers, keys.heads, keys.intermediate, keys.embedding, "vocab_size",
                          "max_position_embeddings"});
  }
  read_layers(reader, architecture, config);
  config.heads = reader.size(keys.heads);
  config.hidden = reader.size(keys.hidden);
  reader.expect_multiple(keys.hidden, config.hidden, keys.heads, config.heads);
  config.embedding = reader.size_or(keys.embedding, config.hidden);
  read_intermediate(reader, config);
  if (architecture.image) {
    refuse_head_width(reader, config);
    read_image(reader, config);
  } else {
    read_text(reader, config);
  }
  if (architecture.rotary) read_rotary(reader, *architecture.rotary, config);
  config.norm_eps = reader.number_or(keys.norm_eps, architecture.default_norm_eps, 0.0, 1.0);
  config.query_bias = reader.flag_or(keys.query_bias, true);
  config.key_bias = reader.flag_or(keys.key_bias, architecture.key_bias);
  config.value_bias = reader.flag_or(keys.value_bias, true);
  constexpr double kLargestScale = 1e6;
  config.layer_scale = reader.number_or(keys.layer_scale, 1.0, 0.0, kLargestScale) > 0.0;
  config.activation = reader.activation(keys.activation, architecture.default_activation);
  if (config.gated) config.activation = architecture.gated_activation.value_or(config.activation);
  config.classifier_input = read_pooling(reader, architecture);
  config.tied_decoder = reader.flag_or("tie_word_embeddings", true);
  config.classes = reader.texts("architectures");
  config.labels = reader.labels();
  config.multi_label = reader.multi_label();
  return config;
}

ModelConfig read_model_config(const Folder& folder) {
  const std::string text = internal::read_config_text(folder);
  return parse_model_config(text, folder.label("config.json"));
}

}  // namespace attnflow
