#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "attnflow/flow/flow.h"
#include "attnflow/flow/golden_flow_for_test.h"
#include "attnflow/graph/gradient_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::flow_laws_test {
namespace {

// Sums of at most a few hundred terms of size 1, and gaps.
constexpr double kRounding = 1e-13;

struct NamedGraph {
  std::string name;
  AttentionGraph graph;
};

std::vector<NamedGraph> graphs() {
  std::vector<NamedGraph> result;
  for (const char* stack : kGoldenStacks) {
    for (const double residual : {0.5, 0.0}) {
      MixingOptions mixing{.residual = residual};
      result.push_back(
          {std::string(stack) + (residual > 0 ? "" : ", no residual"), attention_graph(golden_stack(stack), mixing)});
    }
  }
  const auto add = [&result](const char* name, const RandomStackOptions& stack, const MixingOptions& mixing = {}) {
    result.push_back({name, attention_graph(random_stack(stack), mixing)});
  };
  add("soft", {.layers = 5, .tokens = 9, .sharpness = 0.5, .seed = 41});
  add("peaked", {.layers = 6, .tokens = 9, .sharpness = 6.0, .seed = 42});
  add("causal", {.layers = 7, .tokens = 10, .causal = true, .seed = 43});
  add("sink", {.layers = 5, .tokens = 9, .causal = true, .sink = true, .seed = 44});
  add("ties", {.layers = 5, .heads = 1, .tokens = 8, .quantum = 4, .seed = 45});
  add("sparse", {.layers = 5, .tokens = 9, .seed = 46}, {.residual = 0.3, .discard = 0.8});
  for (const bool causal : {false, true}) {
    const AttentionStack stack = random_stack({.layers = 4, .heads = 3, .tokens = 8, .causal = causal, .seed = 47});
    const GradientMixingOptions options{.residual_rule = ResidualRule::kAddedNormalized};
    result.push_back({"gradients", gradient_graph_of(stack, random_gradient(stack, 5.0), options)});
  }
  return result;
}

template <class F>
void for_each_graph(const F& check) {
  for (const NamedGraph& named : graphs()) {
    SCOPED_TRACE(named.name);
    check(named.graph, attention_flow(named.graph));
  }
}

AttentionGraph plain(const AttentionGraph& graph) {
  AttentionGraph result;
  result.weights = Tensor<double>(graph.weights.shape());
  result.residual = 0.0;
  for (std::size_t l = 1; l <= graph.layers(); ++l) {
    const Tensor<double> block = graph.top(l);
    std::copy_n(block.data(), block.size(), result.weights[l - 1].data());
  }
  return result;
}

double largest_row(const AttentionGraph& graph) {
  LayeredNetwork network;
  for (std::size_t l = 1; l <= graph.layers(); ++l) network.layers.push_back(graph.below(l));
  return largest_row_sum(network);
}

AttentionGraph times(AttentionGraph graph, double factor) {
  for (double& w : graph.weights.span()) w *= factor;
  return graph;
}

template <class F>
void for_each_pair(const FlowResult& flow, const F& f) {
  for (std::size_t w = 0; w < flow.flow.extent(0); ++w) {
    for (std::size_t i = 0; i < flow.flow.extent(1); ++i) {
      for (std::size_t j = 0; j < flow.flow.extent(2); ++j) f(w, i, j);
    }
  }
}

TEST(FlowLaws, LiesBetweenRolloutAndTheEndCuts) {
  for_each_graph([](const AttentionGraph& graph, const FlowResult&) {
    // Row sums must be at most 1, which float32 softmax may slightly exceed.
    const AttentionGraph scaled = times(plain(graph), 1.0 / largest_row(graph));
    const FlowResult flow = attention_flow(scaled);
    const Tensor<double> products = rollout(scaled);
    const Tensor<double> first = scaled.below(1);
    for_each_pair(flow, [&](std::size_t w, std::size_t i, std::size_t j) {
      double row = 0.0;
      double column = 0.0;
      for (std::size_t k = 0; k < graph.tokens(); ++k) {
        row += scaled.weights(w, i, k);
        column += first(k, j);
      }
      EXPECT_LE(products(w, i, j), flow.flow(w, i, j) + flow.flow_gap(w, i, j) + kRounding);
      EXPECT_LE(flow.flow(w, i, j), std::min({1.0, row, column}) + kRounding);
    });
  });
}

TEST(FlowLaws, ClosedFormsOfOneAndTwoLayers) {
  for_each_graph([](const AttentionGraph& graph, const FlowResult&) {
    for (std::size_t m = 0; m < graph.layers(); ++m) {
      const FlowResult flow = attention_flow(graph, {.start_layer = m});
      const Tensor<double> one = graph.top(m + 1);
      const Tensor<double> below = graph.below(m + 1);
      for (std::size_t i = 0; i < graph.tokens(); ++i) {
        for (std::size_t j = 0; j < graph.tokens(); ++j) {
          EXPECT_EQ(flow.flow(0, i, j), one(i, j));
          EXPECT_EQ(flow.flow_gap(0, i, j), 0.0);
          if (m + 2 > graph.layers()) continue;
          double sum = 0.0;
          for (std::size_t k = 0; k < graph.tokens(); ++k) sum += std::min(graph.top(m + 2)(i, k), below(k, j));
          EXPECT_NEAR(flow.flow(1, i, j), sum, kRounding);
        }
      }
    }
  });
}

TEST(FlowLaws, AWiderArcLowersNoFlowAndRaisesNoneByMore) {
  std::mt19937_64 random(51);
  for_each_graph([&random](const AttentionGraph& graph, const FlowResult&) {
    const AttentionGraph before = plain(graph);
    const FlowResult narrow = attention_flow(before);
    std::size_t raised = 0;
    for (int round = 0; round < 12; ++round) {
      AttentionGraph after = before;
      const auto pick = [&random](std::size_t count) {
        return std::uniform_int_distribution<std::size_t>(0, count - 1)(random);
      };
      const double more = round % 2 == 0 ? 0.05 : 2.0;
      after.weights(pick(graph.layers()), pick(graph.tokens()), pick(graph.tokens())) += more;
      const FlowResult wide = attention_flow(after);
      for_each_pair(narrow, [&](std::size_t w, std::size_t i, std::size_t j) {
        const double narrow_high = narrow.flow(w, i, j) + narrow.flow_gap(w, i, j);
        EXPECT_GE(wide.flow(w, i, j) + wide.flow_gap(w, i, j), narrow.flow(w, i, j));
        EXPECT_LE(wide.flow(w, i, j), narrow_high + more + kRounding);
        raised += wide.flow(w, i, j) > narrow_high;
      });
    }
    EXPECT_GT(raised, 0U);
  });
}

TEST(FlowLaws, PermutedPositionsPermuteTheResult) {
  std::mt19937_64 random(52);
  for_each_graph([&random](const AttentionGraph& mixed, const FlowResult&) {
    const AttentionGraph graph = plain(mixed);  // sums of rows depend on the order
    const FlowResult flow = attention_flow(graph);
    std::vector<std::size_t> to(graph.tokens());
    std::iota(to.begin(), to.end(), std::size_t{0});
    std::shuffle(to.begin(), to.end(), random);
    AttentionGraph permuted = graph;
    for (std::size_t l = 0; l < graph.layers(); ++l) {
      for (std::size_t i = 0; i < to.size(); ++i) {
        for (std::size_t j = 0; j < to.size(); ++j) permuted.weights(l, to[i], to[j]) = graph.weights(l, i, j);
      }
    }
    const FlowResult other = attention_flow(permuted);
    for_each_pair(flow, [&](std::size_t w, std::size_t i, std::size_t j) {
      EXPECT_EQ(other.flow(w, to[i], to[j]), flow.flow(w, i, j));
      EXPECT_EQ(other.flow_gap(w, to[i], to[j]), flow.flow_gap(w, i, j));
      EXPECT_EQ(other.degenerate(w, to[i], to[j]), flow.degenerate(w, i, j));
    });
  });
}

TEST(FlowLaws, TwiceTheCapacitiesCarryExactlyTwiceTheFlow) {
  for_each_graph([](const AttentionGraph& graph, const FlowResult&) {
    const AttentionGraph once = plain(graph);
    const FlowResult flow = attention_flow(once, {.tolerance = 0x1p-20});
    for (const double factor : {2.0, 0x1p-40, 0x1p300}) {
      const FlowResult scaled = attention_flow(times(once, factor), {.tolerance = factor * 0x1p-20});
      for_each_pair(flow, [&](std::size_t w, std::size_t i, std::size_t j) {
        EXPECT_EQ(scaled.flow(w, i, j), factor * flow.flow(w, i, j));
        EXPECT_EQ(scaled.flow_gap(w, i, j), factor * flow.flow_gap(w, i, j));
        EXPECT_EQ(scaled.degenerate(w, i, j), flow.degenerate(w, i, j));
      });
    }
  });
}

TEST(FlowLaws, AWideStraightLayerChangesNothing) {
  for_each_graph([](const AttentionGraph& graph, const FlowResult&) {
    const AttentionGraph base = plain(graph);
    const std::size_t n = base.tokens();
    const std::size_t layers = base.layers();
    const double width = largest_row(base) / (1.0 + 1e-9);  // the sum itself, so that units stay the same
    const FlowResult flow = attention_flow(base, {.layers = {layers}});
    for (std::size_t place = 0; place <= layers; ++place) {
      AttentionGraph longer;
      longer.weights = Tensor<double>({layers + 1, n, n});
      longer.residual = 0.0;
      for (std::size_t l = 0; l <= layers; ++l) {
        if (l == place) {
          for (std::size_t p = 0; p < n; ++p) longer.weights(l, p, p) = width;
        } else {
          std::copy_n(base.weights[l - (l > place)].data(), n * n, longer.weights[l].data());
        }
      }
      const FlowResult other = attention_flow(longer, {.layers = {layers + 1}});
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          EXPECT_NEAR(other.flow(0, i, j), flow.flow(0, i, j), kRounding) << "before layer " << place + 1;
        }
      }
    }
  });
}

TEST(FlowLaws, OneSinkForEverythingReceivesExactlyOne) {
  const AttentionGraph graph =
      attention_graph(random_stack({.layers = 6, .heads = 2, .tokens = 9, .quantum = 8, .seed = 61}));
  TokenGroups everything(1);
  for (std::size_t j = 0; j < graph.tokens(); ++j) everything[0].push_back(j);
  const FlowResult all = attention_flow(graph, {.input_groups = &everything});
  for_each_pair(all, [&](std::size_t w, std::size_t i, std::size_t j) {
    EXPECT_EQ(all.flow(w, i, j), 1.0);
    // No more than a row sends can arrive: if that is the only cut, it is the one that is reported.
    if (w > 0) {
      EXPECT_NE(all.degenerate(w, i, j), static_cast<std::uint8_t>(FlowDegeneracy::kNone));
    }
  });
}

}  // namespace
}  // namespace attnflow::flow_laws_test
