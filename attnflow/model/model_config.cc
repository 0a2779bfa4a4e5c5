#include "attnflow/model/model_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/config_reader.h"
#include "attnflow/model/position_settings.h"

namespace attnflow {

namespace {

using internal::quote_name;
using Reader = internal::ConfigReader;
using Json = nlohmann::json;

constexpr std::string_view kTextClassifier = "ForSequenceClassification";
constexpr double kLargestFactor = 1e6;

const Architecture& read_architecture(const Reader& reader, std::optional<ArchitectureKind> expected) {
  const std::string type = reader.text_or("model_type", "");
  const Architecture* const row = find_architecture(type);
  if (row != nullptr && (expected ? row->kind == *expected : row->kind != ArchitectureKind::kEncoderDecoder))
    return *row;
  if (expected && *expected != ArchitectureKind::kEncoder) {
    const std::string kinds =
        fmt::format("expected {}: {}", *expected == ArchitectureKind::kDecoder ? "a decoder" : "an encoder-decoder",
                    architecture_list(*expected));
    if (type.empty()) reader.damaged("model_type is missing; {}", kinds);
    reader.unsupported("model_type is {}; {}", quote_name(type), kinds);
  }
  const std::string encoders = architecture_list(ArchitectureKind::kEncoder);
  if (row != nullptr && row->kind == ArchitectureKind::kDecoder) {
    reader.unsupported("model_type is {}, a decoder; expected an encoder: {}", quote_name(type), encoders);
  }
  const std::string all =
      fmt::format("{}, {}, and with generate {}", encoders, architecture_list(ArchitectureKind::kDecoder),
                  architecture_list(ArchitectureKind::kEncoderDecoder));
  if (type.empty()) {
    reader.damaged(
        "the key \"model_type\" is missing; expected one of {}. Is this the config.json of a Hugging Face model?", all);
  }
  reader.unsupported("model_type is {}; supported are {}", quote_name(type), all);
}

void refuse_encoder_variants(const Reader& reader) {
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
}

void refuse_decoder_variants(const Reader& reader, const Architecture& architecture) {
  const auto refuse_unless = [&](std::string_view value, auto... keys) {
    for (const std::string_view key : {std::string_view(keys)...}) {
      const FixedSetting usual = {key, value};
      if (key != architecture.keys.parallel) reader.refuse_other_values({&usual, 1});
    }
  };
  refuse_unless("true", "scale_attn_weights", "use_bias", "enable_bias", "do_layer_norm_before",
                "layer_norm_elementwise_affine");
  refuse_unless("false", "add_cross_attention", "scale_attn_by_inverse_layer_idx", "use_mrope",
                "_remove_final_layer_norm", "apply_residual_connection_post_layernorm", "qk_layernorm", "use_qk_norm",
                "use_parallel_residual", "use_bidirectional_attention");
  refuse_unless("1", "decoder_sparse_step");
  refuse_unless("[]", "mlp_only_layers");
  refuse_unless("null", "clip_qkv");
  refuse_unless("7.0", "swiglu_limit");
  refuse_unless("1.702", "swiglu_alpha");
  reader.refuse_later_tokens();
  // LlamaForTokenClassification and the like have another head; GPT2LMHeadModel and LlamaModel have no "For".
  for (const std::string& name : reader.texts("architectures")) {
    const std::size_t task = name.find("For");
    if (task != std::string::npos && name.substr(task) != "ForCausalLM" && name.substr(task) != kTextClassifier) {
      reader.unsupported(
          "architectures names {}; of this model type only language models (ForCausalLM) and text "
          "classifiers ({}) are supported",
          quote_name(name), kTextClassifier);
    }
  }
}

void refuse_encoder_decoder_variants(const Reader& reader, const Architecture& architecture) {
  reader.refuse_later_tokens();
  if (!reader.flag_or("share_encoder_decoder_embeddings", true)) {
    reader.unsupported(
        "share_encoder_decoder_embeddings is false: source and target have vocabularies of their own; supported "
        "are models with one for both");
  }
  constexpr std::array<std::string_view, 3> kHeads = {"ForConditionalGeneration", "MTModel", "WithLMHeadModel"};
  for (const std::string& name : reader.texts("architectures")) {
    const bool writes = std::any_of(kHeads.begin(), kHeads.end(), [&](std::string_view head) {
      return name == std::string(architecture.class_name) + std::string(head);
    });
    if (writes) continue;
    // Its decoder is given the same text as its encoder.
    constexpr const char* kWayOfClassifiers =
        "; to explain a class, call attnflow.explain(model, tokenizer, text, target_text=text) in Python";
    reader.unsupported(
        "architectures names {}; of this model type only models that generate text are supported "
        "({}ForConditionalGeneration or {}MTModel){}",
        quote_name(name), architecture.class_name, architecture.class_name,
        name.ends_with("ForSequenceClassification") ? kWayOfClassifiers : "");
  }
}

void refuse_variants(const Reader& reader, const Architecture& architecture) {
  if (architecture.kind == ArchitectureKind::kEncoder) refuse_encoder_variants(reader);
  if (architecture.kind == ArchitectureKind::kDecoder) refuse_decoder_variants(reader, architecture);
  if (architecture.kind == ArchitectureKind::kEncoderDecoder) refuse_encoder_decoder_variants(reader, architecture);
  reader.refuse_what_none_runs();
  reader.refuse_other_values(architecture.fixed);
  reader.refuse_own_code(architecture.model_type, architecture.class_name);
}

void read_layers(const Reader& reader, ModelConfig& config) {
  const ConfigKeys& keys = config.architecture->keys;
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

std::size_t read_key_value_heads(const Reader& reader, const ConfigKeys& keys, std::size_t heads) {
  if (!keys.multi_query.empty() && !reader.flag_or(keys.grouped, false)) {
    return reader.flag_or(keys.multi_query, true) ? 1 : heads;
  }
  return reader.size_or(keys.key_value_heads, heads);
}

void read_heads(const Reader& reader, ModelConfig& config) {
  const ConfigKeys& keys = config.architecture->keys;
  config.heads = reader.size(keys.heads);
  config.key_value_heads = read_key_value_heads(reader, keys, config.heads);
  reader.expect_multiple(keys.heads, config.heads, keys.key_value_heads, config.key_value_heads);
  if (reader.find(keys.head_width) != nullptr) {
    config.head_width = reader.size(keys.head_width);
  } else {
    reader.expect_multiple(keys.hidden, config.hidden, keys.heads, config.heads);
    config.head_width = config.hidden / config.heads;
  }
  if (!config.architecture->image) return;
  // transformers would read this for images, although none of its own configs sets it.
  if (const std::size_t found = reader.size_or("head_dim", config.head_width); found != config.head_width) {
    reader.unsupported("head_dim is {}; supported is {} / {} = {}", found, keys.hidden, keys.heads, config.head_width);
  }
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

void read_text(const Reader& reader, ModelConfig& config) {
  config.vocabulary = reader.size("vocab_size");
  const std::string_view key = config.architecture->keys.token_types;
  if (key.empty()) return;
  const std::size_t usual = config.architecture->token_types;
  config.token_types = usual == 0 ? reader.count_or(key, 0) : reader.size_or(key, usual);
}

void read_factors(const Reader& reader, ModelConfig& config) {
  const Architecture& architecture = *config.architecture;
  const ConfigKeys& keys = architecture.keys;
  const auto factor = [&](std::string_view key, double fallback) {
    constexpr double kLeast = 1e-6;
    return reader.number_or(key, fallback, kLeast, kLargestFactor);
  };
  const bool by_root = reader.flag_or(keys.root_embedding, architecture.root_embedding);
  const double root = by_root ? std::sqrt(static_cast<double>(config.hidden)) : 1.0;
  config.embedding_factor = root * factor(keys.embedding_factor, 1.0);
  // If the key exists for this architecture but is absent, transformers multiplies by 1.
  config.score_factor = keys.score_factor.empty() ? 1.0 / std::sqrt(static_cast<double>(config.head_width))
                                                  : factor(keys.score_factor, 1.0);
  if (!architecture.divided_scores) config.score_factor = 1.0;
  if (architecture.distances) config.score_factor = 1.0 / std::sqrt(3.0 * static_cast<double>(config.head_width));
  if (!keys.score_width.empty()) {
    config.score_factor = 1.0 / std::sqrt(factor(keys.score_width, architecture.score_width));
  }
  const auto cap = [&](std::string_view key, double usual) {
    // null is not the same as absent: it means that there is no cap.
    const bool stated = !key.empty() && reader.object().contains(key);
    return stated && reader.find(key) == nullptr ? 0.0 : factor(key, usual);
  };
  config.score_cap = cap(keys.score_cap, architecture.score_cap);
  config.logit_cap = cap(keys.logit_cap, architecture.logit_cap);
  config.residual_factor = factor(keys.residual_factor, 1.0);
  config.logit_factor = factor(keys.logit_factor, architecture.logit_factor) / factor(keys.logit_divisor, 1.0);
  // transformers treats null as false here.
  const bool divided = !reader.says_null(keys.root_logits.substr(0, keys.root_logits.find('|'))) &&
                       reader.flag_or(keys.root_logits, architecture.root_logits);
  if (divided) config.logit_factor /= std::sqrt(static_cast<double>(config.hidden));
}

// "gelu", or "gated-gelu" for a gated network; either part may also be set separately.
void read_gated_activation(const Reader& reader, ModelConfig& config) {
  const Architecture& architecture = *config.architecture;
  const ConfigKeys& keys = architecture.keys;
  constexpr std::string_view kGated = "gated-";
  const std::string stated = reader.text_or(keys.gated_activation, architecture.activation);
  config.gated = stated.starts_with(kGated);
  std::string name = config.gated ? stated.substr(kGated.size()) : stated;
  if (stated == "gated-gelu") name = "gelu_new";  // T5 1.1; "gated-gelu_python" is taken literally
  name = reader.text_or(keys.inner_activation, name);
  config.gated = !reader.says_null(keys.gated) && reader.flag_or(keys.gated, config.gated);
  const std::optional<Activation> activation = find_activation(name);
  if (!activation) {
    const bool inner = reader.find(keys.inner_activation) != nullptr;
    reader.unsupported("{} is {}; supported are {}{}", inner ? keys.inner_activation : keys.gated_activation,
                       quote_name(inner ? name : stated), activation_list(), inner ? "" : ", and gated-... of these");
  }
  config.activation = *activation;
}

void read_activation(const Reader& reader, ModelConfig& config) {
  const Architecture& architecture = *config.architecture;
  const ConfigKeys& keys = architecture.keys;
  if (!keys.gated_activation.empty()) {
    read_gated_activation(reader, config);
    return;
  }
  const bool has_gate = !architecture.names.gate.empty() || !architecture.names.gate_and_in.empty();
  config.gated = has_gate && (keys.gated.empty() || reader.flag_or(keys.gated, false));
  config.activation = reader.activation(keys.activation, architecture.activation);
  const bool named_gelu = reader.text_or(keys.activation, architecture.activation) == "gelu";
  if (architecture.gelu_is_tanh && named_gelu) config.activation = Activation::kGeluTanh;
  if (config.gated) config.activation = architecture.gated_activation.value_or(config.activation);
}

void read_parallel(const Reader& reader, ModelConfig& config) {
  const Architecture& architecture = *config.architecture;
  const ConfigKeys& keys = architecture.keys;
  const bool grouped = reader.flag_or(keys.grouped, false);
  constexpr std::size_t kNorms = 2;
  config.parallel = grouped || reader.flag_or(keys.parallel, architecture.parallel);
  config.shared_norm = config.parallel &&
                       (grouped ? reader.size_or(keys.parallel_norms, kNorms, kNorms) == 1 : architecture.shared_norm);
}

void read_intermediate(const Reader& reader, ModelConfig& config) {
  const ConfigKeys& keys = config.architecture->keys;
  if (keys.mlp_ratio.empty()) {
    config.intermediate = reader.size_or(keys.intermediate, config.architecture->intermediate_factor * config.hidden);
    return;
  }
  constexpr double kMaxRatio = 1024.0;
  const double ratio = reader.number_or(keys.mlp_ratio, 4.0, 0.0, kMaxRatio);
  config.intermediate = static_cast<std::size_t>(static_cast<double>(config.hidden) * ratio);
  // A gated network has three matrices instead of two, so two thirds of the width, rounded up to a multiple of 8.
  if (config.gated) config.intermediate = (config.intermediate * 2 / 3 + 7) / 8 * 8;
  if (config.intermediate == 0) reader.wrong(keys.mlp_ratio, "a ratio that leaves a width of at least 1", ratio);
}

void read_experts(const Reader& reader, ModelConfig& config) {
  const ExpertRow& row = config.architecture->experts;
  if (!row.any()) return;
  reader.require(fmt::format("model type {}", config.architecture->model_type), {row.count, row.chosen});
  config.experts = reader.size(row.count, internal::kMaxConfigLayers);
  config.chosen_experts = reader.size(row.chosen, config.experts);
  config.normalized_experts = row.normalized.empty() || reader.flag_or(row.normalized, false);
}

bool has_bias(const Reader& reader, BiasRule rule, std::string_view key) {
  if (rule == BiasRule::kAlways || rule == BiasRule::kNever) return rule == BiasRule::kAlways;
  return reader.flag_or(key, rule == BiasRule::kSettingOrTrue);
}

void read_biases(const Reader& reader, ModelConfig& config) {
  const ConfigKeys& keys = config.architecture->keys;
  const BiasRules& rules = config.architecture->biases;
  const auto of_attention = [&](BiasRule rule, std::string_view key) {
    return has_bias(reader, rule, key.empty() ? keys.attention_bias : key);
  };
  config.query_bias = of_attention(rules.query_key_value, keys.query_bias);
  config.key_bias = of_attention(rules.key.value_or(rules.query_key_value), keys.key_bias);
  config.value_bias = of_attention(rules.query_key_value, keys.value_bias);
  config.attention_output_bias = has_bias(reader, rules.attention_output, keys.attention_bias);
  config.feed_forward_bias = has_bias(reader, rules.feed_forward, keys.feed_forward_bias);
}

ClassifierInput read_pooling(const Reader& reader, const Architecture& architecture) {
  const std::string_view key = architecture.keys.pooling;
  if (key.empty()) return architecture.classifier.input;
  const std::string name = reader.text_or(key, "cls");
  if (name == "cls") return ClassifierInput::kFirstToken;
  if (name == "mean") return ClassifierInput::kTokens;
  reader.unsupported("{} is {}; supported are \"cls\" and \"mean\"", key, quote_name(name));
}

void read_encoder_head(const Reader& reader, ModelConfig& config) {
  config.classifier_input = read_pooling(reader, *config.architecture);
  config.labels = reader.labels();
  config.multi_label = reader.multi_label();
}

// A classifier's logits are one map of the last hidden state, without the table's logit settings.
void read_text_classifier(const Reader& reader, ModelConfig& config) {
  config.padding = config.architecture->padding;
  config.classifies = true;
  config.labels = reader.labels();
  config.multi_label = reader.multi_label();
  config.logit_factor = 1.0;
  config.logit_cap = 0.0;
  constexpr std::string_view kPadding = "pad_token_id";
  if (reader.says_null(kPadding)) config.padding.reset();
  const Json* const padding = reader.find(kPadding);
  if (padding == nullptr) return;
  if (!padding->is_number_integer()) reader.wrong(kPadding, "a token's id", *padding);
  config.padding = padding->get<std::int64_t>();
}

void read_decoder_head(const Reader& reader, ModelConfig& config) {
  const std::string base(std::string(config.architecture->class_name) + "Model");
  const auto is_base = [&](const std::string& name) { return name == base; };
  const auto is_classifier = [](const std::string& name) { return name.ends_with(kTextClassifier); };
  config.base_model = std::all_of(config.classes.begin(), config.classes.end(), is_base);
  if (std::any_of(config.classes.begin(), config.classes.end(), is_classifier)) read_text_classifier(reader, config);
}

// Reads what every stack of layers has.
ModelConfig read_stack(const Reader& reader, const Architecture& architecture) {
  const ConfigKeys& keys = architecture.keys;
  const auto required = [](std::string_view key, bool is_required) { return is_required ? key : std::string_view(); };
  const bool of_text = !architecture.image;
  reader.require(
      fmt::format("model type {}", architecture.model_type),
      {keys.hidden, keys.layers, keys.heads, required(keys.intermediate, architecture.intermediate_factor == 0),
       keys.embedding, required("image_size", !of_text), required("patch_size", !of_text), keys.registers,
       required(keys.positions, architecture.position_limit == 0), required("vocab_size", of_text)});
  ModelConfig config;
  config.architecture = &architecture;
  read_layers(reader, config);
  config.hidden = reader.size(keys.hidden);
  config.embedding = reader.size_or(keys.embedding, config.hidden);
  read_heads(reader, config);
  read_activation(reader, config);
  read_intermediate(reader, config);
  if (of_text) {
    read_text(reader, config);
  } else {
    read_image(reader, config);
  }
  internal::read_windows(reader, config);
  internal::read_positions(reader, config);
  read_factors(reader, config);
  config.norm_eps = reader.number_or(keys.norm_eps, architecture.norm_eps, 0.0, 1.0);
  config.layer_scale = reader.number_or(keys.layer_scale, 1.0, 0.0, kLargestFactor) > 0.0;
  read_experts(reader, config);
  read_biases(reader, config);
  read_parallel(reader, config);
  config.tied = reader.flag_or("tie_word_embeddings", architecture.tied);
  config.classes = reader.texts("architectures");
  return config;
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

constexpr std::string_view kStart = "decoder_start_token_id";
constexpr std::string_view kForced = "forced_bos_token_id";
constexpr std::string_view kNever = "bad_words_ids";

// Reads ids. Those in generation_config.json take precedence.
struct SpecialIds {
  const Reader* generation = nullptr;  // null if there is no such file
  const Reader& config;
  std::size_t vocabulary = 0;

  const Reader& reader_of(std::string_view key) const {
    return generation != nullptr && generation->find(key) != nullptr ? *generation : config;
  }
  std::optional<std::int64_t> find(std::string_view key) const {
    const Reader& reader = reader_of(key);
    const Json* const value = reader.find(key);
    if (value == nullptr) return std::nullopt;
    return static_cast<std::int64_t>(reader.token_id(key, *value, vocabulary));
  }
};

std::vector<std::int64_t> read_begin(const SpecialIds& ids) {
  std::vector<std::int64_t> begin;
  auto start = ids.find(kStart);
  if (!start) start = ids.find("bos_token_id");  // as transformers does
  if (!start) {
    ids.config.damaged(
        "expected \"{}\", the token that a target begins with, here or in "
        "generation_config.json, found none; add the one that the model was trained with",
        kStart);
  }
  begin.push_back(*start);
  if (const auto forced = ids.find(kForced)) begin.push_back(*forced);
  return begin;
}

// Whether a token ends a text: transformers lets such a token be written even if it is named as a bad word.
bool is_end(const SpecialIds& ids, std::int64_t id) {
  constexpr std::string_view kEnd = "eos_token_id";
  const Json* const ends = ids.reader_of(kEnd).find(kEnd);
  if (ends == nullptr) return false;
  const auto is_it = [id](const Json& end) { return end.is_number_integer() && end.get<std::int64_t>() == id; };
  return ends->is_array() ? std::any_of(ends->begin(), ends->end(), is_it) : is_it(*ends);
}

// Reads single-token words. Longer ones depend on the tokens before them and are left to transformers, as are beams.
std::vector<std::int64_t> read_never(const SpecialIds& ids) {
  const Reader& reader = ids.reader_of(kNever);
  std::vector<std::int64_t> never;
  const Json* const words = reader.find(kNever);
  if (words == nullptr) return never;
  if (!words->is_array()) reader.wrong(kNever, "a list of lists of ids", *words);
  for (const Json& word : *words) {
    if (!word.is_array()) reader.wrong(kNever, "a list of lists of ids", word);
    if (word.size() != 1) continue;
    const auto id = static_cast<std::int64_t>(reader.token_id(kNever, word[0], ids.vocabulary));
    if (!is_end(ids, id)) never.push_back(id);
  }
  return never;
}

}  // namespace

std::size_t ModelConfig::max_tokens() const {
  return image ? image->leading.size() + image->rows() * image->columns() : positions;
}

std::size_t ModelConfig::stored_layer(std::size_t index) const {
  const std::size_t repetitions = layers / inner_layers;
  const std::size_t group = (index / inner_layers) * layer_groups / repetitions;
  return group * inner_layers + index % inner_layers;
}

ModelConfig parse_model_config(std::string_view text, const std::string& source,
                               std::optional<ArchitectureKind> expected) {
  const Json json = internal::parse_json_object(text, source);
  const Architecture& architecture = read_architecture(Reader(json, source), expected);
  Json settings = settings_of(Reader(json, source), architecture);
  internal::resolve_aliases(architecture.aliases, settings);
  const Reader reader(settings, source);
  refuse_variants(reader, architecture);
  ModelConfig config = read_stack(reader, architecture);
  if (architecture.is_encoder()) {
    read_encoder_head(reader, config);
  } else {
    read_decoder_head(reader, config);
  }
  return config;
}

ModelConfig read_model_config(const Folder& folder, std::optional<ArchitectureKind> expected) {
  return parse_model_config(internal::read_config_text(folder), folder.label("config.json"), expected);
}

EncoderDecoderConfig parse_encoder_decoder_config(std::string_view text, const std::string& source,
                                                  std::string_view generation, const std::string& generation_source) {
  Json json = internal::parse_json_object(text, source);
  const Reader reader(json, source);
  const Architecture& architecture = read_architecture(reader, ArchitectureKind::kEncoderDecoder);
  internal::resolve_aliases(architecture.aliases, json);
  refuse_variants(reader, architecture);
  EncoderDecoderConfig config;
  config.encoder = read_stack(reader, source_half(architecture));
  config.decoder = read_stack(reader, architecture);
  if (config.decoder.buckets) config.decoder.buckets->causal = true;

  const Json beside = generation.empty() ? Json::object() : internal::parse_json_object(generation, generation_source);
  const Reader beside_reader(beside, generation_source);
  const SpecialIds ids = {generation.empty() ? nullptr : &beside_reader, reader, config.decoder.vocabulary};
  config.begin = read_begin(ids);
  config.never = read_never(ids);
  if (config.begin.size() > config.decoder.positions) {
    reader.damaged("expected positions for the {} tokens that a target begins with, found {}", config.begin.size(),
                   config.decoder.positions);
  }
  return config;
}

EncoderDecoderConfig read_encoder_decoder_config(const Folder& folder) {
  constexpr const char* kGeneration = "generation_config.json";
  constexpr std::size_t kMaxGenerationBytes = std::size_t{1} << 20;
  const std::string generation = folder.has(kGeneration) ? folder.read(kGeneration, kMaxGenerationBytes) : "";
  return parse_encoder_decoder_config(internal::read_config_text(folder), folder.label("config.json"), generation,
                                      folder.label(kGeneration));
}

}  // namespace attnflow
