// In an encoder whose norms follow the blocks, AttnLRP's rule makes the norm linear: without its bias, a position's
// relevance below the last norm is that above it. Both are known: what goes through the feed-forward net and what
// passes it by stand below, the last residual stream above.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "attnflow/graph/relevance_mixing.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"

namespace attnflow::encoder_relevance_test {
namespace {

class LastNorm final : public AttentionGradientSink {
 public:
  std::vector<double> above;
  std::vector<double> through;
  std::vector<double> past;
  std::size_t layers = 0;

  void top(TensorView<const float> residual, TensorView<const float> gradient) override {
    for (std::size_t i = 0; i < residual.extent(0); ++i) {
      double sum = 0.0;
      for (std::size_t c = 0; c < residual.extent(1); ++c) sum += double{residual(i, c)} * double{gradient(i, c)};
      above.push_back(sum);
    }
  }
  void layer(const LayerGradients& gradients) override {
    const std::size_t n = gradients.attention.extent(1);
    EXPECT_EQ(gradients.through_feed_forward.shape(), Shape{n});
    EXPECT_EQ(gradients.past_feed_forward.shape(), Shape{n});
    if (layers++ > 0) return;  // the last one comes first
    through.assign(gradients.through_feed_forward.span().begin(), gradients.through_feed_forward.span().end());
    past.assign(gradients.past_feed_forward.span().begin(), gradients.past_feed_forward.span().end());
  }
};

void remove_biases_of_norms(test::WeightsFile& weights) {
  for (const auto& [name, entry] : weights.header.items()) {
    if (!name.ends_with("LayerNorm.bias")) continue;
    const std::size_t begin = entry.at("data_offsets").at(0);
    const std::size_t end = entry.at("data_offsets").at(1);
    std::memset(weights.data.data() + begin, 0, end - begin);
  }
}

TEST(EncoderRelevance, FeedForwardNetAndWhatPassesItMakeUpTheStream) {
  const test::ModelCopy model("bert_masked_lm");
  model.edit_weights(remove_biases_of_norms);
  const std::unique_ptr<Encoder> encoder = ModelFiles(model.path()).load_encoder();
  const TextInput input{{5, 3, 8, 1, 9, 2, 7}, {}};
  LastNorm found;
  encoder->gradients()->attention_gradients(input, {ScoreTarget::Kind::kLogit, 11, {}, std::size_t{3}}, found,
                                            BackwardRule::kAttnLrp);
  ASSERT_EQ(found.above.size(), input.ids.size());
  ASSERT_EQ(found.through.size(), input.ids.size());
  EXPECT_EQ(found.layers, encoder->info().layers);
  double largest = 0.0;
  for (const double sum : found.above) largest = std::max(largest, std::abs(sum));
  ASSERT_GT(largest, 0.0);
  for (std::size_t i = 0; i < input.ids.size(); ++i) {
    EXPECT_NEAR(found.through[i] + found.past[i], found.above[i], 1e-4 * largest) << i;
  }
  EXPECT_GT(std::abs(found.through[3]), 1e-3 * largest);
}

}  // namespace
}  // namespace attnflow::encoder_relevance_test
