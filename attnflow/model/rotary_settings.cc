#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <string>
#include <string_view>

#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/family_rows.h"
#include "attnflow/model/position_settings.h"

namespace attnflow::internal {
namespace {

using Json = nlohmann::json;

constexpr double kLargestTheta = 1e12;
constexpr double kLargestRotaryFactor = 1e6;

double read_theta(const ConfigReader& reader, std::string_view key, double fallback) {
  return reader.number_or(key, fallback, 1.0, kLargestTheta);
}

class RotaryReader {
 public:
  RotaryReader(const ConfigReader& reader, const ModelConfig& config)
      : reader_(reader), architecture_(*config.architecture), head_width_(config.head_width) {}

  void read(ModelConfig& config) {
    Json global = Json::object();
    Json local = Json::object();
    const std::string_view theta = architecture_.keys.rotary_theta;
    const std::string_view local_theta = architecture_.keys.local_rotary_theta;
    if (!theta.empty()) {
      // transformers 4 has them in "rope_scaling", next to "rope_theta"; transformers 5 in "rope_parameters".
      const Json former = object_of(reader_, "rope_scaling");
      const Json stated = object_of(reader_, "rope_parameters");
      global = former.empty() ? stated : former;
      if (!local_theta.empty()) {
        // Version 5 has one object for each kind of layer; the settings of version 4 apply to the global layers.
        const ConfigReader kinds(stated, reader_.source());
        global = object_of(kinds, "full_attention");
        global.update(former);
        local = object_of(kinds, "sliding_attention");
      }
    }
    if (architecture_.stated_rotary && global.empty()) {
      reader_.damaged("expected rotary settings under rope_parameters or rope_scaling, found none");
    }
    config.rotary = read_one(global, theta, architecture_.rotary_theta);
    config.rotary_width = width_;
    if (length_ != 0) config.positions = std::min(config.positions, length_);
    config.local_rotary =
        local_theta.empty() ? config.rotary : read_one(local, local_theta, architecture_.local_rotary_theta);
  }

 private:
  static Json object_of(const ConfigReader& reader, std::string_view key) {
    const Json* const found = reader.find(key);
    if (found == nullptr) return Json::object();
    if (!found->is_object()) reader.wrong(key, "an object", *found);
    return *found;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    reader_.unsupported("{}; supported are the rope types default, linear, llama3, yarn, longrope and dynamic", what);
  }

  double read_share(const ConfigReader& from, std::string_view key, double fallback) const {
    const double share = from.number_or(key, fallback, 0.0, kLargestRotaryFactor);
    if (share != 1.0 && (!architecture_.partial_rotary || share > 1.0)) refuse("partial_rotary_factor is not 1");
    return share;
  }

  std::size_t width(double share) const {
    const std::string_view key = architecture_.keys.rotary_width;
    const auto usual = static_cast<std::size_t>(static_cast<double>(head_width_) * share);
    const std::size_t width = key.empty() ? usual : reader_.size_or(key, architecture_.rotary_width);
    if (width == 0 || width % 2 != 0 || width > head_width_) {
      reader_.damaged("expected the rotary embedding to turn an even part of a head's {} numbers, found {}",
                      head_width_, width);
    }
    return width;
  }

  std::size_t longest() const { return reader_.size(architecture_.keys.positions); }

  // The original training length. Given outside the rotary settings (Phi 3), it overrides them.
  std::size_t first_length(const ConfigReader& rope) const {
    constexpr std::string_view kFirstLength = "original_max_position_embeddings";
    if (reader_.find(kFirstLength) != nullptr) return reader_.size(kFirstLength);
    if (architecture_.first_length != 0) return architecture_.first_length;
    return rope.find(kFirstLength) != nullptr ? rope.size(kFirstLength) : longest();
  }

  RotaryConfig read_one(const Json& settings, std::string_view theta_key, double usual_theta) {
    RotaryConfig config;
    config.theta = read_theta(reader_, theta_key, usual_theta);
    const double share = read_share(reader_, architecture_.keys.rotary_share, architecture_.rotary_share);
    const ConfigReader rope(settings, reader_.source());
    refuse_unknown(settings);
    width_ = width(read_share(rope, "partial_rotary_factor", share));
    config.theta = read_theta(rope, "rope_theta", config.theta);
    read_scaling(rope, config);
    return config;
  }

  void refuse_unknown(const Json& settings) const {
    for (const auto& [key, value] : settings.items()) {
      const bool known =
          is_one_of(key, "rope_type", "type", "rope_theta", "factor", "low_freq_factor", "high_freq_factor",
                    "original_max_position_embeddings", "partial_rotary_factor", "beta_fast", "beta_slow", "truncate",
                    "mscale", "mscale_all_dim", "attention_factor", "short_factor", "long_factor");
      if (!value.is_null() && !known) refuse(fmt::format("the rotary embedding has a setting {}", quote_name(key)));
    }
  }

  void read_scaling(const ConfigReader& rope, RotaryConfig& config) {
    std::string type = rope.text_or("rope_type", rope.text_or("type", "default"));
    const bool factors = rope.find("short_factor") != nullptr;
    if (architecture_.model_type == "phi3" && (type == "su" || type == "yarn")) {
      type = "longrope";  // names in its first versions
    }
    if (type != "longrope" && factors) refuse("short_factor of rope_type " + quote_name(type));
    config.factor = rope.number_or("factor", 1.0, 1.0, kLargestRotaryFactor);
    if (type == "linear") {
      rope.require("rope_type linear", {"factor"});
      config.scaling = RotaryConfig::Scaling::kLinear;
    } else if (type == "llama3") {
      read_llama3(rope, config);
    } else if (type == "yarn") {
      read_yarn(rope, config);
    } else if (type == "longrope") {
      read_longrope(rope, config);
    } else if (type == "dynamic") {
      // Changes angles only beyond max_position_embeddings, where sequences end.
      config.factor = 1.0;
    } else if (type != "default") {
      refuse("rope_type is " + quote_name(type));
    }
  }

  void read_llama3(const ConfigReader& rope, RotaryConfig& config) const {
    config.scaling = RotaryConfig::Scaling::kLlama3;
    rope.require("rope_type llama3", {"factor", "low_freq_factor", "high_freq_factor"});
    config.low = rope.number_or("low_freq_factor", 1.0, 0.0, kLargestRotaryFactor);
    config.high = rope.number_or("high_freq_factor", 1.0, 0.0, kLargestRotaryFactor);
    config.first_length = static_cast<double>(first_length(rope));
    if (!(config.low > 0.0 && config.low < config.high)) {
      rope.damaged("expected 0 < low_freq_factor < high_freq_factor, found {} and {}", config.low, config.high);
    }
  }

  void read_yarn(const ConfigReader& rope, RotaryConfig& config) const {
    config.scaling = RotaryConfig::Scaling::kYarn;
    const auto length = static_cast<double>(first_length(rope));
    const auto width = static_cast<double>(width_);
    if (rope.find("factor") == nullptr) config.factor = std::max(1.0, static_cast<double>(longest()) / length);
    // The pair that makes as many turns over the original training length as a setting says.
    const auto pair = [&](std::string_view key, double usual) {
      const double turns = rope.number_or(key, usual, 0.0, kLargestRotaryFactor);
      return width * std::log(length / (turns * 2.0 * std::numbers::pi)) / (2.0 * std::log(config.theta));
    };
    const double fast = pair("beta_fast", 32.0);
    const double slow = pair("beta_slow", 1.0);
    const bool whole = rope.flag_or("truncate", true);
    config.low = std::max(whole ? std::floor(fast) : fast, 0.0);
    config.high = std::min(whole ? std::ceil(slow) : slow, width - 1.0);
    const auto scale = [&](double share) {
      return config.factor <= 1.0 ? 1.0 : 0.1 * share * std::log(config.factor) + 1;
    };
    const double share = rope.number_or("mscale", 0.0, 0.0, kLargestRotaryFactor);
    const double all = rope.number_or("mscale_all_dim", 0.0, 0.0, kLargestRotaryFactor);
    const double usual = share > 0.0 && all > 0.0 ? scale(share) / scale(all) : scale(1.0);
    config.amplitude = rope.number_or("attention_factor", usual, 0.0, kLargestRotaryFactor);
  }

  // Texts beyond the original training length have other factors, which change all of their angles: length_ becomes the
  // largest number of tokens for which the short factors apply.
  void read_longrope(const ConfigReader& rope, RotaryConfig& config) {
    constexpr std::string_view kFactors = "short_factor";  // one for each pair of a head's numbers
    config.scaling = RotaryConfig::Scaling::kEach;
    length_ = first_length(rope);
    const auto length = static_cast<double>(length_);
    if (rope.find("factor") == nullptr) config.factor = static_cast<double>(longest()) / length;
    const Json* const found = rope.find(kFactors);
    const bool numbers =
        found != nullptr && found->is_array() && !found->empty() &&
        std::all_of(found->begin(), found->end(), [](const Json& one) {
          return one.is_number() && one.get<double>() > 0.0 && one.get<double>() <= kLargestRotaryFactor;
        });
    if (!numbers) rope.wrong(kFactors, "a list of numbers above 0", found == nullptr ? Json() : *found);
    config.factors = found->get<std::vector<double>>();
    if (config.factors.size() != width_ / 2) {
      rope.wrong(kFactors, fmt::format("{} numbers", width_ / 2), config.factors.size());
    }
    const double usual = config.factor <= 1.0 ? 1.0 : std::sqrt(1.0 + std::log(config.factor) / std::log(length));
    config.amplitude = rope.number_or("attention_factor", usual, 0.0, kLargestRotaryFactor);
  }

  const ConfigReader& reader_;
  const Architecture& architecture_;
  std::size_t head_width_;
  std::size_t width_ = 0;   // of the embedding that was read last
  std::size_t length_ = 0;  // likewise
};

double read_theta_of_type(const ConfigReader& reader, const std::string& type, double fallback) {
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
                       quote_name(key), show_json(value));
  }
  return read_theta(ConfigReader(*found, reader.source()), "rope_theta", fallback);
}

void read_encoder_rotary(const ConfigReader& reader, ModelConfig& config) {
  if (const Json* const scaling = reader.find("rope_scaling"); scaling != nullptr && !scaling->empty()) {
    reader.unsupported("rope_scaling is {}; supported is null", show_json(*scaling));
  }
  const std::size_t step = config.image ? 4 : 2;  // rows and columns use half of the angles each
  if (config.head_width % step != 0) {
    reader.damaged("expected a head size that is a multiple of {} for the rotary embedding, found {}", step,
                   config.head_width);
  }
  const Architecture& row = *config.architecture;
  config.rotary_width = config.image ? config.head_width / 2 : config.head_width;
  config.rotary.theta = read_theta(reader, row.keys.rotary_theta, row.rotary_theta);
  if (config.image) return;
  // null differs from absent here: it means that both are the same.
  const std::string_view local = row.keys.local_rotary_theta;
  config.local_rotary.theta =
      reader.says_null(local) ? config.rotary.theta : read_theta(reader, local, row.local_rotary_theta);
  config.rotary.theta = read_theta_of_type(reader, "full_attention", config.rotary.theta);
  config.local_rotary.theta = read_theta_of_type(reader, "sliding_attention", config.local_rotary.theta);
}

}  // namespace

void read_rotary(const ConfigReader& reader, ModelConfig& config) {
  if (config.architecture->is_encoder()) return read_encoder_rotary(reader, config);
  RotaryReader(reader, config).read(config);
}

}  // namespace attnflow::internal

namespace attnflow {

std::vector<float> RotaryConfig::frequencies(std::size_t width) const {
  std::vector<float> result;
  for (std::size_t i = 0; i < width / 2; ++i) {
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(width);
    const double plain = static_cast<float>(1.0 / std::pow(theta, exponent));
    double scaled = plain;
    if (scaling == Scaling::kLinear) {
      scaled = plain / factor;
    } else if (scaling == Scaling::kLlama3) {
      const double length = 2.0 * std::numbers::pi / plain;
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
