#include "attnflow/rollout/descending_rollout.h"

#include <gtest/gtest.h>

#include <vector>

#include "attnflow/base/error_for_test.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::descending_rollout_test {
namespace {

void show(DescendingRollout& sink, const AttentionStack& stack, std::size_t layer) {
  const TensorView<const float> attention = stack.weights()[layer - 1];
  sink.layer({.layer = layer, .attention = attention, .attention_gradient = attention});
}

std::vector<double> row_of(const AttentionStack& stack, const DescendingQuestion& question) {
  DescendingRollout sink(question);
  for (std::size_t l = stack.layers(); l > 0; --l) show(sink, stack, l);
  return sink.take();
}

TEST(DescendingRollout, IsTheRowOfRolloutForEverySpanOfLayers) {
  for (const bool causal : {false, true}) {
    const AttentionStack stack = random_stack({.layers = 5, .heads = 3, .tokens = 11, .causal = causal, .seed = 9});
    const AttentionGraph graph = attention_graph(stack, {.residual = 0.3});
    for (std::size_t m = 0; m < 5; ++m) {
      for (std::size_t top = m + 1; top <= 5; ++top) {
        const std::vector<double> expected = rollout_row(graph, 7, top, m);
        const std::vector<double> row = row_of(stack, {.tokens = {7}, .top = top, .start_layer = m, .residual = 0.3});
        ASSERT_EQ(row.size(), expected.size());
        for (std::size_t j = 0; j < row.size(); ++j) EXPECT_NEAR(row[j], expected[j], 1e-14);
      }
    }
  }
}

TEST(DescendingRollout, AveragesTheTokensOfAWord) {
  const AttentionStack stack = random_stack({.layers = 3, .heads = 2, .tokens = 6, .seed = 4});
  const std::vector<double> both = row_of(stack, {.tokens = {2, 3}, .top = 3});
  const std::vector<double> first = row_of(stack, {.tokens = {2}, .top = 3});
  const std::vector<double> second = row_of(stack, {.tokens = {3}, .top = 3});
  for (std::size_t j = 0; j < both.size(); ++j) EXPECT_NEAR(both[j], (first[j] + second[j]) / 2.0, 1e-14);
}

TEST(DescendingRollout, RefusesLayersOutOfOrderAndOutputsThatDoNotExist) {
  const AttentionStack stack = random_stack({.layers = 3, .heads = 2, .tokens = 6, .seed = 4});
  DescendingRollout ascending({.tokens = {0}, .top = 3});
  test::expect_error(ErrorKind::kOther, {"expected layer 3, found layer 1"}, [&] { show(ascending, stack, 1); });
  DescendingRollout half({.tokens = {0}, .top = 3});
  show(half, stack, 3);
  test::expect_error(ErrorKind::kOther, {"expected layers down to 1, found none below 3"}, [&] { half.take(); });
  DescendingRollout outside({.tokens = {6}, .top = 3});
  test::expect_error(ErrorKind::kOther, {"expected output tokens below 6, found 6"}, [&] { show(outside, stack, 3); });
}

}  // namespace
}  // namespace attnflow::descending_rollout_test
