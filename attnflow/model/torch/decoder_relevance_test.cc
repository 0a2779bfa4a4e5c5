// AttnLRP conserves relevance down to a layer: without biases, the amounts that positions write into each other in the
// top layer, plus the amount that bypasses its attention, sum to the explained score. Lower layers involve the softmax
// of attention, whose rule conserves almost nothing exactly.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numeric>
#include <string>
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
  void layer(const LayerGradients& gradients) override {
    const Tensor<double> relevance = signed_relevance(gradients);
    if (sum == 0.0)
      sum = std::accumulate(relevance.span().begin(), relevance.span().end(), 0.0);  // layers arrive from the top
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

}  // namespace
}  // namespace attnflow::decoder_relevance_test
