// The config.json of small models, with variations.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace attnflow::test {

inline nlohmann::json with(nlohmann::json config, const std::string& key, nlohmann::json value) {
  config[key] = std::move(value);
  return config;
}
inline nlohmann::json with(nlohmann::json config, const nlohmann::json& settings) {
  config.update(settings);
  return config;
}
inline nlohmann::json without(nlohmann::json config, const std::string& key) {
  config.erase(key);
  return config;
}

inline nlohmann::json bert(const std::string& type = "bert") {
  return {{"model_type", type},       {"hidden_size", 24},       {"num_hidden_layers", 2},       {"vocab_size", 77},
          {"num_attention_heads", 4}, {"intermediate_size", 40}, {"max_position_embeddings", 20}};
}

inline nlohmann::json deberta() {
  return with(bert("deberta-v2"), {{"type_vocab_size", 0},
                                   {"relative_attention", true},
                                   {"pos_att_type", "p2c|c2p"},
                                   {"share_att_key", true},
                                   {"norm_rel_ebd", "layer_norm"},
                                   {"position_buckets", 4},
                                   {"max_relative_positions", -1},
                                   {"position_biased_input", false}});
}

inline nlohmann::json first_deberta() {
  return with(bert("deberta"), {{"type_vocab_size", 0},
                                {"relative_attention", true},
                                {"pos_att_type", "c2p|p2c"},
                                {"max_relative_positions", -1}});
}

inline nlohmann::json vit(const std::string& type = "vit") {
  return {{"model_type", type},       {"hidden_size", 24},       {"num_hidden_layers", 2}, {"image_size", 20},
          {"num_attention_heads", 3}, {"intermediate_size", 40}, {"patch_size", 4}};
}

}  // namespace attnflow::test
