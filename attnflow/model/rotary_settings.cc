#include "attnflow/model/rotary_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "attnflow/files/messages.h"

namespace attnflow {
namespace internal {
namespace {

using Json = nlohmann::json;

constexpr double kLargestTheta = 1e12;
constexpr double kLargestRotaryFactor = 1e6;
constexpr double kRotaryPi = 3.14159265358979323846;

void refuse_rotary(const ConfigReader& reader, const std::string& what) {
  reader.unsupported(what + "; supported are the rope types default, linear, llama3, yarn, longrope and dynamic");
}

// Reads longrope's factors: one for each pair of a head's numbers.
std::vector<double> read_factors_of_pairs(const ConfigReader& rope, std::string_view key) {
  const Json* const found = rope.find(key);
  const bool numbers = found != nullptr && found->is_array() && !found->empty() &&
                       std::all_of(found->begin(), found->end(), [](const Json& one) {
                         return one.is_number() && one.get<double>() > 0.0 && one.get<double>() <= kLargestRotaryFactor;
                       });
  if (!numbers) rope.wrong(key, "a list of numbers above 0", found == nullptr ? Json() : *found);
  return found->get<std::vector<double>>();
}

// The parts of the configuration that determine a rotary embedding together with its own settings.
struct RotarySource {
  const ConfigReader& reader;
  const DecoderArchitecture& architecture;

  std::size_t longest() const { return reader.size(architecture.keys.positions); }
  // The original training length. If it is given outside the rotary settings (Phi 3), it overrides them.
  std::size_t first_length(const ConfigReader& rope) const {
    constexpr std::string_view kFirstLength = "original_max_position_embeddings";
    if (reader.find(kFirstLength) != nullptr) return reader.size(kFirstLength);
    if (architecture.first_length != 0) return architecture.first_length;
    return rope.find(kFirstLength) != nullptr ? rope.size(kFirstLength) : longest();
  }
};

void read_llama3(const RotarySource& source, const ConfigReader& rope, RotaryConfig& rotary) {
  rotary.scaling = RotaryConfig::Scaling::kLlama3;
  rope.require("rope_type llama3", {"factor", "low_freq_factor", "high_freq_factor"});
  rotary.low = rope.number_or("low_freq_factor", 1.0, 0.0, kLargestRotaryFactor);
  rotary.high = rope.number_or("high_freq_factor", 1.0, 0.0, kLargestRotaryFactor);
  rotary.first_length = static_cast<double>(source.first_length(rope));
  if (!(rotary.low > 0.0 && rotary.low < rotary.high)) {
    rope.damaged(
        fmt::format("expected 0 < low_freq_factor < high_freq_factor, found {} and {}", rotary.low, rotary.high));
  }
}

void read_yarn(const RotarySource& source, const ConfigReader& rope, std::size_t width, RotaryConfig& rotary) {
  rotary.scaling = RotaryConfig::Scaling::kYarn;
  const auto length = static_cast<double>(source.first_length(rope));
  if (rope.find("factor") == nullptr) {
    rotary.factor = std::max(1.0, static_cast<double>(source.longest()) / length);
  }
  const double fast = rope.number_or("beta_fast", 32.0, 0.0, kLargestRotaryFactor);
  const double slow = rope.number_or("beta_slow", 1.0, 0.0, kLargestRotaryFactor);
  // The pair that makes `turns` turns over the original training length.
  const auto pair = [&](double turns) {
    return static_cast<double>(width) * std::log(length / (turns * 2.0 * kRotaryPi)) / (2.0 * std::log(rotary.theta));
  };
  const bool whole = rope.flag_or("truncate", true);
  rotary.low = std::max(whole ? std::floor(pair(fast)) : pair(fast), 0.0);
  rotary.high = std::min(whole ? std::ceil(pair(slow)) : pair(slow), static_cast<double>(width) - 1.0);
  const auto scale = [&](double share) {
    return rotary.factor <= 1.0 ? 1.0 : 0.1 * share * std::log(rotary.factor) + 1;
  };
  const double share = rope.number_or("mscale", 0.0, 0.0, kLargestRotaryFactor);
  const double all = rope.number_or("mscale_all_dim", 0.0, 0.0, kLargestRotaryFactor);
  const double usual = share > 0.0 && all > 0.0 ? scale(share) / scale(all) : scale(1.0);
  rotary.amplitude = rope.number_or("attention_factor", usual, 0.0, kLargestRotaryFactor);
}

// Texts longer than the original training length have different factors, which change all of their angles: `length`
// becomes the largest number of tokens for which the short factors apply.
void read_longrope(const RotarySource& source, const ConfigReader& rope, std::size_t width, RotaryConfig& rotary,
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
  rotary.amplitude = rope.number_or("attention_factor", usual, 0.0, kLargestRotaryFactor);
}

// The values that follow from the settings of a rotary embedding.
struct Rotary {
  RotaryConfig config;
  std::size_t width = 0;   // numbers of a head that are rotated
  std::size_t length = 0;  // maximum tokens for which it is valid; 0: any number
};

class RotaryReader {
 public:
  RotaryReader(const ConfigReader& reader, const DecoderArchitecture& architecture, std::size_t head_width)
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
    const ConfigReader kinds(stated, reader.source());
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
  static Json object_of(const ConfigReader& reader, std::string_view key) {
    const Json* const found = reader.find(key);
    if (found == nullptr) return Json::object();
    if (!found->is_object()) reader.wrong(key, "an object", *found);
    return *found;
  }

  double read_share(const ConfigReader& from, std::string_view key, double fallback) const {
    const double share = from.number_or(key, fallback, 0.0, kLargestRotaryFactor);
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
    const ConfigReader rope(settings, reader_.source());
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

  void read_scaling(const ConfigReader& rope, Rotary& rotary) const {
    RotaryConfig& config = rotary.config;
    const RotarySource source = {reader_, architecture_};
    std::string type = rope.text_or("rope_type", rope.text_or("type", "default"));
    const bool factors = rope.find("short_factor") != nullptr;
    if (architecture_.model_type == "phi3" && (type == "su" || type == "yarn"))
      type = "longrope";  // names in its first versions
    if (type != "longrope" && factors) refuse_rotary(reader_, "short_factor of rope_type " + quote_name(type));
    config.factor = rope.number_or("factor", 1.0, 1.0, kLargestRotaryFactor);
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

  const ConfigReader& reader_;
  const DecoderArchitecture& architecture_;
  std::size_t head_width_;
  Json global_ = Json::object();
  Json local_ = Json::object();
};

}  // namespace

RotarySettings read_rotary(const ConfigReader& reader, const DecoderArchitecture& architecture,
                           std::size_t head_width) {
  const RotaryReader rotary(reader, architecture, head_width);
  const Rotary global = rotary.global();
  return {.global = global.config, .local = rotary.local().config, .width = global.width, .length = global.length};
}

// Reads which layers rotate queries and keys.
std::vector<bool> read_rotary_layers(const ConfigReader& reader, const DecoderKeys& keys, std::size_t layers) {
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

}  // namespace internal

std::vector<float> RotaryConfig::frequencies(std::size_t width) const {
  std::vector<float> result;
  for (std::size_t i = 0; i < width / 2; ++i) {
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(width);
    const double plain = static_cast<float>(1.0 / std::pow(theta, exponent));
    double scaled = plain;
    if (scaling == Scaling::kLinear) {
      scaled = plain / factor;
    } else if (scaling == Scaling::kLlama3) {
      const double length = 2.0 * internal::kRotaryPi / plain;
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

}  // namespace attnflow
