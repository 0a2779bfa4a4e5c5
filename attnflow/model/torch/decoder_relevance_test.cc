// AttnLRP conserves relevance down to a layer: without biases, the amounts that positions write into each other in the
// top layer, plus the amount that bypasses its attention, sum to the explained score. Lower layers involve the softmax
// of attention, whose rule conserves almost nothing exactly; so does a mixture of experts, the softmax of its router.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/graph/relevance_mixing.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::decoder_relevance_test {
namespace {

constexpr double kEpsilon = 1e-12;

class TopSum final : public AttentionGradientSink {
 public:
  double sum = 0.0;
  double through = 0.0;  // the feed-forward nets
  double past = 0.0;
  void layer(const LayerGradients& gradients) override {
    if (sum != 0.0) return;  // layers arrive from the top
    const Tensor<double> relevance = signed_relevance(gradients);
    sum = std::accumulate(relevance.span().begin(), relevance.span().end(), 0.0);
    for (const float one : gradients.through_feed_forward.span()) through += static_cast<double>(one);
    for (const float one : gradients.past_feed_forward.span()) past += static_cast<double>(one);
  }
};

void expect_conserved(const test::ModelCopy& model) {
  model.edit_config([](nlohmann::json& config) {
    config["rms_norm_eps"] = kEpsilon;
    config["layer_norm_eps"] = kEpsilon;
  });
  const std::unique_ptr<Decoder> decoder = ModelFiles(model.path()).load_decoder();
  const TextInput input = {{5, 3, 8, 1, 9, 2, 7}, {}};
  RunOptions options;
  options.logit_positions = {input.ids.size() - 1};
  const ModelOutput output = decoder->run(input, nullptr, options);
  for (const std::size_t label : {4U, 11U, 200U}) {
    TopSum sink;
    decoder->gradients()->attention_gradients(input, {ScoreTarget::Kind::kLogit, label, {}}, sink,
                                              BackwardRule::kAttnLrp);
    const auto score = static_cast<double>(output.logits(0, label));
    EXPECT_NEAR(sink.sum, score, 2e-5 * (1.0 + std::abs(score)));
    EXPECT_NEAR(sink.through + sink.past, score, 2e-5 * (1.0 + std::abs(score)));
    EXPECT_GT(std::abs(sink.through), 1e-3 * std::abs(score));
  }
}

TEST(DecoderRelevance, IsConservedWhereHalvesFollowEachOther) { expect_conserved(test::decoder_copy("llama_grouped")); }

TEST(DecoderRelevance, IsConservedWhereHalvesStandBesideEachOther) {
  const test::ModelCopy model = test::decoder_copy("llama_grouped");
  model.edit_config([](nlohmann::json& config) {
    config["model_type"] = "stablelm";
    config["architectures"] = {"StableLmForCausalLM"};
    config["use_parallel_residual"] = true;
    config.erase("head_dim");
    config["rope_parameters"]["partial_rotary_factor"] = 0.5;
  });
  model.edit_weights([](test::WeightsFile& weights) {
    for (int layer = 0; layer < 3; ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".";
      weights.rename(prefix + "post_attention_layernorm.weight", "other." + std::to_string(layer));
      weights.add(prefix + "input_layernorm.bias", std::vector<float>(24, 0.0F));
    }
    weights.add("model.norm.bias", std::vector<float>(24, 0.0F));
  });
  expect_conserved(model);
}

TEST(DecoderRelevance, IsConservedWhereWhatHalvesAddIsNormed) {
  const test::ModelCopy model = test::decoder_copy("llama_grouped");
  model.edit_config([](nlohmann::json& config) {
    config["model_type"] = "olmo2";
    config["architectures"] = {"Olmo2ForCausalLM"};
  });
  model.edit_weights([](test::WeightsFile& weights) {
    for (int layer = 0; layer < 3; ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".";
      weights.rename(prefix + "input_layernorm.weight", prefix + "post_feedforward_layernorm.weight");
      weights.add(prefix + "self_attn.q_norm.weight", std::vector<float>(24, 2.0F));
      weights.add(prefix + "self_attn.k_norm.weight", std::vector<float>(8, 2.0F));
    }
  });
  expect_conserved(model);
}

class TopSlopes final : public AttentionGradientSink {
 public:
  std::vector<float> above;  // of the top layer's output
  std::vector<float> below;  // of what enters its feed-forward network
  void top(TensorView<const float> /*residual*/, TensorView<const float> gradient) override { keep(gradient, above); }
  void layer(const LayerGradients& gradients) override {
    if (below.empty()) keep(gradients.output_gradient, below);
  }

 private:
  static void keep(TensorView<const float> from, std::vector<float>& to) {
    to.assign(from.span().begin(), from.span().end());
  }
};

TopSlopes top_slopes(const test::ModelCopy& model) {
  const std::unique_ptr<Decoder> decoder = ModelFiles(model.path()).load_decoder();
  TopSlopes slopes;
  decoder->gradients()->attention_gradients({{5, 3, 8, 1, 9, 2, 7}, {}}, {ScoreTarget::Kind::kLogit, 11, {}}, slopes,
                                            BackwardRule::kAttnLrp);
  return slopes;
}

// A token's experts are the same network, and equally good to the router: together they are that network. Each is
// multiplied by its weight, so half of the relevance that the network would get goes to the weights, and these, a
// softmax of scores that change nothing, pass none of it on.
TEST(DecoderRelevance, ExpertsGetHalfOfWhatTheirSumGets) {
  const test::ModelCopy dense = test::decoder_copy("llama_grouped");
  const test::ModelCopy mixture = test::decoder_copy("llama_grouped");
  mixture.edit_config([](nlohmann::json& config) {
    config["model_type"] = "mixtral";
    config["architectures"] = {"MixtralForCausalLM"};
    config["num_local_experts"] = 3;
    config["num_experts_per_tok"] = 2;
    config["sliding_window"] = nullptr;
  });
  mixture.edit_weights([](test::WeightsFile& weights) {
    for (int layer = 0; layer < 3; ++layer) {
      const std::string prefix = "model.layers." + std::to_string(layer) + ".";
      for (const auto& [dense_name, name] :
           {std::pair("gate_proj", "w1"), std::pair("up_proj", "w3"), std::pair("down_proj", "w2")}) {
        const std::string stored = prefix + "mlp." + dense_name + ".weight";
        for (int expert = 1; expert < 3; ++expert) {
          const std::string expert_prefix = prefix + "block_sparse_moe.experts." + std::to_string(expert) + ".";
          const std::string copy = expert_prefix + name + ".weight";
          nlohmann::json entry = weights.header.at(stored);
          const auto [begin, end] = entry.at("data_offsets").get<std::array<std::size_t, 2>>();
          entry["data_offsets"] = {weights.data.size(), weights.data.size() + end - begin};
          weights.data += weights.data.substr(begin, end - begin);
          weights.header[copy] = entry;
        }
        weights.rename(stored, prefix + "block_sparse_moe.experts.0." + name + ".weight");
      }
      const std::string router = prefix + "block_sparse_moe.gate.weight";
      weights.add(router, std::vector<float>(std::size_t{3} * 24, 0.0F));
      weights.header[router]["shape"] = {3, 24};
    }
  });
  const TopSlopes one = top_slopes(dense);
  const TopSlopes several = top_slopes(mixture);
  ASSERT_EQ(one.above.size(), one.below.size());
  ASSERT_EQ(one.below.size(), several.below.size());
  float largest = 0.0F;
  for (std::size_t i = 0; i < one.below.size(); ++i) {
    EXPECT_NEAR(several.above[i], one.above[i], 1e-6F);
    const float through = one.below[i] - one.above[i];
    EXPECT_NEAR(several.below[i] - several.above[i], through / 2.0F, 1e-6F) << i;
    largest = std::max(largest, std::abs(through));
  }
  EXPECT_GT(largest, 1e-3F);
}

}  // namespace
}  // namespace attnflow::decoder_relevance_test
