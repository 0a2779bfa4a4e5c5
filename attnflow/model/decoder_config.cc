#include "attnflow/model/decoder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/config_reader.h"
#include "attnflow/model/decoder_stack.h"
#include "attnflow/model/rotary_settings.h"

namespace attnflow {

namespace {

using internal::ConfigReader;
using internal::quote_name;
using Json = nlohmann::json;

constexpr std::string_view kTextClassifier = "ForSequenceClassification";
constexpr double kLargestFactor = 1e6;

const DecoderArchitecture& read_decoder_architecture(const ConfigReader& reader) {
  const std::string type = reader.text_or("model_type", "");
  if (const DecoderArchitecture* const architecture = find_decoder_architecture(type)) return *architecture;
  const std::string expected = "expected a decoder: " + decoder_architecture_list();
  if (type.empty()) reader.damaged("model_type is missing; {}", expected);
  reader.unsupported("model_type is {}; {}", quote_name(type), expected);
}

void refuse_decoder_variants(const ConfigReader& reader, const DecoderArchitecture& architecture) {
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
  reader.refuse_what_none_runs();
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

// A classifier's logits are one map of the last hidden state, without the table's logit settings.
void read_classifier(const ConfigReader& reader, DecoderConfig& config) {
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

void refuse_windows(const ConfigReader& reader) {
  const std::vector<std::string> types = reader.texts("layer_types");
  const bool named = std::find(types.begin(), types.end(), "sliding_attention") != types.end();
  if (reader.find("sliding_window") == nullptr || (!named && !reader.flag_or("use_sliding_window", false))) return;
  reader.unsupported(
      "the model has layers with a sliding window, which is not supported for its model type; expected "
      "use_sliding_window false and no layer_types of \"sliding_attention\"");
}

// Reads GPT-Neo's local layers: one entry per layer in attention_layers, or patterns and counts in attention_types.
std::vector<bool> read_local_layers(const ConfigReader& reader, std::size_t layers) {
  constexpr std::string_view kLayers = "attention_layers";
  constexpr std::string_view kTypes = "attention_types";
  std::vector<bool> local;
  const auto add = [&](const Json& names) {
    for (const Json& name : names) {
      if (name != Json("local") && name != Json("global")) reader.wrong(kLayers, "\"global\" or \"local\"", name);
      local.push_back(name == Json("local"));
    }
  };
  if (const Json* const found = reader.find(kLayers); found != nullptr && found->is_array()) {
    add(*found);
  } else if (const Json* const types = reader.find(kTypes); types != nullptr && types->is_array()) {
    for (const Json& one : *types) {
      const bool good =
          one.is_array() && one.size() == 2 && one[0].is_array() && !one[0].empty() && one[1].is_number_unsigned();
      if (!good) reader.wrong(kTypes, "a list of [names, how often]", one);
      for (std::size_t k = 0; k < one[1].get<std::size_t>() && local.size() < layers; ++k) add(one[0]);
    }
  }
  if (local.size() != layers) {
    reader.wrong(kTypes, fmt::format("as many names as there are layers, {},", layers), local.size());
  }
  return local;
}

std::vector<bool> read_windowed_layers(const ConfigReader& reader, const DecoderArchitecture& architecture,
                                       std::size_t layers) {
  if (architecture.window == WindowRule::kAll || architecture.window == WindowRule::kAllSwitched)
    return std::vector<bool>(layers, true);
  if (architecture.window == WindowRule::kNamed) return read_local_layers(reader, layers);
  std::vector<bool> windowed = reader.sliding_layers(layers);
  if (!windowed.empty()) return windowed;
  if (architecture.window == WindowRule::kAllOrNamed) return std::vector<bool>(layers, true);
  if (architecture.window == WindowRule::kInterval) {
    const std::size_t interval = reader.size_or(architecture.keys.window_interval, architecture.window_interval);
    for (std::size_t layer = 1; layer <= layers; ++layer) windowed.push_back(layer % interval != 0);
    return windowed;
  }
  constexpr std::size_t kUsualFirst = 28;
  const Json* first = reader.find("max_window_layers");
  if (first != nullptr && !first->is_number_unsigned()) reader.wrong("max_window_layers", "a whole number", *first);
  const std::size_t begin = first == nullptr ? kUsualFirst : first->get<std::size_t>();
  for (std::size_t layer = 0; layer < layers; ++layer) windowed.push_back(layer >= begin);
  return windowed;
}

std::vector<std::size_t> read_windows(const ConfigReader& reader, const DecoderArchitecture& architecture,
                                      std::size_t layers) {
  std::vector<std::size_t> windows(layers, 0);
  const bool switched = is_switched(architecture.window);
  if (architecture.window == WindowRule::kNone) refuse_windows(reader);
  if (architecture.window == WindowRule::kNone || (switched && !reader.flag_or("use_sliding_window", false))) {
    return windows;
  }
  // Only here does null differ from absent: it means that there is no window.
  const std::string_view kSize = architecture.keys.window;
  const bool stated = reader.object().contains(kSize);
  const std::size_t size = stated ? reader.size_or(kSize, 0) : architecture.window_size;
  const std::vector<bool> windowed = read_windowed_layers(reader, architecture, layers);
  for (std::size_t layer = 0; layer < layers; ++layer) windows[layer] = windowed[layer] ? size : 0;
  return windows;
}

std::size_t read_key_value_heads(const ConfigReader& reader, const DecoderKeys& keys, std::size_t heads) {
  if (!keys.multi_query.empty() && !reader.flag_or(keys.grouped, false)) {
    return reader.flag_or(keys.multi_query, true) ? 1 : heads;
  }
  return reader.size_or(keys.key_value_heads, heads);
}

void read_heads(const ConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  const DecoderKeys& keys = architecture.keys;
  config.heads = reader.size(keys.heads);
  config.key_value_heads = read_key_value_heads(reader, keys, config.heads);
  reader.expect_multiple(keys.heads, config.heads, keys.key_value_heads, config.key_value_heads);
  if (reader.find(keys.head_width) != nullptr) {
    config.head_width = reader.size(keys.head_width);
  } else {
    reader.expect_multiple(keys.hidden, config.hidden, keys.heads, config.heads);
    config.head_width = config.hidden / config.heads;
  }
}

void read_positions(const ConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  config.position_kind = reader.flag_or(architecture.keys.alibi, false) ? PositionKind::kAlibi : architecture.positions;
  config.positions = architecture.position_limit == 0
                         ? reader.size(architecture.keys.positions)
                         : reader.size_or(architecture.keys.positions, architecture.position_limit);
  config.position_offset = architecture.position_offset;
  const std::string_view padding = architecture.keys.padding_id;
  if (const Json* const id = reader.find(padding)) {
    config.position_offset = reader.token_id(padding, *id, config.vocabulary) + 1;
  }
  config.rotary_layers = internal::read_rotary_layers(reader, architecture.keys, config.layers);
  if (architecture.rotary_in_windows) {
    std::transform(config.windows.begin(), config.windows.end(), config.rotary_layers.begin(),
                   [](std::size_t window) { return window != 0; });
  }
  if (config.position_kind != PositionKind::kRotary) return;
  const internal::RotarySettings rotary = internal::read_rotary(reader, architecture, config.head_width);
  config.rotary = rotary.global;
  config.rotary_width = rotary.width;
  config.local_rotary = rotary.local;
  if (rotary.length != 0) config.positions = std::min(config.positions, rotary.length);
}

void read_factors(const ConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  const DecoderKeys& keys = architecture.keys;
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
void read_gated_activation(const ConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  const DecoderKeys& keys = architecture.keys;
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

void read_activation(const ConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  const DecoderKeys& keys = architecture.keys;
  if (!keys.gated_activation.empty()) {
    read_gated_activation(reader, architecture, config);
    return;
  }
  config.gated = !architecture.names.gate.empty() || !architecture.names.gate_and_in.empty();
  config.activation = reader.activation(keys.activation, architecture.activation);
  const bool named_gelu = reader.text_or(keys.activation, architecture.activation) == "gelu";
  if (architecture.gelu_is_tanh && named_gelu) config.activation = Activation::kGeluTanh;
}

void read_parallel(const ConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  const DecoderKeys& keys = architecture.keys;
  const bool grouped = reader.flag_or(keys.grouped, false);
  constexpr std::size_t kNorms = 2;
  config.parallel = grouped || reader.flag_or(keys.parallel, architecture.parallel);
  config.shared_norm = config.parallel &&
                       (grouped ? reader.size_or(keys.parallel_norms, kNorms, kNorms) == 1 : architecture.shared_norm);
}

void read_buckets(const ConfigReader& reader, const DecoderKeys& keys, DecoderConfig& config) {
  DistanceBuckets& buckets = config.buckets;
  buckets.count = reader.size_or(keys.buckets, buckets.count);
  buckets.farthest = reader.size_or(keys.farthest_bucket, buckets.farthest);
  constexpr std::size_t kFewest = 4;
  if (buckets.count < kFewest || buckets.count % kFewest != 0 || buckets.farthest <= buckets.count / 2) {
    reader.damaged("expected {} to be a multiple of {} below twice {}, found {} and {}", keys.buckets, kFewest,
                   keys.farthest_bucket, buckets.count, buckets.farthest);
  }
}

void read_experts(const ConfigReader& reader, const ExpertRow& row, DecoderConfig& config) {
  if (!row.any()) return;
  reader.require(fmt::format("model type {}", config.architecture->model_type), {row.count, row.chosen});
  config.experts = reader.size(row.count, internal::kMaxConfigLayers);
  config.chosen_experts = reader.size(row.chosen, config.experts);
  config.normalized_experts = row.normalized.empty() || reader.flag_or(row.normalized, false);
}

bool has_bias(const ConfigReader& reader, BiasRule rule, std::string_view key) {
  if (rule == BiasRule::kAlways || rule == BiasRule::kNever) return rule == BiasRule::kAlways;
  return reader.flag_or(key, rule == BiasRule::kSettingOrTrue);
}

}  // namespace

std::vector<float> alibi_slopes(std::size_t heads) {
  std::size_t power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<float> slopes;
  const double step = -8.0 / static_cast<double>(power);
  for (std::size_t h = 1; h <= power; ++h)
    slopes.push_back(static_cast<float>(std::exp2(step * static_cast<double>(h))));
  for (std::size_t h = 1; slopes.size() < heads; h += 2) {
    slopes.push_back(static_cast<float>(std::exp2(step / 2.0 * static_cast<double>(h))));
  }
  return slopes;
}

DecoderConfig parse_decoder_config(std::string_view text, const std::string& source) {
  Json json = internal::parse_json_object(text, source);
  const ConfigReader reader(json, source);
  const DecoderArchitecture& architecture = read_decoder_architecture(reader);
  internal::resolve_aliases(architecture.aliases, json);
  refuse_decoder_variants(reader, architecture);
  reader.refuse_own_code(architecture.model_type, architecture.class_name);
  DecoderConfig config = internal::read_stack(reader, architecture);
  config.base_model = true;
  bool classifies = false;
  for (const std::string& name : reader.texts("architectures")) {
    config.base_model = config.base_model && name == std::string(architecture.class_name) + "Model";
    classifies = classifies || name.ends_with(kTextClassifier);
  }
  if (classifies) read_classifier(reader, config);
  return config;
}

DecoderConfig internal::read_stack(const ConfigReader& reader, const DecoderArchitecture& architecture) {
  const DecoderKeys& keys = architecture.keys;
  const bool may_lack_width = architecture.intermediate_factor != 0;
  reader.require(fmt::format("model type {}", architecture.model_type),
                 {keys.hidden, keys.layers, keys.heads, may_lack_width ? std::string_view() : keys.intermediate,
                  architecture.position_limit != 0 ? std::string_view() : keys.positions, "vocab_size"});

  DecoderConfig config;
  config.architecture = &architecture;
  config.layers = reader.size(keys.layers, internal::kMaxConfigLayers);
  config.hidden = reader.size(keys.hidden);
  read_heads(reader, architecture, config);
  config.intermediate = reader.size_or(keys.intermediate, architecture.intermediate_factor * config.hidden);
  config.vocabulary = reader.size("vocab_size");
  config.windows = read_windows(reader, architecture, config.layers);
  read_positions(reader, architecture, config);
  read_factors(reader, architecture, config);
  config.norm_eps = reader.number_or(keys.norm_eps, architecture.norm_eps, 0.0, 1.0);
  read_activation(reader, architecture, config);
  read_experts(reader, architecture.experts, config);
  if (config.position_kind == PositionKind::kDistance) read_buckets(reader, keys, config);
  config.query_key_value_bias = has_bias(reader, architecture.biases.query_key_value, keys.attention_bias);
  config.attention_output_bias = has_bias(reader, architecture.biases.attention_output, keys.attention_bias);
  config.feed_forward_bias = has_bias(reader, architecture.biases.feed_forward, keys.feed_forward_bias);
  config.output_bias = architecture.output_bias == BiasRule::kAlways;
  read_parallel(reader, architecture, config);
  config.tied = reader.flag_or("tie_word_embeddings", architecture.tied);
  return config;
}

DecoderConfig read_decoder_config(const Folder& folder) {
  const std::string text = internal::read_config_text(folder);
  return parse_decoder_config(text, folder.label("config.json"));
}

}  // namespace attnflow
