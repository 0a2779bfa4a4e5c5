#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "attnflow/model/config_for_test.h"
#include "attnflow/model/model_config.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::decoder_config_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::with;
using test::without;
using Scaling = RotaryConfig::Scaling;

Json gpt2() {
  return {{"model_type", "gpt2"}, {"n_embd", 24},      {"n_layer", 3},
          {"n_head", 4},          {"n_positions", 40}, {"vocab_size", 77}};
}

Json llama() {
  return {
      {"model_type", "llama"},    {"hidden_size", 24},       {"num_hidden_layers", 3}, {"num_attention_heads", 6},
      {"num_key_value_heads", 2}, {"intermediate_size", 40}, {"vocab_size", 77},       {"max_position_embeddings", 40}};
}

Json of_type(const std::string& type) { return with(llama(), "model_type", type); }

ModelConfig parse(const Json& json) {
  return parse_model_config(json.dump(), "config.json", ArchitectureKind::kDecoder);
}

void expect_bad(const Json& json, const std::vector<std::string>& words) {
  expect_error(ErrorKind::kBadFile, words, [&] { parse(json); });
}

void expect_unsupported(const Json& json, const std::vector<std::string>& words) {
  expect_error(ErrorKind::kUnsupportedModel, words, [&] { parse(json); });
}

TEST(DecoderConfig, RefusesTokensThatSeeThoseBehindThem) {
  for (const char* type : {"llama", "mistral", "qwen2"}) {
    expect_unsupported(with(of_type(type), "is_causal", false), {"is_causal is false", "later ones", "--attention"});
    expect_unsupported(with(of_type(type), "is_causal", nullptr), {"is_causal is null", "later ones"});
    EXPECT_NO_THROW(parse(with(of_type(type), "is_causal", true)));
  }
  expect_bad(with(llama(), "is_causal", "no"), {"is_causal", "true or false"});
}

TEST(DecoderConfig, RefusesCodeOfItsOwn) {
  for (const char* name : {"LlamaEncoderModel", "LlamaBiModel", "OwnForCausalLM"}) {
    Json json = with(llama(), "architectures", {name});
    EXPECT_NO_THROW(parse(with(json, "auto_map", Json::object())));
    expect_unsupported(with(json, "auto_map", {{"AutoModel", std::string("modeling_own.") + name}}),
                       {"auto_map", name});
  }
  EXPECT_NO_THROW(parse(with(with(gpt2(), "auto_map", {{"AutoModelForCausalLM", "modeling_own.GPT2LMHeadModel"}}),
                             "architectures", {"GPT2LMHeadModel"})));
}

TEST(DecoderConfig, ReadsGpt2WithDefaults) {
  const ModelConfig config = parse(gpt2());
  EXPECT_EQ(config.architecture->model_type, "gpt2");
  EXPECT_EQ(config.layers, 3U);
  EXPECT_EQ(config.hidden, 24U);
  EXPECT_EQ(config.heads, 4U);
  EXPECT_EQ(config.key_value_heads, 4U);
  EXPECT_EQ(config.head_width, 6U);
  EXPECT_EQ(config.intermediate, 96U);
  EXPECT_EQ(config.vocabulary, 77U);
  EXPECT_EQ(config.positions, 40U);
  EXPECT_EQ(config.windows, (std::vector<std::size_t>{0, 0, 0}));
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(config.activation, Activation::kGeluTanh);
  EXPECT_TRUE(config.query_bias);
  EXPECT_TRUE(config.attention_output_bias);
  EXPECT_TRUE(config.feed_forward_bias);
  EXPECT_TRUE(config.tied);
  EXPECT_EQ(parse(with(gpt2(), "n_inner", 40)).intermediate, 40U);
  EXPECT_EQ(parse(with(gpt2(), "n_inner", nullptr)).intermediate, 96U);
}

TEST(DecoderConfig, ReadsLlamaWithDefaults) {
  const ModelConfig config = parse(llama());
  EXPECT_EQ(config.heads, 6U);
  EXPECT_EQ(config.key_value_heads, 2U);
  EXPECT_EQ(config.head_width, 4U);
  EXPECT_EQ(config.intermediate, 40U);
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-6);
  EXPECT_EQ(config.activation, Activation::kSilu);
  EXPECT_DOUBLE_EQ(config.rotary.theta, 10000.0);
  EXPECT_EQ(config.rotary.scaling, Scaling::kNone);
  EXPECT_FALSE(config.query_bias);
  EXPECT_FALSE(config.attention_output_bias);
  EXPECT_FALSE(config.feed_forward_bias);
  EXPECT_FALSE(config.tied);
  EXPECT_EQ(parse(without(llama(), "num_key_value_heads")).key_value_heads, 6U);
}

TEST(DecoderConfig, ReadsStatedSettings) {
  const ModelConfig config = parse(with(llama(), {{"head_dim", 10},
                                                  {"attention_bias", true},
                                                  {"mlp_bias", true},
                                                  {"tie_word_embeddings", true},
                                                  {"rope_theta", 5e5},
                                                  {"rms_norm_eps", 1e-5},
                                                  {"hidden_act", "gelu"},
                                                  {"architectures", {"LlamaForCausalLM"}}}));
  EXPECT_EQ(config.head_width, 10U);
  EXPECT_TRUE(config.query_bias);
  EXPECT_TRUE(config.attention_output_bias);
  EXPECT_TRUE(config.feed_forward_bias);
  EXPECT_TRUE(config.tied);
  EXPECT_DOUBLE_EQ(config.rotary.theta, 5e5);
  EXPECT_DOUBLE_EQ(config.norm_eps, 1e-5);
  EXPECT_EQ(config.activation, Activation::kGelu);
}

TEST(DecoderConfig, BiasesFollowTheArchitecture) {
  const ModelConfig qwen2 = parse(of_type("qwen2"));
  EXPECT_TRUE(qwen2.query_bias);
  EXPECT_FALSE(qwen2.attention_output_bias);
  EXPECT_FALSE(qwen2.feed_forward_bias);
  // transformers' Mistral has no such setting.
  EXPECT_FALSE(parse(with(of_type("mistral"), "attention_bias", true)).query_bias);
}

TEST(DecoderConfig, RopeSettingsOfBothGenerations) {
  for (const auto& [key, type] :
       {std::pair{"rope_scaling", "type"}, {"rope_scaling", "rope_type"}, {"rope_parameters", "rope_type"}}) {
    const Json json = with(with(llama(), "rope_theta", 500.0), key, Json{{type, "linear"}, {"factor", 4.0}});
    const RotaryConfig rotary = parse(json).rotary;
    EXPECT_EQ(rotary.scaling, Scaling::kLinear);
    EXPECT_DOUBLE_EQ(rotary.theta, 500.0);
    EXPECT_DOUBLE_EQ(rotary.factor, 4.0);
  }
  const Json json = with(llama(), "rope_parameters", Json{{"rope_type", "default"}, {"rope_theta", 70.0}});
  EXPECT_DOUBLE_EQ(parse(json).rotary.theta, 70.0);
  EXPECT_EQ(parse(with(llama(), "rope_scaling", nullptr)).rotary.scaling, Scaling::kNone);
}

TEST(DecoderConfig, RotaryFrequenciesFollowTheirDefinition) {
  RotaryConfig rotary;
  rotary.theta = 10000.0;
  const std::vector<float> plain = rotary.frequencies(64);
  ASSERT_EQ(plain.size(), 32U);
  EXPECT_EQ(plain[0], 1.0F);
  EXPECT_NEAR(static_cast<double>(plain[16]), 0.01, 1e-9);
  EXPECT_NEAR(static_cast<double>(plain[31]), std::pow(10000.0, -62.0 / 64.0), 1e-11);

  rotary.scaling = Scaling::kLinear;
  rotary.factor = 4.0;
  const std::vector<float> linear = rotary.frequencies(64);
  for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_FLOAT_EQ(linear[i], plain[i] / 4.0F);

  // Wavelengths below 8192 / 4 stay, those above 8192 are stretched by 8, with a transition in between.
  rotary.scaling = Scaling::kLlama3;
  rotary.theta = 500000.0;
  rotary.factor = 8.0;
  rotary.low = 1.0;
  rotary.high = 4.0;
  rotary.first_length = 8192.0;
  const std::vector<float> scaled = rotary.frequencies(64);
  rotary.scaling = Scaling::kNone;
  const std::vector<float> unscaled = rotary.frequencies(64);
  std::array<std::size_t, 3> seen = {};
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const double f = static_cast<double>(unscaled[i]);
    const double wavelength = 2.0 * 3.14159265358979323846 / f;
    if (wavelength < 8192.0 / 4.0) {
      EXPECT_EQ(scaled[i], unscaled[i]);
      ++seen[0];
    } else if (wavelength > 8192.0) {
      EXPECT_FLOAT_EQ(scaled[i], unscaled[i] / 8.0F);
      ++seen[2];
    } else {
      const double share = (8192.0 / wavelength - 1.0) / 3.0;
      EXPECT_NEAR(static_cast<double>(scaled[i]), (1.0 - share) * f / 8.0 + share * f, 1e-6 * f);
      ++seen[1];
    }
  }
  for (const std::size_t count : seen) EXPECT_GT(count, 0U);
}

TEST(DecoderConfig, RefusesRotationsThatItDoesNotCompute) {
  expect_unsupported(with(llama(), "rope_scaling", Json{{"rope_type", "mrope"}, {"factor", 2.0}}),
                     {"rope_type is \"mrope\"", "default, linear, llama3, yarn, longrope and dynamic"});
  const Json longrope = {{"type", "longrope"}, {"original_max_position_embeddings", 16}};
  expect_bad(with(llama(), "rope_scaling", longrope), {"a list of numbers above 0", "short_factor", "null"});
  expect_bad(with(llama(), "rope_scaling", with(longrope, "short_factor", {1.0, 2.0, 3.0})), {"2 numbers", "found 3"});
  expect_bad(with(llama(), "rope_scaling", with(longrope, "short_factor", {1.0, 0.0})), {"numbers above 0"});
  expect_unsupported(with(llama(), "rope_scaling", Json{{"type", "default"}, {"mrope_section", {1, 2}}}),
                     {"mrope_section"});
  expect_unsupported(with(llama(), "partial_rotary_factor", 0.5), {"partial_rotary_factor"});
  expect_unsupported(with(llama(), "rope_parameters", Json{{"rope_type", "default"}, {"partial_rotary_factor", 0.5}}),
                     {"partial_rotary_factor"});
  expect_unsupported(with(of_type("qwen2"), "use_mrope", true), {"use_mrope"});
  expect_bad(with(llama(), "rope_scaling", Json{{"type", "linear"}}), {"rope_type linear", "missing", "factor"});
  expect_bad(with(llama(), "rope_scaling", "linear"), {"rope_scaling", "an object"});
  expect_bad(with(llama(), "rope_scaling", Json{{"type", "linear"}, {"factor", "2"}}), {"factor", "a number"});
  expect_bad(with(llama(), "rope_scaling", Json{{"rope_type", "llama3"}, {"factor", 2}}),
             {"low_freq_factor, high_freq_factor"});
  expect_bad(with(llama(), "rope_theta", 0.5), {"rope_theta"});
}

TEST(DecoderConfig, AnglesOfLongTexts) {
  // Angles change only beyond max_position_embeddings, where texts end.
  const RotaryConfig dynamic = parse(with(llama(), "rope_scaling", Json{{"type", "dynamic"}, {"factor", 2.0}})).rotary;
  EXPECT_EQ(dynamic.frequencies(4), RotaryConfig().frequencies(4));
  const Json longrope = {
      {"type", "longrope"}, {"original_max_position_embeddings", 16}, {"short_factor", {1.0, 2.0}}, {"factor", 4.0}};
  const ModelConfig config = parse(with(llama(), "rope_scaling", longrope));
  EXPECT_EQ(config.positions, 16U);  // longer texts use other factors
  EXPECT_DOUBLE_EQ(config.rotary.amplitude, std::sqrt(1.0 + std::log(4.0) / std::log(16.0)));
  const std::vector<float> plain = RotaryConfig().frequencies(4);
  EXPECT_EQ(config.rotary.frequencies(4), (std::vector<float>{plain[0], plain[1] / 2.0F}));
  const Json yarn = {{"rope_type", "yarn"}, {"original_max_position_embeddings", 16}, {"factor", 4.0}};
  // As in transformers, the length outside the rotary settings takes precedence.
  const Json both = with(with(llama(), "rope_scaling", yarn), "original_max_position_embeddings", 8);
  const Json alone = with(llama(), "rope_scaling", with(yarn, "original_max_position_embeddings", 8));
  EXPECT_EQ(parse(both).rotary.frequencies(4), parse(alone).rotary.frequencies(4));
  const Json llama3 = {{"rope_type", "llama3"}, {"factor", 4.0}, {"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}};
  EXPECT_DOUBLE_EQ(parse(with(llama(), "rope_scaling", llama3)).rotary.first_length, 40.0);
  for (const char* const name : {"su", "yarn"}) {  // names in Phi 3's first configurations
    Json phi3 = with(of_type("phi3"), "rope_scaling", with(longrope, "type", name));
    EXPECT_EQ(parse(phi3).rotary.scaling, Scaling::kEach) << name;
    // Its class has a length, which overrides that of the settings.
    EXPECT_DOUBLE_EQ(parse(phi3).rotary.amplitude, std::sqrt(1.0 + std::log(4.0) / std::log(4096.0))) << name;
  }
  expect_unsupported(with(llama(), "rope_scaling", with(longrope, "type", "yarn")), {"short_factor"});
  const RotaryConfig stretched = parse(with(llama(), "rope_scaling", yarn)).rotary;
  EXPECT_DOUBLE_EQ(stretched.amplitude, 0.1 * std::log(4.0) + 1.0);
  EXPECT_LE(stretched.frequencies(4)[1], plain[1]);
  EXPECT_DOUBLE_EQ(parse(with(llama(), "rope_scaling", with(yarn, "attention_factor", 2.0))).rotary.amplitude, 2.0);
}

TEST(DecoderConfig, SlopesOfAlibi) {
  const std::vector<float> eight = alibi_slopes(8);
  for (std::size_t h = 0; h < 8; ++h) EXPECT_FLOAT_EQ(eight[h], std::ldexp(1.0F, -static_cast<int>(h) - 1));
  // For 6 heads, four slopes are those of 4 heads, and two are every other one of 8.
  const std::vector<float> six = {0.25F, 0.0625F, 0.015625F, 0.00390625F, 0.5F, 0.125F};
  EXPECT_EQ(alibi_slopes(6), six);
}

TEST(DecoderConfig, LayersOfTwoKinds) {
  using Windows = std::vector<std::size_t>;
  const Json gemma = with(of_type("gemma3_text"), "sliding_window", 5);
  EXPECT_EQ(parse(gemma).windows, (Windows{5, 5, 5}));  // every sixth layer sees all
  EXPECT_EQ(parse(with(gemma, "sliding_window_pattern", 2)).windows, (Windows{5, 0, 5}));
  EXPECT_EQ(parse(with(gemma, "layer_types", {"full_attention", "sliding_attention", "full_attention"})).windows,
            (Windows{0, 5, 0}));
  const Json scaled = {{"rope_type", "linear"}, {"factor", 8.0}};
  const ModelConfig config = parse(with(gemma, "rope_scaling", scaled));
  EXPECT_DOUBLE_EQ(config.rotary.theta, 1e6);
  EXPECT_DOUBLE_EQ(config.rotary.factor, 8.0);
  EXPECT_DOUBLE_EQ(config.local_rotary.theta, 1e4);
  EXPECT_EQ(config.local_rotary.scaling, Scaling::kNone);
  // transformers 5 has settings for each kind of layer; a kind without any takes the defaults.
  const Json stated = {{"full_attention", {{"rope_theta", 90.0}}}, {"sliding_attention", {{"rope_theta", 30.0}}}};
  const ModelConfig both = parse(with(with(gemma, "rope_parameters", stated), "rope_scaling", scaled));
  EXPECT_DOUBLE_EQ(both.rotary.theta, 90.0);
  EXPECT_DOUBLE_EQ(both.rotary.factor, 8.0);
  EXPECT_DOUBLE_EQ(both.local_rotary.theta, 30.0);
  EXPECT_DOUBLE_EQ(both.local_rotary.factor, 1.0);
  EXPECT_DOUBLE_EQ(parse(with(gemma, "rope_parameters", {{"full_attention", scaled}})).local_rotary.theta, 1e4);
  EXPECT_DOUBLE_EQ(parse(with(gemma, "rope_parameters", {{"rope_theta", 90.0}})).rotary.theta, 1e6);
  expect_bad(with(gemma, "rope_parameters", {{"sliding_attention", 3}}), {"sliding_attention", "an object", "3"});

  const Json neo = with(gpt2(), {{"model_type", "gpt_neo"},
                                 {"hidden_size", 24},
                                 {"num_layers", 3},
                                 {"num_heads", 4},
                                 {"max_position_embeddings", 40}});
  EXPECT_EQ(parse(with(neo, "attention_layers", {"global", "local", "global"})).windows, (Windows{0, 256, 0}));
  const Json types = Json::array({Json::array({Json::array({"global", "local"}), 2})});
  expect_bad(with(neo, "attention_types", types), {"attention_types", "3", "found 4"});
  expect_bad(with(neo, "attention_layers", {"global", "near", "global"}), {"\"global\" or \"local\"", "near"});
  expect_bad(neo, {"attention_types", "found 0"});
  const Json endless = Json::array({Json::array({Json::array(), std::size_t{1} << 62U})});
  expect_bad(with(neo, "attention_types", endless), {"attention_types", "[names, how often]"});
}

TEST(DecoderConfig, OnlyLayersWithAWindowMayBeTurned) {
  const Json cohere2 = with(of_type("cohere2"), "sliding_window", 5);
  EXPECT_EQ(parse(cohere2).rotary_layers, (std::vector<bool>{true, true, true}));  // every fourth layer sees all
  EXPECT_EQ(parse(with(cohere2, "sliding_window_pattern", 2)).rotary_layers, (std::vector<bool>{true, false, true}));
  const Json named = with(cohere2, "layer_types", {"full_attention", "sliding_attention", "full_attention"});
  EXPECT_EQ(parse(named).rotary_layers, (std::vector<bool>{false, true, false}));
}

TEST(DecoderConfig, HeadsNormsAndPositionsOfFalcon) {
  const Json usual = {{"model_type", "falcon"}, {"hidden_size", 24},        {"num_hidden_layers", 3},
                      {"vocab_size", 77},       {"num_attention_heads", 6}, {"num_kv_heads", 2}};
  ModelConfig config = parse(usual);
  EXPECT_EQ(config.key_value_heads, 1U);
  EXPECT_EQ(config.intermediate, 96U);
  EXPECT_EQ(config.positions, 2048U);
  EXPECT_EQ(config.position_kind, PositionKind::kRotary);
  EXPECT_TRUE(config.parallel);
  EXPECT_TRUE(config.shared_norm);
  EXPECT_TRUE(config.tied);
  EXPECT_EQ(parse(with(usual, "multi_query", false)).key_value_heads, 6U);
  EXPECT_EQ(parse(with(usual, "alibi", true)).position_kind, PositionKind::kAlibi);
  config = parse(with(usual, "parallel_attn", false));
  EXPECT_FALSE(config.parallel);
  EXPECT_FALSE(config.shared_norm);

  const Json grouped = with(usual, "new_decoder_architecture", true);
  config = parse(with(grouped, "parallel_attn", false));
  EXPECT_EQ(config.key_value_heads, 2U);
  EXPECT_TRUE(config.parallel);
  EXPECT_FALSE(config.shared_norm);
  EXPECT_TRUE(parse(with(grouped, "num_ln_in_parallel_attn", 1)).shared_norm);
  expect_bad(with(grouped, "num_ln_in_parallel_attn", 3), {"num_ln_in_parallel_attn", "from 1 to 2"});
  expect_bad(with(usual, "multi_query", 1), {"multi_query", "true or false"});
}

TEST(DecoderConfig, LogitsMayBeMultiplied) {
  EXPECT_DOUBLE_EQ(parse(of_type("cohere")).logit_factor, 0.0625);
  EXPECT_DOUBLE_EQ(parse(with(of_type("cohere"), "logit_scale", 0.8)).logit_factor, 0.8);
  EXPECT_DOUBLE_EQ(parse(with(llama(), "logit_scale", 0.8)).logit_factor, 1.0);
  expect_bad(with(of_type("cohere"), "logit_scale", "0.8"), {"logit_scale", "a number"});
  expect_bad(with(of_type("cohere"), "logit_scale", 0), {"logit_scale"});
}

TEST(DecoderConfig, CapsMayBeNull) {
  EXPECT_DOUBLE_EQ(parse(of_type("gemma2")).score_cap, 50.0);
  EXPECT_DOUBLE_EQ(parse(of_type("gemma2")).logit_cap, 30.0);
  EXPECT_DOUBLE_EQ(parse(with(of_type("gemma2"), "attn_logit_softcapping", nullptr)).score_cap, 0.0);
  EXPECT_DOUBLE_EQ(parse(of_type("gemma3_text")).score_cap, 0.0);
  EXPECT_DOUBLE_EQ(parse(with(of_type("gemma3_text"), "attn_logit_softcapping", 5.0)).score_cap, 0.0);  // not read
  EXPECT_DOUBLE_EQ(parse(with(of_type("gemma3_text"), "final_logit_softcapping", 5.0)).logit_cap, 5.0);
}

TEST(DecoderConfig, SlidingWindows) {
  using Windows = std::vector<std::size_t>;
  EXPECT_EQ(parse(of_type("mistral")).windows, (Windows{4096, 4096, 4096}));  // transformers' default
  EXPECT_EQ(parse(with(of_type("mistral"), "sliding_window", 5)).windows, (Windows{5, 5, 5}));
  EXPECT_EQ(parse(with(of_type("mistral"), "sliding_window", nullptr)).windows, (Windows{0, 0, 0}));
  expect_bad(with(of_type("mistral"), "sliding_window", 0), {"sliding_window", "whole number"});
  EXPECT_EQ(parse(with(llama(), "sliding_window", 5)).windows, (Windows{0, 0, 0}));
  const Json types = {"full_attention", "sliding_attention", "full_attention"};
  for (const auto& [type, windows] : {std::pair<std::string, Windows>{"mistral", {0, 5, 0}},  // Ministral
                                      {"phi3", {5, 5, 5}},  // these do not read the key
                                      {"starcoder2", {5, 5, 5}}}) {
    EXPECT_EQ(parse(with(with(of_type(type), "sliding_window", 5), "layer_types", types)).windows, windows) << type;
  }

  const Json qwen2 = with(of_type("qwen2"), "sliding_window", 5);
  EXPECT_EQ(parse(qwen2).windows, (Windows{0, 0, 0}));
  const Json used = with(qwen2, "use_sliding_window", true);
  EXPECT_EQ(parse(used).windows, (Windows{0, 0, 0}));  // from layer 28 on
  EXPECT_EQ(parse(with(used, "max_window_layers", 2)).windows, (Windows{0, 0, 5}));
  EXPECT_EQ(parse(with(used, "max_window_layers", 0)).windows, (Windows{5, 5, 5}));
  const std::string sliding = "sliding_attention";
  const std::string full = "full_attention";
  EXPECT_EQ(parse(with(used, "layer_types", {sliding, full, sliding})).windows, (Windows{5, 0, 5}));
  expect_bad(with(used, "layer_types", {sliding, full}), {"layer_types", "3", "found"});
  expect_unsupported(with(used, "layer_types", {sliding, full, "chunked_attention"}), {"chunked_attention"});
}

TEST(DecoderConfig, ClassifiersOfTexts) {
  const ModelConfig writer = parse(with(llama(), "pad_token_id", 3));
  EXPECT_FALSE(writer.classifies);
  EXPECT_FALSE(writer.padding);
  const Json json = with(of_type("gemma2"), {{"architectures", {"Gemma2ForSequenceClassification"}},
                                             {"final_logit_softcapping", 30.0},
                                             {"id2label", {{"0", "bad"}, {"1", "good"}}},
                                             {"problem_type", "multi_label_classification"},
                                             {"pad_token_id", 3}});
  const ModelConfig config = parse(json);
  EXPECT_TRUE(config.classifies);
  EXPECT_FALSE(config.base_model);
  EXPECT_EQ(config.labels, (std::vector<std::string>{"bad", "good"}));
  EXPECT_TRUE(config.multi_label);
  EXPECT_EQ(config.padding, 3);
  EXPECT_EQ(config.logit_cap, 0.0);  // applies only to logits of the next token
  EXPECT_FALSE(parse(with(json, "pad_token_id", nullptr)).padding);
  EXPECT_EQ(parse(with(json, "pad_token_id", -1)).padding, -1);  // no token
  expect_bad(with(json, "pad_token_id", "three"), {"a token's id", "pad_token_id", "three"});
  expect_bad(with(json, "id2label", Json{{"1", "good"}}), {"id2label", "\"0\", \"1\""});
}

TEST(DecoderConfig, TextsThatAreClassifiedEndBeforeTheClassesUsualPadding) {
  for (const auto& [type, padding] : {std::pair<std::string, std::optional<std::int64_t>>{"llama", std::nullopt},
                                      {"gemma2", 0},
                                      {"olmo2", 1},
                                      {"phi3", 32000}}) {
    const Json json = with(of_type(type), "architectures", {"OneForSequenceClassification"});
    EXPECT_EQ(parse(json).padding, padding) << type;
    EXPECT_EQ(parse(with(json, "pad_token_id", 7)).padding, 7) << type;
    EXPECT_FALSE(parse(with(json, "pad_token_id", nullptr)).padding) << type;
  }
}

TEST(DecoderConfig, OtherNamesHoldOverTheUsualOnes) {
  struct Row {
    Json json;
    std::string alias;
    std::size_t ModelConfig::*member;
  };
  Json neo = {{"model_type", "gpt_neo"}, {"hidden_size", 24}, {"num_layers", 2},
              {"num_heads", 3},          {"vocab_size", 77},  {"max_position_embeddings", 40}};
  neo["attention_types"] = Json::array({Json::array({Json::array({"local"}), 4})});
  const Json bloom = {{"model_type", "bloom"}, {"hidden_size", 24}, {"n_layer", 2}, {"n_head", 3}, {"vocab_size", 77}};
  const std::vector<Row> rows = {
      {gpt2(), "num_hidden_layers", &ModelConfig::layers},
      {gpt2(), "num_attention_heads", &ModelConfig::heads},
      {gpt2(), "max_position_embeddings", &ModelConfig::positions},
      {with(gpt2(), "n_head", 2), "hidden_size", &ModelConfig::hidden},
      {with(gpt2(), "model_type", "gptj"), "num_hidden_layers", &ModelConfig::layers},
      {neo, "num_hidden_layers", &ModelConfig::layers},
      {bloom, "num_attention_heads", &ModelConfig::heads},
      {bloom, "num_hidden_layers", &ModelConfig::layers},
  };
  for (Row row : rows) {
    if (row.json["model_type"] == "gptj") row.json["rotary_dim"] = 4;
    EXPECT_EQ(parse(with(row.json, row.alias, 4)).*row.member, 4U) << row.alias << " of " << row.json["model_type"];
  }
}

TEST(DecoderConfig, GptjTurnsByAnglesOfItsOwn) {
  const Json json = with(with(gpt2(), "model_type", "gptj"), "rotary_dim", 4);
  const std::vector<float> usual = RotaryConfig().frequencies(4);
  EXPECT_EQ(parse(json).rotary.frequencies(4), usual);
  for (const auto& [key, value] : {std::pair<std::string, Json>{"rope_theta", 50.0},
                                   {"partial_rotary_factor", 0.5},
                                   {"rope_scaling", {{"type", "linear"}, {"factor", 2.0}}},
                                   {"rope_parameters", {{"rope_theta", 50.0}}}}) {
    EXPECT_EQ(parse(with(json, key, value)).rotary.frequencies(4), usual) << key;  // transformers reads none of them
  }
}

TEST(DecoderConfig, GemmaMeansTheApproximationByOneName) {
  EXPECT_EQ(parse(with(of_type("gemma"), "hidden_act", "gelu")).activation, Activation::kGeluTanh);
  EXPECT_EQ(parse(with(of_type("gemma"), "hidden_act", "gelu_python")).activation, Activation::kGelu);
  EXPECT_EQ(parse(with(llama(), "hidden_act", "gelu")).activation, Activation::kGelu);
  EXPECT_EQ(parse(with(llama(), "hidden_act", "gelu_accurate")).activation, Activation::kGeluTanh);
}

TEST(DecoderConfig, RefusesVariants) {
  expect_unsupported(with(gpt2(), "scale_attn_by_inverse_layer_idx", true),
                     {"scale_attn_by_inverse_layer_idx is true; supported is false"});
  expect_unsupported(with(gpt2(), "scale_attn_weights", false), {"scale_attn_weights is false; supported is true"});
  expect_unsupported(with(gpt2(), "add_cross_attention", true), {"add_cross_attention"});
  expect_unsupported(with(gpt2(), "pruned_heads", Json{{"0", {1}}}), {"pruned_heads"});
  expect_unsupported(with(llama(), "quantization_config", Json{{"bits", 4}}), {"quantization_config"});
  expect_unsupported(with(llama(), "architectures", {"LlamaForTokenClassification"}),
                     {"LlamaForTokenClassification", "ForCausalLM", "ForSequenceClassification"});
  expect_unsupported(with(llama(), "hidden_act", "swiglu"), {"hidden_act", "swiglu"});
  expect_unsupported(with(llama(), "use_parallel_residual", true),
                     {"use_parallel_residual is true; supported is false"});
  expect_unsupported(with(of_type("cohere"), "use_qk_norm", true), {"use_qk_norm is true; supported is false"});
  expect_unsupported(with(llama(), "per_layer_config", Json{{"0", {{"intermediate_size", 16}}}}), {"per_layer_config"});
  EXPECT_NO_THROW(parse(with(llama(), "per_layer_config", Json::object())));
  expect_unsupported(of_type("gemma9"), {"\"gemma9\"", "gpt2, llama, mistral, qwen2"});
}

TEST(DecoderConfig, RefusesWrongValues) {
  expect_bad(without(without(llama(), "hidden_size"), "vocab_size"), {"model type llama", "hidden_size, vocab_size"});
  expect_bad(with(llama(), "num_key_value_heads", 4), {"num_attention_heads", "multiple", "6 and 4"});
  expect_bad(with(llama(), "hidden_size", 25), {"hidden_size", "multiple", "25 and 6"});
  expect_bad(with(llama(), "head_dim", 5), {"even", "found 5"});
  expect_bad(with(llama(), "num_hidden_layers", 0), {"num_hidden_layers", "from 1 to"});
  expect_bad(with(llama(), "num_hidden_layers", 100000), {"num_hidden_layers", "4096"});
  expect_bad(with(llama(), "rms_norm_eps", -1), {"rms_norm_eps"});
  expect_bad(with(llama(), "attention_bias", 1), {"attention_bias", "true or false"});
  expect_bad(with(llama(), "architectures", "LlamaForCausalLM"), {"architectures", "a list of strings"});
  expect_bad(without(llama(), "model_type"), {"model_type is missing"});
}

TEST(DecoderConfig, IsToldFromAnEncoder) {
  EXPECT_EQ(find_architecture("gpt2")->kind, ArchitectureKind::kDecoder);
  EXPECT_EQ(find_architecture("bert")->kind, ArchitectureKind::kEncoder);
  EXPECT_EQ(find_architecture("t5")->kind, ArchitectureKind::kEncoderDecoder);
  expect_error(ErrorKind::kUnsupportedModel, {"\"gpt2\"", "a decoder; expected an encoder: bert"},
               [] { read_model_config(test::golden_decoders() / "gpt2_tied", ArchitectureKind::kEncoder); });
  expect_error(ErrorKind::kUnsupportedModel, {"\"bert\"", "expected a decoder: gpt2"},
               [] { read_model_config(test::golden_models() / "bert_base", ArchitectureKind::kDecoder); });
  expect_error(ErrorKind::kUnsupportedModel, {"\"t5\"", "bert, ", "gpt2, llama"},
               [] { parse_model_config(R"({"model_type": "t5"})", "config.json"); });
}

}  // namespace
}  // namespace attnflow::decoder_config_test
