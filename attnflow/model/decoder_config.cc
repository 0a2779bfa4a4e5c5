#include "attnflow/model/decoder_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/config_reader.h"

namespace attnflow {

namespace {

using internal::quote_name;
using Json = nlohmann::json;
using DecoderConfigReader = internal::ConfigReader;

constexpr double kLargestTheta = 1e12;
constexpr double kLargestFactor = 1e6;
constexpr double kDecoderPi = 3.14159265358979323846;

const DecoderArchitecture& read_decoder_architecture(const DecoderConfigReader& reader) {
  const std::string type = reader.text_or("model_type", "");
  const DecoderArchitecture* architecture = find_decoder_architecture(type);
  if (architecture == nullptr) {
    reader.fail(type.empty() ? ErrorKind::kBadFile : ErrorKind::kUnsupportedModel,
                fmt::format("model_type is {}; expected a decoder: {}. For other models, save the attention weights to "
                            "an .npz file and explain those (--attention FILE)",
                            type.empty() ? "missing" : quote_name(type), decoder_architecture_list()));
  }
  return *architecture;
}

// Switches of transformers' code under which these models compute something else.
void refuse_decoder_variants(const DecoderConfigReader& reader) {
  struct Switch {
    std::string_view key;
    bool usual;
  };
  constexpr std::array kSwitches = {Switch{"add_cross_attention", false},
                                    Switch{"scale_attn_weights", true},
                                    Switch{"scale_attn_by_inverse_layer_idx", false},
                                    Switch{"use_mrope", false},
                                    Switch{"use_bias", true},
                                    Switch{"enable_bias", true},
                                    Switch{"do_layer_norm_before", true},
                                    Switch{"layer_norm_elementwise_affine", true},
                                    Switch{"_remove_final_layer_norm", false},
                                    Switch{"qk_layernorm", false},
                                    Switch{"use_parallel_residual", false},
                                    Switch{"use_bidirectional_attention", false}};
  for (const Switch& one : kSwitches) {
    if (reader.flag_or(one.key, one.usual) != one.usual) {
      reader.fail(
          ErrorKind::kUnsupportedModel,
          fmt::format("expected {} {}, found {}: no backend computes that variant", one.key, one.usual, !one.usual));
    }
  }
  // Embedders made of decoders: transformers 5 then lets each token see those behind it, too.
  if (!reader.flag_or("is_causal", true)) {
    reader.fail(ErrorKind::kUnsupportedModel,
                "is_causal is false: tokens attend to later ones; supported are causal decoders (is_causal true). Save "
                "the attention weights to an .npz file and explain those (--attention FILE)");
  }
  reader.refuse_pruned_and_quantised();
  // LlamaForSequenceClassification and the like have another head; GPT2LMHeadModel and LlamaModel have no "For".
  for (const std::string& name : reader.texts("architectures")) {
    const std::size_t task = name.find("For");
    if (task != std::string::npos && name.substr(task) != "ForCausalLM") {
      reader.fail(ErrorKind::kUnsupportedModel,
                  fmt::format("architectures names {}; of this model type only language models (ForCausalLM) are "
                              "supported",
                              quote_name(name)));
    }
  }
}

void refuse_rotary(const DecoderConfigReader& reader, const std::string& what) {
  reader.fail(ErrorKind::kUnsupportedModel, what + "; supported are the rope types default, linear and llama3");
}

struct Rotary {
  RotaryConfig config;
  double share = 1.0;  // of each head
};

// The settings lie in "rope_scaling" (transformers 4, beside "rope_theta") or "rope_parameters" (transformers 5).
Rotary read_rotary(const DecoderConfigReader& reader, const DecoderArchitecture& architecture) {
  Rotary read;
  RotaryConfig& rotary = read.config;
  const auto read_share = [&](const DecoderConfigReader& from, double fallback) {
    read.share = from.number_or("partial_rotary_factor", fallback, 0.0, kLargestFactor);
    if (read.share != 1.0 && (!architecture.partial_rotary || read.share > 1.0)) {
      refuse_rotary(reader, "partial_rotary_factor is not 1");
    }
  };
  rotary.theta = reader.number_or("rope_theta", architecture.rotary_theta, 1.0, kLargestTheta);
  read_share(reader, architecture.rotary_share);
  const Json* object = nullptr;
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    const Json* found = reader.find(key);
    if (found == nullptr || object != nullptr) continue;
    if (!found->is_object()) reader.wrong(key, "an object", *found);
    if (!found->empty()) object = found;
  }
  if (object == nullptr) return read;

  const DecoderConfigReader rope(*object, reader.source());
  constexpr std::array<std::string_view, 8> kKnown = {"rope_type",
                                                      "type",
                                                      "rope_theta",
                                                      "factor",
                                                      "low_freq_factor",
                                                      "high_freq_factor",
                                                      "original_max_position_embeddings",
                                                      "partial_rotary_factor"};
  for (const auto& [key, value] : object->items()) {
    if (!value.is_null() && std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
      refuse_rotary(reader, fmt::format("the rotary embedding has a setting {}", quote_name(key)));
    }
  }
  read_share(rope, read.share);
  rotary.theta = rope.number_or("rope_theta", rotary.theta, 1.0, kLargestTheta);
  const std::string type = rope.text_or("rope_type", rope.text_or("type", "default"));
  if (type == "default") return read;
  if (type != "linear" && type != "llama3") refuse_rotary(reader, "rope_type is " + quote_name(type));
  rope.require("rope_type " + type, {"factor"});
  rotary.factor = rope.number_or("factor", 1.0, 1.0, kLargestFactor);
  if (type == "linear") {
    rotary.scaling = RotaryConfig::Scaling::kLinear;
    return read;
  }
  rotary.scaling = RotaryConfig::Scaling::kLlama3;
  rope.require("rope_type llama3", {"low_freq_factor", "high_freq_factor", "original_max_position_embeddings"});
  rotary.low = rope.number_or("low_freq_factor", 1.0, 0.0, kLargestFactor);
  rotary.high = rope.number_or("high_freq_factor", 1.0, 0.0, kLargestFactor);
  rotary.first_length = static_cast<double>(rope.size("original_max_position_embeddings"));
  if (!(rotary.low > 0.0 && rotary.low < rotary.high)) {
    reader.fail(ErrorKind::kBadFile, fmt::format("expected 0 < low_freq_factor < high_freq_factor, found {} and {}",
                                                 rotary.low, rotary.high));
  }
  return read;
}

// Of which layers queries and keys are turned.
std::vector<bool> read_rotary_layers(const DecoderConfigReader& reader, const DecoderKeys& keys, std::size_t layers) {
  std::vector<bool> turned(layers, true);
  if (keys.rotary_layers.empty()) return turned;
  const Json* const found = reader.find(keys.rotary_layers);
  if (found == nullptr) {
    constexpr std::size_t kUsualInterval = 4;
    const std::size_t interval = reader.size_or(keys.rotary_interval, kUsualInterval);
    for (std::size_t layer = interval; layer <= layers; layer += interval) turned[layer - 1] = false;
    return turned;
  }
  const bool is_list =
      found->is_array() && found->size() >= layers &&
      std::all_of(found->begin(), found->end(), [](const Json& one) { return one == Json(0) || one == Json(1); });
  if (!is_list) reader.wrong(keys.rotary_layers, fmt::format("at least {} numbers, each 0 or 1,", layers), *found);
  for (std::size_t layer = 0; layer < layers; ++layer) turned[layer] = (*found)[layer] == Json(1);
  return turned;
}

// Where no layer is known to have a window, none may be asked for.
void refuse_windows(const DecoderConfigReader& reader) {
  const std::vector<std::string> types = reader.texts("layer_types");
  const bool named = std::find(types.begin(), types.end(), "sliding_attention") != types.end();
  if (reader.find("sliding_window") == nullptr || (!named && !reader.flag_or("use_sliding_window", false))) return;
  reader.fail(ErrorKind::kUnsupportedModel,
              "the model has layers with a sliding window, which is not supported for its model type; expected "
              "use_sliding_window false and no layer_types of \"sliding_attention\"");
}

std::vector<std::size_t> read_windows(const DecoderConfigReader& reader, const DecoderArchitecture& architecture,
                                      std::size_t layers) {
  std::vector<std::size_t> windows(layers, 0);
  const bool switched = architecture.window == WindowRule::kSwitched;
  if (architecture.window == WindowRule::kNone) refuse_windows(reader);
  if (architecture.window == WindowRule::kNone || (switched && !reader.flag_or("use_sliding_window", false))) {
    return windows;
  }
  // Here alone null is not the same as absent: it means that there is no window.
  constexpr std::string_view kSize = "sliding_window";
  const bool stated = reader.object().contains(kSize);
  const std::size_t size = stated ? reader.size_or(kSize, 0) : architecture.window_size;
  if (!switched) {
    std::fill(windows.begin(), windows.end(), size);
    return windows;
  }
  constexpr std::string_view kTypes = "layer_types";
  const std::vector<std::string> types = reader.texts(kTypes);
  if (types.empty()) {
    constexpr std::size_t kUsualFirst = 28;
    const Json* first = reader.find("max_window_layers");
    if (first != nullptr && !first->is_number_unsigned()) reader.wrong("max_window_layers", "a whole number", *first);
    const std::size_t begin = first == nullptr ? kUsualFirst : first->get<std::size_t>();
    for (std::size_t layer = begin; layer < layers; ++layer) windows[layer] = size;
    return windows;
  }
  if (types.size() != layers) {
    reader.wrong(kTypes, fmt::format("as many names as there are layers, {},", layers), types.size());
  }
  for (std::size_t layer = 0; layer < layers; ++layer) {
    if (types[layer] == "sliding_attention") {
      windows[layer] = size;
    } else if (types[layer] != "full_attention") {
      reader.fail(ErrorKind::kUnsupportedModel,
                  fmt::format("layer_types names {}; supported are \"full_attention\" and \"sliding_attention\"",
                              quote_name(types[layer])));
    }
  }
  return windows;
}

void read_heads(const DecoderConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  const DecoderKeys& keys = architecture.keys;
  config.heads = reader.size(keys.heads);
  config.key_value_heads =
      keys.key_value_heads.empty() ? config.heads : reader.size_or(keys.key_value_heads, config.heads);
  if (config.heads % config.key_value_heads != 0) {
    reader.fail(ErrorKind::kBadFile, fmt::format("expected {} to be a multiple of {}, found {} and {}", keys.heads,
                                                 keys.key_value_heads, config.heads, config.key_value_heads));
  }
  if (!keys.head_width.empty() && reader.find(keys.head_width) != nullptr) {
    config.head_width = reader.size(keys.head_width);
  } else if (config.hidden % config.heads == 0) {
    config.head_width = config.hidden / config.heads;
  } else {
    reader.fail(ErrorKind::kBadFile, fmt::format("expected {} to be a multiple of {}, found {} and {}", keys.hidden,
                                                 keys.heads, config.hidden, config.heads));
  }
}

void read_positions(const DecoderConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  config.positions = reader.size(architecture.keys.positions);
  config.rotary_layers = read_rotary_layers(reader, architecture.keys, config.layers);
  if (architecture.positions != PositionKind::kRotary) return;
  const Rotary rotary = read_rotary(reader, architecture);
  config.rotary = rotary.config;
  config.rotary_width = static_cast<std::size_t>(static_cast<double>(config.head_width) * rotary.share);
  if (config.rotary_width == 0 || config.rotary_width % 2 != 0) {
    reader.fail(ErrorKind::kBadFile,
                fmt::format("expected an even head size for the rotary embedding, found {}", config.rotary_width));
  }
}

void read_factors(const DecoderConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  const DecoderKeys& keys = architecture.keys;
  const auto factor = [&](std::string_view key, double fallback) {
    constexpr double kLeast = 1e-6;
    return key.empty() ? fallback : reader.number_or(key, fallback, kLeast, kLargestFactor);
  };
  const double root = architecture.root_embedding ? std::sqrt(static_cast<double>(config.hidden)) : 1.0;
  config.embedding_factor = root * factor(keys.embedding_factor, 1.0);
  // Where it can be stated and is not, transformers multiplies by 1.
  config.score_factor = keys.score_factor.empty() ? 1.0 / std::sqrt(static_cast<double>(config.head_width))
                                                  : factor(keys.score_factor, 1.0);
  config.residual_factor = factor(keys.residual_factor, 1.0);
  config.logit_factor = 1.0 / factor(keys.logit_divisor, 1.0);
}

bool has_bias(const DecoderConfigReader& reader, BiasRule rule, std::string_view key) {
  return rule == BiasRule::kAlways || (rule == BiasRule::kSetting && reader.flag_or(key, false));
}

}  // namespace

std::vector<float> RotaryConfig::frequencies(std::size_t width) const {
  std::vector<float> result;
  for (std::size_t i = 0; i < width / 2; ++i) {
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(width);
    const double plain = static_cast<float>(1.0 / std::pow(theta, exponent));
    double scaled = plain;
    if (scaling == Scaling::kLinear) {
      scaled = plain / factor;
    } else if (scaling == Scaling::kLlama3) {
      const double length = 2.0 * kDecoderPi / plain;
      const double share = std::clamp((first_length / length - low) / (high - low), 0.0, 1.0);
      scaled = (1.0 - share) * plain / factor + share * plain;
    }
    result.push_back(static_cast<float>(scaled));
  }
  return result;
}

DecoderConfig parse_decoder_config(std::string_view text, const std::string& source) {
  const Json json = internal::parse_json_object(text, source);
  const DecoderConfigReader reader(json, source);
  const DecoderArchitecture& architecture = read_decoder_architecture(reader);
  refuse_decoder_variants(reader);
  reader.refuse_own_code(architecture.model_type, architecture.class_name);
  const DecoderKeys& keys = architecture.keys;
  const bool may_lack_width = architecture.intermediate_factor != 0;
  reader.require(fmt::format("model type {}", architecture.model_type),
                 {keys.hidden, keys.layers, keys.heads, may_lack_width ? std::string_view() : keys.intermediate,
                  keys.positions, "vocab_size"});

  DecoderConfig config;
  config.architecture = &architecture;
  config.layers = reader.size(keys.layers, internal::kMaxConfigLayers);
  config.hidden = reader.size(keys.hidden);
  read_heads(reader, architecture, config);
  config.intermediate = reader.size_or(keys.intermediate, architecture.intermediate_factor * config.hidden);
  config.vocabulary = reader.size("vocab_size");
  read_positions(reader, architecture, config);
  read_factors(reader, architecture, config);
  config.windows = read_windows(reader, architecture, config.layers);
  config.norm_eps = reader.number_or(keys.norm_eps, architecture.norm_eps, 0.0, 1.0);
  config.activation = reader.activation(keys.activation, architecture.activation);
  if (architecture.gelu_is_tanh && config.activation == Activation::kGelu) config.activation = Activation::kGeluTanh;
  config.query_key_value_bias = has_bias(reader, architecture.query_key_value_bias, keys.attention_bias);
  config.attention_output_bias = has_bias(reader, architecture.attention_output_bias, keys.attention_bias);
  config.feed_forward_bias = has_bias(reader, architecture.feed_forward_bias, keys.feed_forward_bias);
  config.tied = reader.flag_or("tie_word_embeddings", architecture.tied);
  const std::vector<std::string> classes = reader.texts("architectures");
  config.base_model = std::all_of(classes.begin(), classes.end(), [&](const std::string& name) {
    return name == std::string(architecture.class_name) + "Model";
  });
  return config;
}

DecoderConfig read_decoder_config(const Folder& folder) {
  const std::string text = internal::read_config_text(folder);
  return parse_decoder_config(text, folder.label("config.json"));
}

bool names_decoder(std::string_view text, const std::string& source) {
  const Json json = internal::parse_json_object(text, source);
  return find_decoder_architecture(DecoderConfigReader(json, source).text_or("model_type", "")) != nullptr;
}

}  // namespace attnflow
