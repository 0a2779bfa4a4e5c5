#include "attnflow/graph/attention_stack.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::attention_stack_test {
namespace {

std::string message_of(Tensor<float> weights) {
  try {
    const AttentionStack stack(std::move(weights));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadFile);
    return error.what();
  }
}

TEST(AttentionStack, RefusesWrongShapes) {
  EXPECT_NE(message_of(Tensor<float>({2, 2})).find("rank 4"), std::string::npos);
  EXPECT_NE(message_of(Tensor<float>({1, 1, 2, 3})).find("as many queries as keys"), std::string::npos);
  EXPECT_NE(message_of(Tensor<float>({1, 0, 2, 2})).find("at least one"), std::string::npos);
  EXPECT_EQ(message_of(Tensor<float>({1, 1, 1, 1}, {1.0F})), "");
}

TEST(AttentionStack, NamesTheFirstBadElement) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e-9F}) {
    Tensor<float> weights({2, 3, 4, 4});
    weights(1, 2, 3, 1) = bad;
    EXPECT_NE(message_of(weights).find("layer 2, head 2, query 3, key 1"), std::string::npos);
  }
}

TEST(InspectRowSums, FindsTheWorstRow) {
  Tensor<float> weights = random_stack({.layers = 3, .heads = 2, .tokens = 6, .seed = 1}).weights();
  EXPECT_LT(inspect_row_sums(weights.view()).largest_error, 1e-6);
  weights(2, 1, 4, 0) += 0.25F;
  const RowSums sums = inspect_row_sums(weights.view());
  EXPECT_NEAR(sums.largest_error, 0.25, 1e-6);
  EXPECT_EQ(sums.layer, 3U);
  EXPECT_EQ(sums.head, 1U);
  EXPECT_EQ(sums.query, 4U);
}

TEST(RenormalizeRows, LeavesEmptyRows) {
  Tensor<double> weights({1, 1, 2, 2}, {0.0, 0.0, 1.0, 9.0});
  renormalize_rows(weights);
  EXPECT_EQ(weights, Tensor<double>({1, 1, 2, 2}, {0.0, 0.0, 0.1, 0.9}));
}

TEST(IsCausal, LooksAboveTheDiagonal) {
  EXPECT_TRUE(is_causal(random_stack({.tokens = 5, .causal = true, .seed = 1}).weights().view()));
  EXPECT_FALSE(is_causal(random_stack({.tokens = 5, .seed = 1}).weights().view()));
  EXPECT_FALSE(is_causal(random_stack({.tokens = 1, .causal = true, .seed = 1}).weights().view()));
}

TEST(StackSink, PutsChunksTogether) {
  const AttentionStack stack = random_stack({.layers = 2, .heads = 3, .tokens = 5, .causal = true, .seed = 4});
  StackSink sink(2, 5);
  // Queries 0 and 1 of all layers, then 2 to 4, as an engine with a prompt in two chunks does; a chunk sees only the
  // keys so far.
  for (const auto& [begin, end] : {std::pair<std::size_t, std::size_t>{0, 2}, {2, 5}}) {
    for (std::size_t l = 1; l <= 2; ++l) {
      Tensor<float> chunk({3, end - begin, end});
      for (std::size_t h = 0; h < 3; ++h) {
        for (std::size_t q = begin; q < end; ++q) {
          for (std::size_t k = 0; k < end; ++k) chunk(h, q - begin, k) = stack.weights()(l - 1, h, q, k);
        }
      }
      sink.layer(l, begin, chunk.view());
    }
  }
  EXPECT_EQ(sink.take().weights(), stack.weights());
}

TEST(StackSink, MissesNothing) {
  StackSink sink(1, 2);
  const Tensor<float> first({1, 1, 1}, {1.0F});
  sink.layer(1, 0, first.view());
  EXPECT_THROW(sink.take(), Error);
}

}  // namespace
}  // namespace attnflow::attention_stack_test
