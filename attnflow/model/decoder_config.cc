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
#include "attnflow/model/decoder_stack.h"

namespace attnflow {

namespace {

using internal::quote_name;
using Json = nlohmann::json;
using DecoderConfigReader = internal::ConfigReader;

constexpr std::string_view kTextClassifier = "ForSequenceClassification";
constexpr double kLargestTheta = 1e12;
constexpr double kLargestFactor = 1e6;
constexpr double kDecoderPi = 3.14159265358979323846;

const DecoderArchitecture& read_decoder_architecture(const DecoderConfigReader& reader) {
  const std::string type = reader.text_or("model_type", "");
  const DecoderArchitecture* architecture = find_decoder_architecture(type);
  if (architecture != nullptr) return *architecture;
  const std::string expected = "expected a decoder: " + decoder_architecture_list();
  if (type.empty()) reader.damaged("model_type is missing; " + expected);
  reader.unsupported(fmt::format("model_type is {}; {}", quote_name(type), expected));
}

// Rejects switches in transformers' code that change these models' computation.
void refuse_decoder_variants(const DecoderConfigReader& reader, const DecoderArchitecture& architecture) {
  constexpr std::array kUsual = {FixedSetting{"add_cross_attention", "false"},
                                 FixedSetting{"scale_attn_weights", "true"},
                                 FixedSetting{"scale_attn_by_inverse_layer_idx", "false"},
                                 FixedSetting{"use_mrope", "false"},
                                 FixedSetting{"use_bias", "true"},
                                 FixedSetting{"enable_bias", "true"},
                                 FixedSetting{"do_layer_norm_before", "true"},
                                 FixedSetting{"layer_norm_elementwise_affine", "true"},
                                 FixedSetting{"_remove_final_layer_norm", "false"},
                                 FixedSetting{"apply_residual_connection_post_layernorm", "false"},
                                 FixedSetting{"qk_layernorm", "false"},
                                 FixedSetting{"use_qk_norm", "false"},
                                 FixedSetting{"use_parallel_residual", "false"},
                                 FixedSetting{"use_bidirectional_attention", "false"}};
  for (const FixedSetting& one : kUsual) {
    if (one.key != architecture.keys.parallel) reader.refuse_other_values({&one, 1});
  }
  reader.refuse_later_tokens();
  reader.refuse_what_none_runs();
  // LlamaForTokenClassification and the like have another head; GPT2LMHeadModel and LlamaModel have no "For".
  for (const std::string& name : reader.texts("architectures")) {
    const std::size_t task = name.find("For");
    if (task != std::string::npos && name.substr(task) != "ForCausalLM" && name.substr(task) != kTextClassifier) {
      reader.unsupported(
          fmt::format("architectures names {}; of this model type only language models (ForCausalLM) and text "
                      "classifiers ({}) are supported",
                      quote_name(name), kTextClassifier));
    }
  }
}

// A classifier's logits are one map of the last hidden state; the table's logit settings for language models do not
// apply.
void read_classifier(const DecoderConfigReader& reader, DecoderConfig& config) {
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

void refuse_rotary(const DecoderConfigReader& reader, const std::string& what) {
  reader.unsupported(what + "; supported are the rope types default, linear, llama3, yarn, longrope and dynamic");
}

// Reads longrope's factors: one for each pair of a head's numbers.
std::vector<double> read_factors_of_pairs(const DecoderConfigReader& rope, std::string_view key) {
  const Json* const found = rope.find(key);
  const bool numbers = found != nullptr && found->is_array() && !found->empty() &&
                       std::all_of(found->begin(), found->end(), [](const Json& one) {
                         return one.is_number() && one.get<double>() > 0.0 && one.get<double>() <= kLargestFactor;
                       });
  if (!numbers) rope.wrong(key, "a list of numbers above 0", found == nullptr ? Json() : *found);
  return found->get<std::vector<double>>();
}

// The parts of the configuration that determine a rotary embedding together with its own settings.
struct RotarySource {
  const DecoderConfigReader& reader;
  const DecoderArchitecture& architecture;

  std::size_t longest() const { return reader.size(architecture.keys.positions); }
  // The original training length. If it is given outside the rotary settings (Phi 3), it overrides them.
  std::size_t first_length(const DecoderConfigReader& rope) const {
    constexpr std::string_view kFirstLength = "original_max_position_embeddings";
    if (reader.find(kFirstLength) != nullptr) return reader.size(kFirstLength);
    if (architecture.first_length != 0) return architecture.first_length;
    return rope.find(kFirstLength) != nullptr ? rope.size(kFirstLength) : longest();
  }
};

void read_llama3(const RotarySource& source, const DecoderConfigReader& rope, RotaryConfig& rotary) {
  rotary.scaling = RotaryConfig::Scaling::kLlama3;
  rope.require("rope_type llama3", {"factor", "low_freq_factor", "high_freq_factor"});
  rotary.low = rope.number_or("low_freq_factor", 1.0, 0.0, kLargestFactor);
  rotary.high = rope.number_or("high_freq_factor", 1.0, 0.0, kLargestFactor);
  rotary.first_length = static_cast<double>(source.first_length(rope));
  if (!(rotary.low > 0.0 && rotary.low < rotary.high)) {
    rope.damaged(
        fmt::format("expected 0 < low_freq_factor < high_freq_factor, found {} and {}", rotary.low, rotary.high));
  }
}

void read_yarn(const RotarySource& source, const DecoderConfigReader& rope, std::size_t width, RotaryConfig& rotary) {
  rotary.scaling = RotaryConfig::Scaling::kYarn;
  const auto length = static_cast<double>(source.first_length(rope));
  if (rope.find("factor") == nullptr) {
    rotary.factor = std::max(1.0, static_cast<double>(source.longest()) / length);
  }
  const double fast = rope.number_or("beta_fast", 32.0, 0.0, kLargestFactor);
  const double slow = rope.number_or("beta_slow", 1.0, 0.0, kLargestFactor);
  // The pair that makes `turns` turns over the original training length.
  const auto pair = [&](double turns) {
    return static_cast<double>(width) * std::log(length / (turns * 2.0 * kDecoderPi)) / (2.0 * std::log(rotary.theta));
  };
  const bool whole = rope.flag_or("truncate", true);
  rotary.low = std::max(whole ? std::floor(pair(fast)) : pair(fast), 0.0);
  rotary.high = std::min(whole ? std::ceil(pair(slow)) : pair(slow), static_cast<double>(width) - 1.0);
  const auto scale = [&](double share) {
    return rotary.factor <= 1.0 ? 1.0 : 0.1 * share * std::log(rotary.factor) + 1;
  };
  const double share = rope.number_or("mscale", 0.0, 0.0, kLargestFactor);
  const double all = rope.number_or("mscale_all_dim", 0.0, 0.0, kLargestFactor);
  const double usual = share > 0.0 && all > 0.0 ? scale(share) / scale(all) : scale(1.0);
  rotary.amplitude = rope.number_or("attention_factor", usual, 0.0, kLargestFactor);
}

// Texts longer than the original training length have different factors, which change all of their angles: `length`
// becomes the largest number of tokens for which the short factors apply.
void read_longrope(const RotarySource& source, const DecoderConfigReader& rope, std::size_t width, RotaryConfig& rotary,
                   std::size_t& length) {
  rotary.scaling = RotaryConfig::Scaling::kEach;
  length = source.first_length(rope);
  if (rope.find("factor") == nullptr) {
    rotary.factor = static_cast<double>(source.longest()) / static_cast<double>(length);
  }
  rotary.factors = read_factors_of_pairs(rope, "short_factor");
  if (rotary.factors.size() != width / 2) {
    rope.wrong("short_factor", fmt::format("{} numbers", width / 2), rotary.factors.size());
  }
  const double usual =
      rotary.factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(rotary.factor) / std::log(static_cast<double>(length)));
  rotary.amplitude = rope.number_or("attention_factor", usual, 0.0, kLargestFactor);
}

// The values that follow from the settings of a rotary embedding.
struct Rotary {
  RotaryConfig config;
  std::size_t width = 0;   // numbers of a head that are rotated
  std::size_t length = 0;  // maximum tokens for which it is valid; 0: any number
};

class RotaryReader {
 public:
  RotaryReader(const DecoderConfigReader& reader, const DecoderArchitecture& architecture, std::size_t head_width)
      : reader_(reader), architecture_(architecture), head_width_(head_width) {
    if (architecture.keys.rotary_theta.empty()) return;
    // The settings are in "rope_scaling" (transformers 4, next to "rope_theta") or "rope_parameters" (transformers 5).
    const Json former = object_of(reader, "rope_scaling");
    const Json stated = object_of(reader, "rope_parameters");
    if (architecture.keys.local_rotary_theta.empty()) {
      global_ = former.empty() ? stated : former;
      return;
    }
    // Version 5 has one object for each kind of layer; the settings of version 4 apply to the global layers.
    const DecoderConfigReader kinds(stated, reader.source());
    global_ = object_of(kinds, "full_attention");
    global_.update(former);
    local_ = object_of(kinds, "sliding_attention");
  }

  // For layers that see everything.
  Rotary global() const { return read(global_, architecture_.keys.rotary_theta, architecture_.rotary_theta); }
  // For layers with a window.
  Rotary local() const {
    const std::string_view key = architecture_.keys.local_rotary_theta;
    return key.empty() ? global() : read(local_, key, architecture_.local_rotary_theta);
  }

 private:
  static Json object_of(const DecoderConfigReader& reader, std::string_view key) {
    const Json* const found = reader.find(key);
    if (found == nullptr) return Json::object();
    if (!found->is_object()) reader.wrong(key, "an object", *found);
    return *found;
  }

  double read_share(const DecoderConfigReader& from, std::string_view key, double fallback) const {
    const double share = from.number_or(key, fallback, 0.0, kLargestFactor);
    if (share != 1.0 && (!architecture_.partial_rotary || share > 1.0)) {
      refuse_rotary(reader_, "partial_rotary_factor is not 1");
    }
    return share;
  }

  std::size_t width(double share) const {
    const std::string_view key = architecture_.keys.rotary_width;
    const auto usual = static_cast<std::size_t>(static_cast<double>(head_width_) * share);
    const std::size_t width = key.empty() ? usual : reader_.size_or(key, architecture_.rotary_width);
    if (width == 0 || width % 2 != 0 || width > head_width_) {
      reader_.damaged(fmt::format("expected the rotary embedding to turn an even part of a head's {} numbers, found {}",
                                  head_width_, width));
    }
    return width;
  }

  Rotary read(const Json& settings, std::string_view theta_key, double usual_theta) const {
    Rotary rotary;
    rotary.config.theta = reader_.number_or(theta_key, usual_theta, 1.0, kLargestTheta);
    double share = read_share(reader_, architecture_.keys.rotary_share, architecture_.rotary_share);
    const DecoderConfigReader rope(settings, reader_.source());
    refuse_unknown(settings);
    share = read_share(rope, "partial_rotary_factor", share);
    rotary.width = width(share);
    rotary.config.theta = rope.number_or("rope_theta", rotary.config.theta, 1.0, kLargestTheta);
    read_scaling(rope, rotary);
    return rotary;
  }

  void refuse_unknown(const Json& settings) const {
    constexpr std::array<std::string_view, 16> kKnown = {"rope_type",
                                                         "type",
                                                         "rope_theta",
                                                         "factor",
                                                         "low_freq_factor",
                                                         "high_freq_factor",
                                                         "original_max_position_embeddings",
                                                         "partial_rotary_factor",
                                                         "beta_fast",
                                                         "beta_slow",
                                                         "truncate",
                                                         "mscale",
                                                         "mscale_all_dim",
                                                         "attention_factor",
                                                         "short_factor",
                                                         "long_factor"};
    for (const auto& [key, value] : settings.items()) {
      if (!value.is_null() && std::find(kKnown.begin(), kKnown.end(), key) == kKnown.end()) {
        refuse_rotary(reader_, fmt::format("the rotary embedding has a setting {}", quote_name(key)));
      }
    }
  }

  void read_scaling(const DecoderConfigReader& rope, Rotary& rotary) const {
    RotaryConfig& config = rotary.config;
    const RotarySource source = {reader_, architecture_};
    std::string type = rope.text_or("rope_type", rope.text_or("type", "default"));
    const bool factors = rope.find("short_factor") != nullptr;
    if (architecture_.model_type == "phi3" && (type == "su" || type == "yarn"))
      type = "longrope";  // names in its first versions
    if (type != "longrope" && factors) refuse_rotary(reader_, "short_factor of rope_type " + quote_name(type));
    config.factor = rope.number_or("factor", 1.0, 1.0, kLargestFactor);
    if (type == "linear") {
      rope.require("rope_type linear", {"factor"});
      config.scaling = RotaryConfig::Scaling::kLinear;
    } else if (type == "llama3") {
      read_llama3(source, rope, config);
    } else if (type == "yarn") {
      read_yarn(source, rope, rotary.width, config);
    } else if (type == "longrope") {
      read_longrope(source, rope, rotary.width, config, rotary.length);
    } else if (type == "dynamic") {
      // Changes angles only beyond max_position_embeddings, where sequences end.
      config.factor = 1.0;
    } else if (type != "default") {
      refuse_rotary(reader_, "rope_type is " + quote_name(type));
    }
  }

  const DecoderConfigReader& reader_;
  const DecoderArchitecture& architecture_;
  std::size_t head_width_;
  Json global_ = Json::object();
  Json local_ = Json::object();
};

// Reads which layers rotate queries and keys.
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

// Rejects windows in architectures without windowed layers.
void refuse_windows(const DecoderConfigReader& reader) {
  const std::vector<std::string> types = reader.texts("layer_types");
  const bool named = std::find(types.begin(), types.end(), "sliding_attention") != types.end();
  if (reader.find("sliding_window") == nullptr || (!named && !reader.flag_or("use_sliding_window", false))) return;
  reader.unsupported(
      "the model has layers with a sliding window, which is not supported for its model type; expected "
      "use_sliding_window false and no layer_types of \"sliding_attention\"");
}

// Reads which layers GPT-Neo calls local: one entry per layer in attention_layers, or patterns and repetition counts in
// attention_types.
std::vector<bool> read_local_layers(const DecoderConfigReader& reader, std::size_t layers) {
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

std::vector<bool> read_windowed_layers(const DecoderConfigReader& reader, const DecoderArchitecture& architecture,
                                       std::size_t layers) {
  if (architecture.window == WindowRule::kAll) return std::vector<bool>(layers, true);
  if (architecture.window == WindowRule::kNamed) return read_local_layers(reader, layers);
  std::vector<bool> windowed = reader.sliding_layers(layers);
  if (!windowed.empty()) return windowed;
  windowed.resize(layers, architecture.window == WindowRule::kAllOrNamed);
  if (architecture.window == WindowRule::kAllOrNamed) return windowed;
  if (architecture.window == WindowRule::kInterval) {
    const std::size_t interval = reader.size_or(architecture.keys.window_interval, architecture.window_interval);
    for (std::size_t layer = 0; layer < layers; ++layer) windowed[layer] = (layer + 1) % interval != 0;
    return windowed;
  }
  constexpr std::size_t kUsualFirst = 28;
  const Json* first = reader.find("max_window_layers");
  if (first != nullptr && !first->is_number_unsigned()) reader.wrong("max_window_layers", "a whole number", *first);
  const std::size_t begin = first == nullptr ? kUsualFirst : first->get<std::size_t>();
  for (std::size_t layer = begin; layer < layers; ++layer) windowed[layer] = true;
  return windowed;
}

std::vector<std::size_t> read_windows(const DecoderConfigReader& reader, const DecoderArchitecture& architecture,
                                      std::size_t layers) {
  std::vector<std::size_t> windows(layers, 0);
  const bool switched = architecture.window == WindowRule::kSwitched;
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

std::size_t read_key_value_heads(const DecoderConfigReader& reader, const DecoderKeys& keys, std::size_t heads) {
  if (!keys.multi_query.empty() && !reader.flag_or(keys.grouped, false)) {
    return reader.flag_or(keys.multi_query, true) ? 1 : heads;
  }
  return reader.size_or(keys.key_value_heads, heads);
}

void read_heads(const DecoderConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  const DecoderKeys& keys = architecture.keys;
  config.heads = reader.size(keys.heads);
  config.key_value_heads = read_key_value_heads(reader, keys, config.heads);
  if (config.heads % config.key_value_heads != 0) {
    reader.damaged(fmt::format("expected {} to be a multiple of {}, found {} and {}", keys.heads, keys.key_value_heads,
                               config.heads, config.key_value_heads));
  }
  if (reader.find(keys.head_width) != nullptr) {
    config.head_width = reader.size(keys.head_width);
  } else if (config.hidden % config.heads == 0) {
    config.head_width = config.hidden / config.heads;
  } else {
    reader.damaged(fmt::format("expected {} to be a multiple of {}, found {} and {}", keys.hidden, keys.heads,
                               config.hidden, config.heads));
  }
}

void read_positions(const DecoderConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  config.position_kind = reader.flag_or(architecture.keys.alibi, false) ? PositionKind::kAlibi : architecture.positions;
  config.positions = architecture.position_limit == 0
                         ? reader.size(architecture.keys.positions)
                         : reader.size_or(architecture.keys.positions, architecture.position_limit);
  config.position_offset = architecture.position_offset;
  const std::string_view padding = architecture.keys.padding_id;
  if (const Json* const id = reader.find(padding)) {
    config.position_offset = reader.token_id(padding, *id, config.vocabulary) + 1;
  }
  config.rotary_layers = read_rotary_layers(reader, architecture.keys, config.layers);
  if (architecture.rotary_in_windows) {
    std::transform(config.windows.begin(), config.windows.end(), config.rotary_layers.begin(),
                   [](std::size_t window) { return window != 0; });
  }
  if (config.position_kind != PositionKind::kRotary) return;
  const RotaryReader rotary(reader, architecture, config.head_width);
  const Rotary global = rotary.global();
  config.rotary = global.config;
  config.rotary_width = global.width;
  config.local_rotary = rotary.local().config;
  if (global.length != 0) config.positions = std::min(config.positions, global.length);
}

void read_factors(const DecoderConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
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
  if (divided) {
    config.logit_factor /= std::sqrt(static_cast<double>(config.hidden));
  }
}

// "gelu", or "gated-gelu" for a gated network; either part may also be set separately.
void read_gated_activation(const DecoderConfigReader& reader, const DecoderArchitecture& architecture,
                           DecoderConfig& config) {
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
    reader.unsupported(
        fmt::format("{} is {}; supported are {}{}", inner ? keys.inner_activation : keys.gated_activation,
                    quote_name(inner ? name : stated), activation_list(), inner ? "" : ", and gated-... of these"));
  }
  config.activation = *activation;
}

void read_activation(const DecoderConfigReader& reader, const DecoderArchitecture& architecture,
                     DecoderConfig& config) {
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

void read_parallel(const DecoderConfigReader& reader, const DecoderArchitecture& architecture, DecoderConfig& config) {
  const DecoderKeys& keys = architecture.keys;
  const bool grouped = reader.flag_or(keys.grouped, false);
  constexpr std::size_t kNorms = 2;
  config.parallel = grouped || reader.flag_or(keys.parallel, architecture.parallel);
  config.shared_norm = config.parallel &&
                       (grouped ? reader.size_or(keys.parallel_norms, kNorms, kNorms) == 1 : architecture.shared_norm);
}

void read_buckets(const DecoderConfigReader& reader, const DecoderKeys& keys, DecoderConfig& config) {
  DistanceBuckets& buckets = config.buckets;
  buckets.count = reader.size_or(keys.buckets, buckets.count);
  buckets.farthest = reader.size_or(keys.farthest_bucket, buckets.farthest);
  constexpr std::size_t kFewest = 4;
  if (buckets.count < kFewest || buckets.count % kFewest != 0 || buckets.farthest <= buckets.count / 2) {
    reader.damaged(fmt::format("expected {} to be a multiple of {} below twice {}, found {} and {}", keys.buckets,
                               kFewest, keys.farthest_bucket, buckets.count, buckets.farthest));
  }
}

bool has_bias(const DecoderConfigReader& reader, BiasRule rule, std::string_view key) {
  if (rule == BiasRule::kAlways || rule == BiasRule::kNever) return rule == BiasRule::kAlways;
  return reader.flag_or(key, rule == BiasRule::kSettingOrTrue);
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
    } else if (scaling == Scaling::kYarn) {
      const double ramp = std::clamp((static_cast<double>(i) - low) / std::max(high - low, 1e-3), 0.0, 1.0);
      scaled = ramp * plain / factor + (1.0 - ramp) * plain;
    } else if (scaling == Scaling::kEach) {
      scaled = plain / factors.at(i);
    }
    result.push_back(static_cast<float>(scaled));
  }
  return result;
}

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
  const DecoderConfigReader reader(json, source);
  const DecoderArchitecture& architecture = read_decoder_architecture(reader);
  internal::resolve_aliases(architecture.aliases, json);
  refuse_decoder_variants(reader, architecture);
  reader.refuse_own_code(architecture.model_type, architecture.class_name);
  DecoderConfig config = internal::read_stack(reader, architecture);
  const std::vector<std::string> classes = reader.texts("architectures");
  config.base_model = std::all_of(classes.begin(), classes.end(), [&](const std::string& name) {
    return name == std::string(architecture.class_name) + "Model";
  });
  const bool classifies = std::any_of(classes.begin(), classes.end(),
                                      [](const std::string& name) { return name.ends_with(kTextClassifier); });
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
