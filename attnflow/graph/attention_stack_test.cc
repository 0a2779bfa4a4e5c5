#include "attnflow/graph/attention_stack.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "attnflow/base/error_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::attention_stack_test {
namespace {

void expect_bad(const Tensor<float>& weights, const std::string& words) {
  test::expect_error(ErrorKind::kBadFile, {words}, [&] { const AttentionStack stack(weights); });
}

TEST(AttentionStack, RefusesWrongShapes) {
  expect_bad(Tensor<float>({2, 2}), "rank 4");
  expect_bad(Tensor<float>({1, 1, 2, 3}), "as many queries as keys");
  expect_bad(Tensor<float>({1, 0, 2, 2}), "at least one");
  for (const auto& [shape, advice] : std::vector<std::pair<Shape, std::string>>{
           {{2, 2}, "attention[None, None]"},
           {{3, 2, 2}, "attention[:, None] adds the head"},
           {{3, 4, 1, 2, 2}, "take one input of the batch"},
           {{3, 5, 5, 2}, "np.moveaxis(attention, -1, 1)"},
           {{5, 5, 3, 2}, "np.moveaxis(attention, (2, 3), (0, 1))"},
           {{3, 2, 1, 5}, "without padding or a key cache"},
       }) {
    expect_bad(Tensor<float>(shape), advice);
  }
}

TEST(AttentionStack, NamesTheFirstBadElement) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e-9F}) {
    Tensor<float> weights({2, 3, 4, 4});
    weights(1, 2, 3, 1) = bad;
    expect_bad(weights, "layer 2, head 2, query 3, key 1");
  }
}

TEST(AttentionStack, SaysWhatMakesSuchWeights) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const auto& [row, advice] :
       std::vector<std::pair<std::vector<float>, std::string>>{{{kNan, kNan}, "whole row of NaN comes from padding"},
                                                               {{0.5F, kNan}, "the model overflowed"},
                                                               {{-1.0F, 2.0F}, "after softmax"}}) {
    const Tensor<float> weights({1, 1, 2, 2}, {0.5F, 0.5F, row[0], row[1]});
    expect_bad(weights, advice);
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

TEST(InspectRowSums, TellsRowsOfZerosAndSwappedDimensionsApart) {
  Tensor<float> weights({1, 2, 2, 2}, {0.5F, 0.5F, 5.0F, 1.0F, 0.0F, 0.0F, 0.0F, 0.0F});
  RowSums sums = inspect_row_sums(weights.view());
  EXPECT_EQ(sums.zero_rows, 2U);
  EXPECT_EQ(sums.head, 1U);
  EXPECT_EQ(sums.query, 0U);
  EXPECT_EQ(sums.sum, 0.0);
  EXPECT_EQ(sums.largest_error, 5.0);
  EXPECT_FALSE(sums.columns_sum_to_one);
  sums = inspect_row_sums(Tensor<double>({1, 1, 2, 2}, {1.0, 0.25, 0.0, 0.75}).view());  // causal, transposed
  EXPECT_TRUE(sums.columns_sum_to_one);
  EXPECT_EQ(sums.zero_rows, 0U);
  EXPECT_FALSE(inspect_row_sums(Tensor<double>({1, 1, 2, 2}, {0.5, 0.5, 0.5, 0.5}).view()).columns_sum_to_one);
}

TEST(RenormalizeRows, MakesRowsOfZerosThoseOfTheIdentity) {
  Tensor<double> weights({1, 2, 2, 2}, {0.0, 0.0, 1.0, 9.0, 3.0, 1.0, 0.0, 0.0});
  const ZeroRows zeros = renormalize_rows(weights, 4);
  EXPECT_EQ(weights, Tensor<double>({1, 2, 2, 2}, {1.0, 0.0, 0.1, 0.9, 0.75, 0.25, 0.0, 1.0}));
  EXPECT_EQ(zeros.count, 2U);
  EXPECT_EQ(zeros.layers, std::set<std::size_t>{5});
  EXPECT_EQ(zeros.heads, (std::set<std::size_t>{0, 1}));
  EXPECT_EQ(zeros.queries, (std::set<std::size_t>{0, 1}));
}

TEST(IsCausal, LooksAboveTheDiagonal) {
  EXPECT_TRUE(is_causal(random_stack({.tokens = 5, .causal = true, .seed = 1}).weights().view()));
  EXPECT_FALSE(is_causal(random_stack({.tokens = 5, .seed = 1}).weights().view()));
  EXPECT_FALSE(is_causal(random_stack({.tokens = 1, .causal = true, .seed = 1}).weights().view()));
}

TEST(StackSink, PutsChunksTogether) {
  const AttentionStack stack = random_stack({.layers = 2, .heads = 3, .tokens = 5, .causal = true, .seed = 4});
  StackSink sink(2, 5);
  // Queries 0 and 1 of all layers, then 2 to 4: two chunks, each with only the keys so far.
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
