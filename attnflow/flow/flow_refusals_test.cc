#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/flow/causal_network.h"
#include "attnflow/flow/flow.h"
#include "attnflow/flow/layered_network.h"
#include "attnflow/flow/pair_flow.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::flow_refusals_test {
namespace {

TEST(FlowRefusals, AreWholeSentences) {
  const double most = std::numeric_limits<double>::max();
  const auto network = [](std::vector<Tensor<double>> layers) {
    LayeredNetwork made;
    made.layers = std::move(layers);
    return made;
  };
  const auto graph = [](Tensor<double> weights) {
    AttentionGraph made;
    made.weights = std::move(weights);
    return made;
  };
  const auto pair = [](const LayeredNetwork& made) { flow_of_pair(made, 0, 0); };
  const LayeredNetwork one = network({Tensor<double>({1, 1}, {0.5})});
  const AttentionGraph two = graph(Tensor<double>({1, 2, 2}, {1, 0, 0.5, 0.5}));
  const LayeredNetwork misfit = network({Tensor<double>({2, 3}), Tensor<double>({2, 3})});
  const Tensor<double> negative({1, 1}, {-1.0}), large({1, 2}, {most, most});
  const Tensor<double> empty({1, 0, 0}), infinite({1, 1, 1}, {HUGE_VAL});
  const std::vector<double> below = {-0.1, 1.0}, above = {1.0, 1.0};
  const TokenGroups twice = {{0}, {0, 1}}, outside = {{0, 1, 2}}, few = {{1}};
  PairFlow wrong = flow_of_pair(one, 0, 0);
  wrong.minimum_cut.assign(1, {3, 0, 0});
  CausalNetwork causal(2, 3);
  const std::vector<std::pair<std::string, std::function<void()>>> rows = {
      {"flow: expected a network of at least one layer, found none", [&] { pair({}); }},
      {"flow: expected layer 1 to be a matrix, found shape [2]", [&] { pair(network({Tensor<double>({2})})); }},
      {"flow: expected layer 2 to have one column for each of the 2 nodes below it, found shape [2, 3]",
       [&] { pair(misfit); }},
      {"flow: expected finite capacities of at least 0, found -1 in layer 1", [&] { pair(network({negative})); }},
      {"flow: expected capacities whose sum over a row is a finite number, found a larger sum; divide all weights by a "
       "power of two",
       [&] { pair(network({large})); }},
      {"flow: expected an output token below 1 and an input token below 1, found 1 and 0",
       [&] { flow_of_pair(one, 1, 0); }},
      {"flow: expected an output token below 1 and an input token below 1, found 0 and 1",
       [&] { flow_of_pair(one, 0, 1); }},
      {"cut: expected arcs of the network, found (3, 0) -> (2, 0)", [&] { cut_shares(one, wrong); }},
      {"flow: expected weights of at least one layer and one token, the same number of queries and keys, and the same "
       "below the top; found shapes [1, 0, 0] and [0]",
       [&] { attention_flow(graph(empty)); }},
      {"input groups: expected each of 2 positions once, found 0 twice",
       [&] { attention_flow(two, {.input_groups = &twice}); }},
      {"input groups: expected each of 2 positions once, found 2 outside",
       [&] { attention_flow(two, {.input_groups = &outside}); }},
      {"input groups: expected each of 2 positions once, found 1",
       [&] { attention_flow(two, {.input_groups = &few}); }},
      {"flow: expected finite capacities of at least 0, found inf in layer 1",
       [&] { attention_flow(graph(infinite)); }},
      {"flow: expected a tolerance of at least 0, found -1", [&] { attention_flow(two, {.tolerance = -1}); }},
      {"flow: expected capacities of at least 0 that sum to less than 2, found a row of layer 1 with one below 0",
       [&] { causal.set_row(1, 1, below); }},
      {"flow: expected capacities of at least 0 that sum to less than 2, found a row of layer 1 with the sum 2",
       [&] { causal.set_row(1, 1, above); }},
      {"flow: expected an output token, found none; AttentionGraph has all of them",
       [&] { attention_flow(causal, {}); }},
  };
  for (const auto& [message, action] : rows) EXPECT_EQ(test::refusal(ErrorKind::kUsage, action), message);
}

}  // namespace
}  // namespace attnflow::flow_refusals_test
