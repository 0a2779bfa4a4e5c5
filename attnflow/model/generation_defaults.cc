// Reads a model's generation settings.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "attnflow/files/json_text.h"
#include "attnflow/files/messages.h"
#include "attnflow/model/config_reader.h"
#include "attnflow/model/generation_rules.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

using Json = nlohmann::json;
using internal::ConfigReader;
using When = GenerationRules::Left::When;

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 20;
constexpr std::size_t kLongestValue = 40;  // characters in a message
constexpr double kLargest = 1e30;

std::string setting_text(std::string_view key, const Json& value) {
  std::string text;
  if (value.is_number_float()) {
    text = fmt::format("{:g}", value.get<double>());
  } else if (value.is_structured()) {
    text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  } else {
    text = value.is_string() ? internal::quote_name(value.get<std::string>()) : value.dump();
  }
  return fmt::format("{} {}", key, shorten(clean_line(text), kLongestValue, "..."));
}

class RulesReader {
 public:
  RulesReader(const ConfigReader& reader, std::size_t vocabulary, GenerationRules& rules)
      : reader_(reader), vocabulary_(vocabulary), rules_(rules) {}

  std::size_t count(std::string_view key) {
    const std::size_t found = reader_.count_or(key, 0);
    if (found > 0) follow(key);
    return found;
  }

  double penalty(std::string_view key) {
    const double found = reader_.number_or(key, 1.0, 1e-6, kLargest);
    if (found != 1.0) follow(key);
    return found;
  }

  // Ids may be beyond the vocabulary, as for Whisper's relatives: those have no logits to rule out.
  GenerationRules::Ids list(std::string_view key) {
    GenerationRules::Ids ids;
    const Json* const value = reader_.find(key);
    if (value == nullptr) return ids;
    if (!value->is_array()) reader_.wrong(key, "a list of ids", *value);
    for (const Json& id : *value) {
      if (!id.is_number_integer()) reader_.wrong(key, "a list of ids", id);
      ids.push_back(id.get<std::int64_t>());
    }
    if (!ids.empty()) follow(key);
    return ids;
  }

  GenerationRules::Ids sequence(std::string_view key, const Json& value) const {
    if (!value.is_array() || value.empty()) reader_.wrong(key, "lists of ids", value);
    GenerationRules::Ids ids;
    for (const Json& id : value) ids.push_back(static_cast<std::int64_t>(reader_.token_id(key, id, vocabulary_)));
    return ids;
  }

  std::vector<GenerationRules::Ids> words(std::string_view key) {
    std::vector<GenerationRules::Ids> found;
    const Json* const value = reader_.find(key);
    if (value == nullptr) return found;
    if (!value->is_array()) reader_.wrong(key, "a list of lists of ids", *value);
    for (const Json& word : *value) found.push_back(sequence(key, word));
    if (!found.empty()) follow(key);
    return found;
  }

  // If a sequence is listed twice, its last bias counts, as in transformers.
  std::vector<std::pair<GenerationRules::Ids, float>> biases(std::string_view key) {
    std::map<GenerationRules::Ids, float> found;
    const Json* const value = reader_.find(key);
    if (value == nullptr) return {};
    const std::string shape = fmt::format("a list of pairs, of a list of ids and a number from -{0} to {0}", kLargest);
    if (!value->is_array()) reader_.wrong(key, shape, *value);
    for (const Json& pair : *value) {
      const bool fits =
          pair.is_array() && pair.size() == 2 && pair[1].is_number() && std::abs(pair[1].get<double>()) <= kLargest;
      if (!fits) reader_.wrong(key, shape, pair);
      found[sequence(key, pair[0])] = pair[1].get<float>();
    }
    if (!found.empty()) follow(key);
    return {found.begin(), found.end()};
  }

  std::optional<std::int64_t> token(std::string_view key) {
    const Json* const value = reader_.find(key);
    if (value == nullptr) return std::nullopt;
    follow(key);
    return static_cast<std::int64_t>(reader_.token_id(key, *value, vocabulary_));
  }

  std::optional<std::pair<std::size_t, double>> decay(std::string_view key) {
    const Json* const value = reader_.find(key);
    if (value == nullptr) return std::nullopt;
    if (!value->is_array() || value->size() != 2 || !(*value)[0].is_number_unsigned() || !(*value)[1].is_number()) {
      reader_.wrong(key, "a number of tokens and a factor", *value);
    }
    follow(key);
    return std::pair{(*value)[0].get<std::size_t>(), (*value)[1].get<double>()};
  }

 private:
  void follow(std::string_view key) { rules_.followed.push_back(setting_text(key, *reader_.find(key))); }

  const ConfigReader& reader_;
  std::size_t vocabulary_;
  GenerationRules& rules_;
};

// A key that is not applied. A number, or a flag as 0 or 1, that equals `neutral` counts as absent.
struct LeftKey {
  std::string_view name;
  double neutral = std::numeric_limits<double>::quiet_NaN();
};

// These change a greedy text.
constexpr std::array kChangeAll = {
    LeftKey{"num_beams", 1},     LeftKey{"penalty_alpha", 0},    LeftKey{"dola_layers"},  LeftKey{"guidance_scale", 1},
    LeftKey{"constraints"},      LeftKey{"force_words_ids"},     LeftKey{"stop_strings"}, LeftKey{"max_time"},
    LeftKey{"token_healing", 0}, LeftKey{"watermarking_config"},
};
constexpr std::array kOfBeams = {
    LeftKey{"num_beam_groups", 1},
    LeftKey{"diversity_penalty", 0},
    LeftKey{"length_penalty", 1},
    LeftKey{"early_stopping", 0},
};
// The first two are also options of attnflow itself.
constexpr std::array kOfSampling = {
    LeftKey{"temperature", 1}, LeftKey{"top_p", 1},     LeftKey{"top_k", 0},          LeftKey{"min_p", 0},
    LeftKey{"top_h"},          LeftKey{"typical_p", 1}, LeftKey{"epsilon_cutoff", 0}, LeftKey{"eta_cutoff", 0},
};
constexpr std::string_view kGgufTemperature = "general.sampling.temp";
constexpr std::array kOfGguf = {
    LeftKey{kGgufTemperature, 0},
    LeftKey{"general.sampling.top_p", 1},
    LeftKey{"general.sampling.top_k", 0},
    LeftKey{"general.sampling.min_p", 0},
    LeftKey{"general.sampling.xtc_probability", 0},
    LeftKey{"general.sampling.penalty_repeat", 1},
    LeftKey{"general.sampling.mirostat", 0},
};

const Json* said(const ConfigReader& reader, const LeftKey& key) {
  const Json* const value = reader.find(key.name);
  if (value == nullptr || (value->is_structured() && value->empty())) return nullptr;
  if (value->is_number() && value->get<double>() == key.neutral) return nullptr;
  if (value->is_boolean() && (value->get<bool>() ? 1.0 : 0.0) == key.neutral) return nullptr;
  return value;
}

template <typename Keys>
void leave(const ConfigReader& reader, const Keys& keys, GenerationRules& rules, std::size_t options = 0) {
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const Json* const value = said(reader, keys[k]);
    if (value == nullptr) continue;
    rules.not_followed.push_back(
        {.text = setting_text(keys[k].name, *value), .when = k < options ? When::kGreedy : When::kAlways});
  }
}

void read_left(const ConfigReader& reader, GenerationRules& rules) {
  leave(reader, kChangeAll, rules);
  if (said(reader, kChangeAll[0]) != nullptr) leave(reader, kOfBeams, rules);
  const Json* const draws = reader.find("do_sample");
  if (draws != nullptr && draws->is_boolean() && draws->get<bool>()) {
    rules.not_followed.push_back({.text = setting_text("do_sample", *draws), .when = When::kGreedy});
    leave(reader, kOfSampling, rules, 2);
  }
  leave(reader, kOfGguf, rules, 2);
  if (const Json* const end = reader.find("forced_eos_token_id")) {
    rules.not_followed.push_back({.text = setting_text("forced_eos_token_id", *end), .when = When::kEnds});
  }
  // transformers ignores max_length if max_new_tokens is present.
  const bool counts_new = reader.find("max_new_tokens") != nullptr;
  const char* const limit = counts_new ? "max_new_tokens" : "max_length";
  // The limit is only reported, so an invalid value is no reason to reject the model.
  const Json* const most = reader.find(limit);
  if (most != nullptr && most->is_number_unsigned() && most->get<std::uint64_t>() > 0) {
    rules.not_followed.push_back({.text = setting_text(limit, *most),
                                  .when = When::kBeyond,
                                  .most = most->get<std::size_t>(),
                                  .with_prompt = !counts_new});
  }
}

// Older folders keep these settings in config.json, some of them in the decoder's part.
Json with_parts(Json config) {
  for (const char* part : {"decoder", "generator", "text_config"}) {
    const auto found = config.find(part);
    if (found == config.end() || !found->is_object()) continue;
    const Json inner = *found;
    for (const auto& [key, value] : inner.items()) {
      if (!config.contains(key) || config[key].is_null()) config[key] = value;
    }
    break;
  }
  return config;
}

}  // namespace

GenerationDefaults read_generation_defaults(const Folder& folder) {
  constexpr const char* kOwn = "generation_config.json";
  if (folder.has(kOwn)) return {.text = folder.read(kOwn, kMaxFileBytes), .file = kOwn};
  return {.text = internal::read_config_text(folder), .file = "config.json"};
}

GenerationRules read_generation_rules(const GenerationDefaults& defaults, std::size_t vocabulary, bool has_target) {
  GenerationRules rules;
  rules.file = defaults.file;
  if (defaults.text.empty()) return rules;
  const Json json = with_parts(internal::parse_json_object(defaults.text, defaults.file));
  const ConfigReader reader(json, defaults.file);
  RulesReader keys(reader, vocabulary, rules);
  rules.sequence_bias = keys.biases("sequence_bias");
  rules.encoder_repetition_penalty = keys.penalty("encoder_repetition_penalty");
  rules.repetition_penalty = keys.penalty("repetition_penalty");
  rules.no_repeat_ngram_size = keys.count("no_repeat_ngram_size");
  rules.encoder_no_repeat_ngram_size = keys.count("encoder_no_repeat_ngram_size");
  rules.bad_words = keys.words("bad_words_ids");
  rules.min_length = keys.count("min_length");
  rules.min_new_tokens = keys.count("min_new_tokens");
  if (rules.min_new_tokens > 0) rules.min_length = 0;  // as transformers does
  if (!has_target) rules.forced_begin = keys.token("forced_bos_token_id");
  rules.exponential_decay = keys.decay("exponential_decay_length_penalty");
  rules.suppressed = keys.list("suppress_tokens");
  rules.suppressed_at_begin = keys.list("begin_suppress_tokens");
  read_left(reader, rules);
  return rules;
}

}  // namespace attnflow
