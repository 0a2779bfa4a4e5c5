#include "attnflow/model/gguf_layout.h"

#include <gtest/gtest.h>

#include <cmath>

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
  const DecoderConfig& config = model.settings;
  EXPECT_EQ(config.architecture->model_type, "llama");
  EXPECT_EQ(config.vocabulary, 20U);
  EXPECT_EQ(config.layers, 1U);
  EXPECT_EQ(config.key_value_heads, 1U);
  EXPECT_EQ(config.head_width, 4U);
  EXPECT_EQ(config.norm_eps, 1e-6);
  EXPECT_EQ(config.rotary.theta, 10000.0);
  EXPECT_TRUE(config.tied);
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
