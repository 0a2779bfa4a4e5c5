#include "attnflow/model/gguf_layout.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/files/files_for_test.h"

namespace attnflow::internal::gguf_layout_test {
namespace {

using test::expect_error;

TEST(ShortestDecimal, OfNumbersThatWereFloat32) {
  for (const double value : {1e-5, 1e-6, 0.1, 10000.0, 500000.0, 1e6, 8.0, 1.0 / 3.0})
    EXPECT_NEAR(shortest_decimal(static_cast<double>(static_cast<float>(value))), value, 1e-7 * value);
  EXPECT_EQ(shortest_decimal(static_cast<double>(1e-5F)), 1e-5);
  EXPECT_EQ(shortest_decimal(static_cast<double>(1e-6F)), 1e-6);
  EXPECT_EQ(shortest_decimal(0.1), 0.1);  // not a float32 value: unchanged
  EXPECT_EQ(shortest_decimal(0.0), 0.0);
}

// The factors that llama.cpp's converter writes: the plain frequency over the scaled one.
std::vector<float> factors_of(const RotaryConfig& scaled, std::size_t width) {
  const RotaryConfig plain{.theta = scaled.theta};
  const std::vector<float> above = plain.frequencies(width);
  const std::vector<float> below = scaled.frequencies(width);
  std::vector<float> factors;
  for (std::size_t i = 0; i < width / 2; ++i) factors.push_back(above[i] / below[i]);
  return factors;
}

TEST(Llama3Scaling, IsFoundAgain) {
  RotaryConfig scaled{.theta = 500000.0, .scaling = RotaryConfig::Scaling::kLlama3};
  for (const double factor : {8.0, 32.0, 16.0}) {
    for (const double length : {8192.0, 4096.0, 1000.0}) {
      scaled.factor = factor;
      scaled.first_length = length;
      const auto found = find_llama3_scaling(factors_of(scaled, 128), scaled.theta);
      ASSERT_TRUE(found.has_value());
      EXPECT_NEAR(found->factor, factor, 1e-5 * factor);
      EXPECT_EQ(static_cast<double>(found->first_length), length);
    }
  }
}

TEST(Llama3Scaling, OtherFactorsAreNone) {
  EXPECT_FALSE(find_llama3_scaling({}, 10000.0).has_value());
  const std::vector<float> ones(32, 1.0F);
  EXPECT_FALSE(find_llama3_scaling(ones, 10000.0).has_value());
  RotaryConfig scaled{.theta = 500000.0, .scaling = RotaryConfig::Scaling::kLlama3};
  scaled.factor = 8.0;
  scaled.first_length = 8192.0;
  std::vector<float> factors = factors_of(scaled, 128);
  EXPECT_FALSE(find_llama3_scaling(factors, 10000.0).has_value());
  factors[60] = 7.5F;
  EXPECT_FALSE(find_llama3_scaling(factors, scaled.theta).has_value());
  factors[60] = std::nanf("");
  EXPECT_FALSE(find_llama3_scaling(factors, scaled.theta).has_value());
}

GgufHeader small_llama() {
  GgufHeader header;
  const auto set = [&](const char* name, GgufValue value) { header.metadata.emplace(name, std::move(value)); };
  set("general.architecture", std::string("llama"));
  set("llama.block_count", std::int64_t{1});
  set("llama.context_length", std::int64_t{64});
  set("llama.embedding_length", std::int64_t{8});
  set("llama.feed_forward_length", std::int64_t{12});
  set("llama.attention.head_count", std::int64_t{2});
  set("llama.attention.head_count_kv", std::int64_t{1});
  set("llama.attention.layer_norm_rms_epsilon", static_cast<double>(1e-6F));
  const auto add = [&](const char* name, std::vector<std::size_t> extents) {
    header.tensors.push_back({name, std::move(extents), 0, 0, 0});
  };
  add("token_embd.weight", {8, 20});
  add("blk.0.attn_norm.weight", {8});
  add("blk.0.attn_q.weight", {8, 8});
  add("blk.0.attn_k.weight", {8, 4});
  add("blk.0.attn_v.weight", {8, 4});
  add("blk.0.attn_output.weight", {8, 8});
  add("blk.0.ffn_norm.weight", {8});
  add("blk.0.ffn_gate.weight", {8, 12});
  add("blk.0.ffn_up.weight", {8, 12});
  add("blk.0.ffn_down.weight", {12, 8});
  add("output_norm.weight", {8});
  return header;
}

void expect_refused(const GgufHeader& header, ErrorKind kind, const std::vector<std::string>& words) {
  expect_error(kind, words, [&] { plan_conversion(header, {}, "small.gguf"); });
}

TEST(PlanConversion, NamesShapesAndConfig) {
  const GgufHeader header = small_llama();
  const ConvertedModel model = plan_conversion(header, {}, "small.gguf");
  ASSERT_EQ(model.tensors.size(), header.tensors.size());
  EXPECT_EQ(model.tensors[0].name, "model.embed_tokens.weight");
  EXPECT_EQ(model.tensors[2].name, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(model.tensors[2].change, TensorChange::kHalves);
  EXPECT_EQ(model.tensors[2].head_width, 4U);
  EXPECT_EQ(model.tensors[4].change, TensorChange::kNone);
  EXPECT_EQ(model.tensors[9].shape, (Shape{8, 12}));
  const ModelConfig& config = model.settings;
  EXPECT_EQ(config.architecture->model_type, "llama");
  EXPECT_EQ(config.vocabulary, 20U);
  EXPECT_EQ(config.layers, 1U);
  EXPECT_EQ(config.key_value_heads, 1U);
  EXPECT_EQ(config.head_width, 4U);
  EXPECT_EQ(config.norm_eps, 1e-6);
  EXPECT_EQ(config.rotary.theta, 10000.0);
  EXPECT_TRUE(config.tied);
}

// A small file: hidden size 8, 2 heads of 4 numbers, as many or (falcon) 1 for keys and values, 32 numbers inside the
// feed-forward network. `tensors` are names without ".weight"; those of the only layer begin with a dot, and a plus
// means that there is a bias.
GgufHeader small(const std::string& architecture, const std::string& tensors,
                 const std::map<std::string, GgufValue>& settings = {}) {
  const bool falcon = architecture == "falcon";
  const std::map<std::string, std::vector<std::size_t>> extents = {
      {"token_embd", {8, 20}}, {"output", {8, 20}},    {".attn_qkv", {8, falcon ? 16U : 24U}},
      {".ffn_gate", {8, 32}},  {".ffn_down", {32, 8}}, {".ffn_up", {8, architecture == "phi3" ? 64U : 32U}},
      {".attn_q_norm", {4}},   {".attn_k_norm", {4}},  {"position_embd", {8, 64}},
  };
  GgufHeader header;
  const auto set = [&](const std::string& name, GgufValue value) {
    header.metadata.insert_or_assign(architecture + "." + name, std::move(value));
  };
  header.metadata.emplace("general.architecture", architecture);
  set("block_count", std::int64_t{1});
  set("context_length", std::int64_t{64});
  set("embedding_length", std::int64_t{8});
  set("feed_forward_length", std::int64_t{32});
  set("attention.head_count", std::int64_t{2});
  set("attention.head_count_kv", std::int64_t{falcon ? 1 : 2});
  set("attention.layer_norm_epsilon", static_cast<double>(1e-5F));
  set("attention.layer_norm_rms_epsilon", static_cast<double>(1e-5F));
  for (const auto& [name, value] : settings) set(name, value);
  std::istringstream words("token_embd " + tensors);
  for (std::string word; words >> word;) {
    const bool bias = word.ends_with('+');
    if (bias) word.pop_back();
    const auto found = extents.find(word);
    std::vector<std::size_t> shape = {8, 8};
    if (word.find("norm") != std::string::npos) shape = {8};
    if (found != extents.end()) shape = found->second;
    const std::string name = (word.starts_with('.') ? "blk.0" : "") + word;
    header.tensors.push_back({name + ".weight", shape, 0, 0, 0});
    if (bias) header.tensors.push_back({name + ".bias", {shape.back()}, 0, 0, 0});
  }
  return header;
}

const std::string kGated =
    "output_norm .attn_norm .attn_q .attn_k .attn_v .attn_output .ffn_norm .ffn_gate .ffn_up .ffn_down ";
const std::string kAfter = ".post_attention_norm .post_ffw_norm ";
const std::string kHeadNorms = ".attn_q_norm .attn_k_norm ";
const std::string kPlain = "output_norm+ .attn_norm+ .attn_output+ .ffn_up+ .ffn_down+ ";
const std::string kFalcon = "output_norm+ .attn_norm+ .attn_qkv .attn_output .ffn_up .ffn_down ";

// Names differ only by the row of the model type, which other tests cover; so do changes by what the row says of them.
TEST(PlanConversion, EveryArchitecture) {
  using enum TensorChange;
  struct Case {
    std::string architecture, model_type, tensors;
    std::string tensor, name;  // one of the file's, and what it becomes
    TensorChange change;
    std::map<std::string, GgufValue> settings = {};
  };
  const std::vector<Case> cases = {
      {"qwen2", "qwen2",
       "output_norm .attn_norm .attn_q+ .attn_k+ .attn_v+ .attn_output .ffn_norm .ffn_gate .ffn_up "
       ".ffn_down",
       "blk.0.attn_q.bias", "model.layers.0.self_attn.q_proj.bias", kNone},
      {"qwen3", "qwen3", kGated + kHeadNorms, "blk.0.attn_k_norm.weight", "model.layers.0.self_attn.k_norm.weight",
       kNone},
      {"smollm3", "smollm3", kGated, "blk.0.attn_k.weight", "model.layers.0.self_attn.k_proj.weight", kHalves},
      {"granite", "granite", kGated, "blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight", kHalves},
      {"gemma", "gemma", kGated, "output_norm.weight", "model.norm.weight", kMinusOne},
      {"gemma2", "gemma2", kGated + kAfter, "blk.0.post_ffw_norm.weight",
       "model.layers.0.post_feedforward_layernorm.weight", kMinusOne},
      {"gemma3", "gemma3_text", kGated + kAfter + kHeadNorms, "blk.0.attn_q_norm.weight",
       "model.layers.0.self_attn.q_norm.weight", kMinusOne},
      {"phi2", "phi", kPlain + "output+ .attn_q+ .attn_k+ .attn_v+", "output.bias", "lm_head.bias", kNone},
      {"phi3", "phi3", "output_norm .attn_norm .attn_qkv .attn_output .ffn_norm .ffn_up .ffn_down",
       "blk.0.ffn_up.weight", "model.layers.0.mlp.gate_up_proj.weight", kNone},
      {"starcoder2", "starcoder2", kPlain + ".attn_q+ .attn_k+ .attn_v+ .ffn_norm+", "blk.0.ffn_down.bias",
       "model.layers.0.mlp.c_proj.bias", kNone},
      {"stablelm", "stablelm",
       "output_norm+ output .attn_norm+ .attn_q .attn_k .attn_v .attn_output .ffn_gate .ffn_up "
       ".ffn_down",
       "blk.0.attn_norm.bias", "model.layers.0.input_layernorm.bias", kNone},
      {"gptneox",
       "gpt_neox",
       kPlain + "output .attn_qkv+ .ffn_norm+",
       "blk.0.attn_qkv.bias",
       "gpt_neox.layers.0.attention.query_key_value.bias",
       kByHead,
       {{"use_parallel_residual", true}}},
      {"falcon", "falcon", kFalcon, "blk.0.attn_norm.bias", "transformer.h.0.input_layernorm.bias", kNone},
      {"falcon", "falcon", kFalcon + ".attn_norm_2+", "blk.0.attn_norm.bias", "transformer.h.0.ln_mlp.bias", kNone},
      {"falcon", "falcon", kFalcon + ".attn_norm_2+", "blk.0.attn_norm_2.bias", "transformer.h.0.ln_attn.bias", kNone},
      {"bloom", "bloom", kPlain + "token_embd_norm+ .attn_qkv+ .ffn_norm+", "blk.0.attn_qkv.weight",
       "transformer.h.0.self_attention.query_key_value.weight", kByHead},
      {"command-r", "cohere", "output_norm .attn_norm .attn_q .attn_k .attn_v .attn_output .ffn_gate .ffn_up .ffn_down",
       "blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight", kNone},
      {"cohere2", "cohere2", "output_norm .attn_norm .attn_q .attn_k .attn_v .attn_output .ffn_gate .ffn_up .ffn_down",
       "blk.0.attn_q.weight", "model.layers.0.self_attn.q_proj.weight", kNone},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.architecture + " " + one.tensor);
    const GgufHeader header = small(one.architecture, one.tensors, one.settings);
    const ConvertedModel model = plan_conversion(header, {}, "small.gguf");
    EXPECT_EQ(model.settings.architecture->model_type, one.model_type);
    ASSERT_EQ(model.tensors.size(), header.tensors.size());
    for (const ConvertedTensor& tensor : model.tensors) {
      if (tensor.source->name != one.tensor) continue;
      EXPECT_EQ(tensor.name, one.name);
      EXPECT_EQ(tensor.change, one.change);
    }
  }
}

TEST(PlanConversion, SettingsOfArchitectures) {
  const auto config = [](const std::string& architecture, const std::string& tensors,
                         const std::map<std::string, GgufValue>& settings) {
    return plan_conversion(small(architecture, tensors, settings), {}, "small.gguf").config;
  };
  nlohmann::json found = config("granite", kGated, {{"logit_scale", 8.0}, {"residual_scale", 0.5}});
  EXPECT_EQ(found["logits_scaling"], 8.0);
  EXPECT_EQ(found["residual_multiplier"], 0.5);
  EXPECT_EQ(found["attention_multiplier"], 0.5);  // 1 / sqrt(4), as libllama does, not 1, as transformers would
  const std::string gemma3 = kGated + kAfter + kHeadNorms;
  found = config("gemma3", gemma3, {});
  EXPECT_EQ(found["sliding_window"], nullptr);
  EXPECT_EQ(found["layer_types"], (std::vector<std::string>{"full_attention"}));
  EXPECT_EQ(found["query_pre_attn_scalar"], 4);
  const std::map<std::string, GgufValue> window = {{"attention.sliding_window", std::int64_t{6}}};
  EXPECT_EQ(config("gemma3", gemma3, window)["layer_types"], (std::vector<std::string>{"sliding_attention"}));
  std::map<std::string, GgufValue> named = window;
  named.emplace("attention.sliding_window_pattern", GgufArray{GgufType::kBool, 1, {0}, {}});
  EXPECT_EQ(config("gemma3", gemma3, named)["layer_types"], (std::vector<std::string>{"full_attention"}));
  EXPECT_EQ(config("gemma2", kGated + kAfter, {})["sliding_window"], 4096);
  EXPECT_EQ(config("starcoder2", kPlain + ".attn_q+ .attn_k+ .attn_v+ .ffn_norm+", {})["sliding_window"], nullptr);
  found = config("falcon", kFalcon, {});
  EXPECT_EQ(found["multi_query"], true);
  EXPECT_EQ(found["new_decoder_architecture"], false);
  const std::string phi3 = "output_norm .attn_norm .attn_qkv .attn_output .ffn_norm .ffn_up .ffn_down";
  const GgufHeader with_window = small("phi3", phi3, window);
  const ConvertedModel model = plan_conversion(with_window, {}, "small.gguf");
  EXPECT_EQ(model.config["sliding_window"], 6);
  EXPECT_EQ(model.settings.windows, (std::vector<std::size_t>{0}));  // ignored by libllama
  found = config("phi2", kPlain + "output+ .attn_q+ .attn_k+ .attn_v+", {{"rope.dimension_count", std::int64_t{2}}});
  EXPECT_EQ(found["partial_rotary_factor"], 0.5);
}

TEST(PlanConversion, RefusesWhatItsArchitectureDoesNotRead) {
  const std::map<std::string, GgufValue> window = {{"attention.sliding_window", std::int64_t{6}}};
  const ErrorKind unsupported = ErrorKind::kUnsupportedModel;
  expect_refused(small("qwen3", kGated + kHeadNorms, window), unsupported, {"qwen3.attention.sliding_window", "lost"});
  expect_refused(small("gemma", kGated, {{"attn_logit_softcapping", 50.0}}), unsupported, {"attn_logit_softcapping"});
  expect_refused(small("qwen3", kGated, {{"logit_scale", 2.0}}), unsupported, {"qwen3.logit_scale"});
  expect_refused(small("bloom", kPlain, {{"feed_forward_length", std::int64_t{30}}}), unsupported,
                 {"bloom.feed_forward_length", "32", "30"});
  expect_refused(small("qwen2", kGated, {{"expert_count", std::int64_t{8}}}), unsupported,
                 {"one feed-forward network", "8 experts", "qwen2.expert_count", "attention"});
  expect_refused(small("qwen3moe", kGated), unsupported,
                 {"a mixture of experts", "0 experts", "qwen3moe.expert_count"});
  expect_refused(small("gptneox", kPlain), ErrorKind::kBadFile, {"gptneox.use_parallel_residual"});
  expect_refused(small("gemma2", kGated + kAfter, {{"attention.sliding_window_pattern", GgufArray{}}}),
                 ErrorKind::kBadFile, {"sliding_window_pattern", "1 entries"});
  expect_refused(small("gemma2", kGated + kAfter, {{"attention.sliding_window_pattern", std::int64_t{-1}}}),
                 ErrorKind::kBadFile, {"sliding_window_pattern", "-1"});
  const std::string phi2 = kPlain + "output+ .attn_q+ .attn_k+ .attn_v+";
  for (const std::int64_t turned : {std::int64_t{-2}, std::int64_t{0}, std::int64_t{3}, std::int64_t{1} << 62}) {
    EXPECT_THROW(plan_conversion(small("phi2", phi2, {{"rope.dimension_count", turned}}), {}, "small.gguf"), Error);
  }
  GgufHeader wide = small("gemma3", kGated + kAfter + kHeadNorms);
  wide.tensors.back().extents = {8};
  expect_refused(wide, ErrorKind::kBadFile, {"blk.0.attn_k_norm.weight"});
}

TEST(PlanConversion, RefusesListsForLayers) {
  GgufHeader header = small_llama();
  header.metadata.at("llama.feed_forward_length") = GgufArray{GgufType::kI32, 1, {12}, {}};
  expect_refused(header, ErrorKind::kUnsupportedModel, {"llama.feed_forward_length", "list"});
}

TEST(PlanConversion, TensorsWithoutAPlaceAreNamed) {
  for (const char* const name :
       {"blk.0.attn_q_norm.weight", "blk.1.attn_norm.weight", "blk.00.attn_norm.weight", "blk..attn_norm.weight",
        "blk.0.attn_q.bias", "blk.0.attn_qkv.weight", "output_norm.bias", "position_embd.weight", "token_embd", "x"}) {
    GgufHeader header = small_llama();
    header.tensors.push_back({name, {8}, 0, 0, 0});
    expect_refused(header, ErrorKind::kUnsupportedModel, {"small.gguf", name});
  }
  GgufHeader header = small_llama();
  header.tensors.back().bytes.reset();
  expect_refused(header, ErrorKind::kUnsupportedModel, {"output_norm.weight", "type"});
}

TEST(PlanConversion, ChecksSizes) {
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1} << 40}) {
    GgufHeader header = small_llama();
    header.metadata.at("llama.block_count") = bad;
    expect_refused(header, ErrorKind::kBadFile, {"small.gguf", "num_hidden_layers"});
  }
  GgufHeader header = small_llama();
  header.metadata.at("llama.block_count") = std::int64_t{999};
  expect_refused(header, ErrorKind::kBadFile, {"model.layers.1.input_layernorm.weight", "more"});
  header = small_llama();
  header.metadata.at("llama.attention.layer_norm_rms_epsilon") = std::nan("");
  expect_refused(header, ErrorKind::kBadFile, {"layer_norm_rms_epsilon", "finite"});
}

}  // namespace
}  // namespace attnflow::internal::gguf_layout_test
