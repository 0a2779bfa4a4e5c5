#include "attnflow/attribution/running_layers.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <utility>
#include <vector>

#include "attnflow/attribution/attribute.h"
#include "attnflow/base/error.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::running_layers_test {
namespace {

constexpr std::size_t kLayers = 5;
constexpr std::size_t kTokens = 67;  // more than one block of a product

AttentionStack test_stack(bool causal) {
  return random_stack({.layers = kLayers, .heads = 3, .tokens = kTokens, .causal = causal, .seed = causal ? 8U : 7U});
}

RunningLayers layers_of(const AttentionStack& stack, RunningOptions options) {
  RunningLayers running(std::move(options));
  for (std::size_t l = 1; l <= stack.layers(); ++l) running.add(stack.layer(l));
  return running;
}

TEST(RunningLayers, HasTheBitsOfTheGraph) {
  for (const bool causal : {false, true}) {
    const AttentionStack stack = test_stack(causal);
    GraphSource graph(attention_graph(stack, {.residual = 0.3}), causal);
    for (const std::vector<std::size_t>& kept : {std::vector<std::size_t>{}, {3, 5}, {2}, {2, 3, 4, 5}}) {
      const std::vector<std::size_t> layers = kept.empty() ? std::vector<std::size_t>{kLayers} : kept;
      for (const std::size_t start : {0U, 1U}) {
        for (const Method method : {Method::kRaw, Method::kRollout}) {
          RunningLayers running = layers_of(stack, {.layers = kept, .start_layer = start, .residual = 0.3});
          EXPECT_EQ(running.causal(), causal);
          Query query{.method = method, .layers = layers, .start_layer = start, .outputs = single_tokens(kTokens)};
          query.baseline = true;
          const Attribution all = attribute(graph, query);
          query.outputs = {{4}};
          RowsSource source = running.source();
          const Attribution row = attribute(source, query);
          query.outputs = single_tokens(kTokens);
          const Attribution found = attribute(source, query);
          EXPECT_EQ(found.values, all.values);
          EXPECT_EQ(found.baseline, all.baseline);
          for (std::size_t l = 0; l < layers.size(); ++l) {
            for (std::size_t j = 0; j < kTokens; ++j) EXPECT_EQ(row.values(l, 0, j), all.values(l, 4, j));
          }
        }
      }
    }
    const std::vector<double> on_first = layers_of(stack, {}).on_first(6);
    for (std::size_t l = 0; l < kLayers; ++l) EXPECT_EQ(on_first[l], graph.graph().weights(l, 6, 0));
  }
}

TEST(RunningLayers, RefusesWhatItHasNotKept) {
  const AttentionStack stack = test_stack(false);
  RunningLayers running = layers_of(stack, {.layers = {2, 4}, .raw = false});
  RowsSource source = running.source();
  const auto ask = [&](Method method, std::size_t layer, std::size_t start) {
    attribute(source, {.method = method, .layers = {layer}, .start_layer = start, .outputs = {{0}}});
  };
  EXPECT_NO_THROW(ask(Method::kRollout, 4, 0));
  EXPECT_THROW(ask(Method::kRollout, 3, 0), Error);
  EXPECT_THROW(ask(Method::kRollout, 4, 1), Error);
  EXPECT_THROW(ask(Method::kRaw, 4, 0), Error);
  EXPECT_THROW(ask(Method::kFlow, 4, 0), Error);
  EXPECT_THROW(running.add(Tensor<double>({3, 3, 3}).view()), Error);
  EXPECT_THROW(running.add(Tensor<double>({2, kTokens, kTokens}).view()), Error);  // of three heads
  EXPECT_THROW(running.add(Tensor<double>({3, kTokens, 3}).view()), Error);
  RunningLayers early({.layers = {4, 2}, .start_layer = 3});
  early.add(Tensor<double>({1, 2, 2}).view());
  early.add(Tensor<double>({1, 2, 2}).view());
  const auto rollout = [&](std::size_t layer) {
    early.source().rollout({.layers = {layer}, .start_layer = 3, .positions = {0}}, {});
  };
  EXPECT_THROW(rollout(2), Error);  // not above the start
  EXPECT_THROW(rollout(4), Error);  // has not arrived
  EXPECT_NO_THROW(early.source().raw({.layers = {2}, .positions = {0}}, {}));
  EXPECT_THROW(early.source().raw({.layers = {4}, .positions = {0}}, {}), Error);
}

TEST(RunningLayers, AnswersBetweenLayers) {
  const AttentionStack stack = test_stack(true);
  GraphSource graph(attention_graph(stack), true);
  RunningLayers running({});
  for (std::size_t l = 1; l <= stack.layers(); ++l) {
    running.add(stack.layer(l));
    RowsSource source = running.source();
    for (const Method method : {Method::kRaw, Method::kRollout}) {
      Query query{.method = method, .layers = {l}, .outputs = {{9}}};
      const Tensor<double> found = attribute(source, query).values;
      query.outputs = single_tokens(kTokens);
      const Tensor<double> expected = attribute(graph, query).values;
      for (std::size_t j = 0; j < kTokens; ++j) EXPECT_EQ(found(0, 0, j), expected(0, 9, j));
    }
  }
}

}  // namespace
}  // namespace attnflow::running_layers_test
