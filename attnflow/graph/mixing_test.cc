#include "attnflow/graph/mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::mixing_test {
namespace {

const Tensor<float> kTwoHeads({2, 2, 2}, {0.25F, 0.75F, 1.0F, 0.0F, 0.75F, 0.25F, 0.5F, 0.5F});

TEST(FuseHeads, MeanMaxMinAndOneHead) {
  EXPECT_EQ(fuse_heads(kTwoHeads.view(), HeadFusion::kMean), Tensor<double>({2, 2}, {0.5, 0.5, 0.75, 0.25}));
  // max: rows {0.75, 0.75} and {1, 0.5}; min: {0.25, 0.25} and {0.5, 0}; then rows sum to 1.
  EXPECT_EQ(fuse_heads(kTwoHeads.view(), HeadFusion::kMax), Tensor<double>({2, 2}, {0.5, 0.5, 1.0 / 1.5, 0.5 / 1.5}));
  EXPECT_EQ(fuse_heads(kTwoHeads.view(), HeadFusion::kMin), Tensor<double>({2, 2}, {0.5, 0.5, 1.0, 0.0}));
  EXPECT_EQ(fuse_heads(kTwoHeads.view(), HeadFusion::kSingle, 1), Tensor<double>({2, 2}, {0.75, 0.25, 0.5, 0.5}));
  EXPECT_THROW(fuse_heads(kTwoHeads.view(), HeadFusion::kSingle, 2), Error);
}

TEST(FusedWeights, NothingIsRenormalisedThatNoStepChanged) {
  const Tensor<float> off({1, 1, 2}, {0.5F, 0.4F});
  const Tensor<double> weights = fused_weights(off.view(), {});
  EXPECT_EQ(weights(0, 0), 0.5);
  EXPECT_EQ(weights(0, 1), static_cast<double>(0.4F));
}

TEST(FusedWeights, MaskColumnsMovesTheRestUpAndLetsEmptyRowsKeepThemselves) {
  const Tensor<float> one({1, 3, 3}, {1.0F, 0.0F, 0.0F, 0.5F, 0.5F, 0.0F, 0.5F, 0.25F, 0.25F});
  MixingOptions options{.mask_columns = {0}};
  EXPECT_EQ(fused_weights(one.view(), options), Tensor<double>({3, 3}, {1, 0, 0, 0, 1, 0, 0, 0.5, 0.5}));
  const Tensor<float> rows({1, 2, 3}, {0.0F, 0.0F, 0.0F, 1.0F, 0.0F, 0.0F});
  EXPECT_EQ(fused_rows(rows.view(), options, 1), Tensor<double>({2, 3}, {0, 0, 0, 0, 0, 1}));
}

TEST(FusedWeights, DiscardTakesTheSmallestOfTheWholeMatrix) {
  // Nine weights; a share of 4/9 removes 0.1, 0.1, 0.1 and one of the two 0.2 (the later one).
  const Tensor<float> one({1, 3, 3}, {0.5F, 0.4F, 0.1F, 0.1F, 0.3F, 0.6F, 0.2F, 0.7F, 0.1F});
  MixingOptions options{.residual = 0.0, .discard = 4.0 / 9.0};
  const Tensor<double> weights = fused_weights(one.view(), options);
  EXPECT_NEAR(weights(0, 0), 5.0 / 9.0, 1e-7);
  EXPECT_NEAR(weights(0, 1), 4.0 / 9.0, 1e-7);
  EXPECT_EQ(weights(0, 2), 0.0);
  EXPECT_EQ(weights(1, 0), 0.0);
  EXPECT_EQ(weights(2, 0), 0.0);
  EXPECT_EQ(weights(2, 1), 1.0);
  EXPECT_EQ(weights(2, 2), 0.0);
  options.discard_keeps = {0};
  const Tensor<double> kept = fused_weights(one.view(), options);
  EXPECT_GT(kept(1, 0), 0.0);
  EXPECT_GT(kept(2, 0), 0.0);
  EXPECT_EQ(kept(1, 1), 0.0);  // 0.3
  EXPECT_EQ(kept(0, 1), 0.0);  // 0.4
  options.discard = 1.0;
  EXPECT_THROW(fused_weights(one.view(), options), Error);
}

TEST(FusedWeights, RowsThatNoStepChangedStayAsTheyAre) {
  const Tensor<float> any({1, 2, 2}, {5.0F, 5.0F, 0.5F, 4.0F});
  MixingOptions options{.discard = 0.25};
  EXPECT_EQ(fused_weights(any.view(), options), Tensor<double>({2, 2}, {5.0, 5.0, 0.0, 1.0}));
}

TEST(FusedWeights, MaxAndMinRenormaliseOneHeadAsTwoThatAreEqual) {
  const Tensor<float> one({1, 2, 2}, {0.2F, 0.1F, 0.9F, 0.6F});
  const Tensor<float> two({2, 2, 2}, {0.2F, 0.1F, 0.9F, 0.6F, 0.2F, 0.1F, 0.9F, 0.6F});
  for (const HeadFusion fusion : {HeadFusion::kMax, HeadFusion::kMin}) {
    EXPECT_EQ(fuse_heads(one.view(), fusion), fuse_heads(two.view(), fusion));
    EXPECT_NEAR(fuse_heads(one.view(), fusion)(0, 0), 2.0 / 3.0, 1e-7);
  }
}

TEST(FusedWeights, MinOfHeadsThatShareNoKeyKeepsThePosition) {
  const Tensor<float> two({2, 2, 2}, {0.0F, 1.0F, 1.0F, 0.0F, 1.0F, 0.0F, 0.5F, 0.5F});
  EXPECT_EQ(fuse_heads(two.view(), HeadFusion::kMin), Tensor<double>({2, 2}, {1, 0, 1, 0}));
  EXPECT_EQ(fuse_heads(two.view(), HeadFusion::kMin, 0, 1), Tensor<double>({2, 2}, {0, 1, 1, 0}));
}

TEST(FusedWeights, TakesFloat64AsItIs) {
  const Tensor<double> two({2, 1, 2}, {0.1, 0.9, 0.3, 0.7});
  EXPECT_EQ(fused_weights(two.view(), {}), Tensor<double>({1, 2}, {(0.1 + 0.3) / 2, (0.9 + 0.7) / 2}));
  const WideAttentionStack stack(Tensor<double>({1, 1, 2, 2}, {0.4, 0.6, 0.1, 0.9}));
  const AttentionGraph graph = attention_graph(stack, {.heads = HeadFusion::kSingle});
  EXPECT_EQ(graph.weights, Tensor<double>({1, 2, 2}, {0.4, 0.6, 0.1, 0.9}));
  EXPECT_EQ(graph.weights_below, graph.weights);
}

TEST(FusedWeights, ZerosCountToTheShareThatDiscardDrops) {
  // Three of the nine weights are 0 already, so a share of 4 / 9 removes one more.
  const Tensor<float> causal({1, 3, 3}, {1.0F, 0, 0, 0.5F, 0.5F, 0, 0.25F, 0.5F, 0.25F});
  MixingOptions options{.discard = 4.0 / 9.0};
  EXPECT_EQ(fused_weights(causal.view(), options),
            Tensor<double>({3, 3}, {1, 0, 0, 0.5, 0.5, 0, 1.0 / 3.0, 2.0 / 3.0, 0}));
}

TEST(FusedWeights, DiscardTies) {
  const Tensor<float> flat({1, 2, 2}, {0.5F, 0.5F, 0.5F, 0.5F});
  MixingOptions options{.discard = 0.5};
  EXPECT_EQ(fused_weights(flat.view(), options),
            Tensor<double>({2, 2}, {0.5, 0.5, 0.0, 1.0}));  // nothing is left of the second row
}

TEST(FusedWeights, RefusesWhatIsNotAttention) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -0.5F}) {
    const Tensor<float> attention({1, 1, 1}, {bad});
    EXPECT_THROW(fused_weights(attention.view(), {}), Error);
    // In one of two heads, where fusing could hide it.
    const Tensor<float> two({2, 1, 1}, {1.0F, bad});
    for (const HeadFusion fusion : {HeadFusion::kMean, HeadFusion::kMax, HeadFusion::kMin, HeadFusion::kSingle}) {
      MixingOptions options{.heads = fusion};
      EXPECT_THROW(fused_weights(two.view(), options), Error);
    }
  }
}

TEST(AddResidual, MixesWithTheIdentity) {
  const Tensor<double> weights({2, 2}, {0.25, 0.75, 1.0, 0.0});
  EXPECT_EQ(add_residual(weights.view(), 0.5), Tensor<double>({2, 2}, {0.625, 0.375, 0.5, 0.5}));
  EXPECT_EQ(add_residual(weights.view(), 0.0), weights);
  EXPECT_THROW(add_residual(weights.view(), 1.5), Error);
  EXPECT_THROW(add_residual(weights.view(), std::nan("")), Error);
}

TEST(GraphSink, OneHeadOnTopOfTheMean) {
  const AttentionStack stack = random_stack({.layers = 3, .heads = 4, .tokens = 5, .seed = 2});
  MixingOptions options{.heads = HeadFusion::kSingle, .head = 3};
  const AttentionGraph graph = attention_graph(stack, options);
  ASSERT_TRUE(graph.one_head());
  for (std::size_t l = 1; l <= 3; ++l) {
    EXPECT_EQ(graph.top(l), add_residual(fuse_heads(stack.layer(l), HeadFusion::kSingle, 3).view(), 0.5));
    EXPECT_EQ(graph.below(l), add_residual(fuse_heads(stack.layer(l), HeadFusion::kMean).view(), 0.5));
  }
}

TEST(GraphSink, RefusesChunks) {
  GraphSink sink(1, {});
  const Tensor<float> chunk({1, 1, 2}, {0.5F, 0.5F});
  EXPECT_THROW(sink.layer(1, 1, chunk.view()), Error);
}

TEST(UniformGraph, SpreadsOverWhatIsSeen) {
  const AttentionGraph causal = uniform_graph(2, 3, true, 0.0);
  EXPECT_EQ(causal.top(2), Tensor<double>({3, 3}, {1, 0, 0, 0.5, 0.5, 0, 1.0 / 3, 1.0 / 3, 1.0 / 3}));
  const AttentionGraph all = uniform_graph(1, 2, false, 0.5);
  EXPECT_EQ(all.top(1), Tensor<double>({2, 2}, {0.75, 0.25, 0.25, 0.75}));
}

// Two source tokens and two of the target; a layer of the encoder, then two of the decoder's.
TEST(UniformGraph, SpreadsOverWhatEachLayerOfAJointGraphSees) {
  const AttentionGraph joint = uniform_graph(3, 4, AttentionMask::joint(2, 1), 0.0);
  EXPECT_EQ(joint.top(1), Tensor<double>({4, 4}, {0.5, 0.5, 0, 0, 0.5, 0.5, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
  EXPECT_EQ(joint.top(2), Tensor<double>({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0.5, 0.5}));
  EXPECT_EQ(joint.top(3), Tensor<double>({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0.5, 0.5, 0, 0, 0.5, 0.5, 0, 0}));
}

}  // namespace
}  // namespace attnflow::mixing_test
