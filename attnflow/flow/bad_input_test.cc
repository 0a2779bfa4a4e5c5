#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <limits>
#include <thread>

#include "attnflow/base/error_for_test.h"
#include "attnflow/flow/flow.h"
#include "attnflow/flow/naive_flow_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::bad_input_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

AttentionGraph random_graph(std::size_t layers, std::size_t tokens, std::uint64_t seed) {
  return attention_graph(random_stack({.layers = layers, .heads = 2, .tokens = tokens, .seed = seed}));
}

void expect_usage_error(const std::function<void()>& f, const std::string& says) {
  test::expect_error(ErrorKind::kUsage, {says}, f);
}

TEST(FlowBadInput, WeightsThatAreNoCapacitiesAreRefusedWhereverTheyAre) {
  const double bad[] = {std::nan(""), -std::nan(""), -0.25, -1e-310, kInfinity, -kInfinity};
  for (const double value : bad) {
    for (const std::size_t layer : {0, 1, 2}) {
      for (const bool one_row : {false, true}) {
        AttentionGraph graph = random_graph(3, 4, 1);
        graph.weights(layer, 2, 3) = value;
        FlowOptions options;
        if (one_row) options.output_token = 0;
        expect_usage_error([&] { attention_flow(graph, options); }, "layer " + std::to_string(layer + 1));
        // Also in a block that is used only as a top, or only below one.
        AttentionGraph tops = random_graph(3, 4, 1);
        tops.weights_below = tops.weights;
        tops.weights(layer, 0, 1) = value;
        expect_usage_error([&] { attention_flow(tops, options); }, "capacities");
        AttentionGraph below = random_graph(3, 4, 1);
        below.weights_below = below.weights;
        below.weights_below(layer, 0, 1) = value;
        expect_usage_error([&] { attention_flow(below, options); }, "layer " + std::to_string(layer + 1));
      }
    }
  }
}

TEST(FlowBadInput, GraphsOfTheWrongShapeAreRefused) {
  AttentionGraph graph;
  for (const Shape& shape : {Shape{0}, Shape{0, 3, 3}, Shape{2, 0, 0}, Shape{1, 3, 4}}) {
    graph.weights = Tensor<double>(shape);
    expect_usage_error([&] { attention_flow(graph, {.output_token = 0}); }, shape_to_string(shape));
  }
  graph = random_graph(3, 4, 1);
  graph.weights_below = Tensor<double>({3, 5, 5});
  expect_usage_error([&] { attention_flow(graph); }, "5, 5");
}

TEST(FlowBadInput, TolerancesThatAreNoneAreRefused) {
  const AttentionGraph graph = random_graph(3, 4, 1);
  for (const double tolerance : {std::nan(""), -kInfinity, -1e-9}) {
    expect_usage_error([&] { attention_flow(graph, {.tolerance = tolerance}); }, "tolerance");
  }
  EXPECT_NO_THROW(attention_flow(graph, {.tolerance = 0.0}));
}

TEST(FlowBadInput, QuestionsOutOfRangeAreRefused) {
  const AttentionGraph graph = random_graph(3, 4, 2);
  expect_usage_error([&] { attention_flow(graph, {.layers = {0}}); }, "found 0");
  expect_usage_error([&] { attention_flow(graph, {.layers = {2, 4}}); }, "found 4");
  expect_usage_error([&] { attention_flow(graph, {.layers = {1}, .start_layer = 1}); }, "found 1");
  expect_usage_error([&] { attention_flow(graph, {.start_layer = 3}); }, "found 3");
  expect_usage_error([&] { attention_flow(graph, {.output_token = 4}); }, "found 4");
  const TokenGroups empty_group{{0, 1}, {}, {2, 3}};  // a word without pieces: its sink receives nothing
  const FlowResult grouped = attention_flow(graph, {.input_groups = &empty_group});
  for (std::size_t l = 0; l < 3; ++l) EXPECT_EQ(grouped.flow(l, 0, 1), 0.0);
}

// Checks low <= truth <= low + gap, where capacities times 2^exponent are below 2^20.
void expect_enclosure(const AttentionGraph& graph, int exponent) {
  const FlowResult all = attention_flow(graph);
  for (std::size_t l = 1; l <= graph.layers(); ++l) {
    LayeredNetwork network = attention_network(graph, l, 0);
    std::vector<Tensor<WideUnits>> wide;
    for (const auto& block : network.layers) wide.push_back(wide_block(block, exponent));
    std::vector<const Tensor<WideUnits>*> layers;
    for (const auto& block : wide) layers.push_back(&block);
    NaiveFlow naive(layers);
    for (std::size_t i = 0; i < graph.tokens(); ++i) {
      for (std::size_t j = 0; j < graph.tokens(); ++j) {
        const double low = all.flow(l - 1, i, j);
        const double high = std::nextafter(low + all.flow_gap(l - 1, i, j), kInfinity);
        const WideUnits truth = naive.solve(i, j);
        // Rounding in wide_block().
        const WideUnits slack = static_cast<WideUnits>(graph.tokens()) * static_cast<WideUnits>(graph.tokens() * l);
        EXPECT_TRUE(std::isfinite(low) && low >= 0.0) << low;
        EXPECT_TRUE(std::isfinite(high)) << high;
        EXPECT_TRUE(wide_units(std::ldexp(low, exponent)) <= truth + slack) << l << " " << i << " " << j << " " << low;
        EXPECT_TRUE(truth <= wide_units(std::min(std::ldexp(high, exponent), 0x1p26)) + 1)
            << l << " " << i << " " << j << " " << low << " to " << high;
      }
    }
  }
}

AttentionGraph graph_with(std::size_t layers, std::size_t tokens, const std::vector<double>& sizes,
                          std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.25, 1.0);
  std::uniform_int_distribution<std::size_t> pick(0, sizes.size() - 1);
  AttentionGraph graph;
  graph.weights = Tensor<double>({layers, tokens, tokens});
  graph.residual = 0.0;
  for (double& w : graph.weights.span()) w = uniform(random) * sizes[pick(random)];
  return graph;
}

TEST(FlowBadInput, SubnormalAndHugeCapacitiesAreEnclosed) {
  const double tiny = std::numeric_limits<double>::min();
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    expect_enclosure(graph_with(4, 5, {tiny / 16.0}, seed), 1040);      // subnormal only
    expect_enclosure(graph_with(4, 5, {1.0, tiny / 16.0}, seed), 18);   // some
    expect_enclosure(graph_with(4, 5, {1e300}, seed), -980);            // huge only
    expect_enclosure(graph_with(4, 5, {1e300, 1.0, 0.0}, seed), -980);  // huge and ordinary
    expect_enclosure(graph_with(4, 5, {1e300, 1e-300}, seed), -980);    // both ends
    expect_enclosure(graph_with(4, 5, {1e-300}, seed), 1000);
    expect_enclosure(graph_with(4, 5, {0.0}, seed), 0);
    expect_enclosure(graph_with(4, 5, {-0.0}, seed), 0);
  }
}

TEST(FlowBadInput, RowSumsThatOverflowAreRefused) {
  const AttentionGraph graph = graph_with(3, 4, {std::numeric_limits<double>::max()}, 1);
  expect_usage_error([&] { attention_flow(graph); }, "finite number");
  expect_usage_error([&] { attention_flow(graph, {.output_token = 1}); }, "finite number");
}

TEST(FlowBadInput, MoreThreadsThanSinks) {
  const AttentionGraph graph = random_graph(4, 3, 3);
  const FlowResult one = attention_flow(graph, {.threads = 1});
  for (const std::size_t threads : {4, 64, 1000000}) {
    const FlowResult many = attention_flow(graph, {.threads = threads});
    EXPECT_EQ(many.flow, one.flow);
    EXPECT_EQ(many.flow_gap, one.flow_gap);
    EXPECT_EQ(many.degenerate, one.degenerate);
    const FlowResult row = attention_flow(graph, {.output_token = 1, .threads = threads});
    for (std::size_t l = 0; l < 4; ++l) {
      for (std::size_t j = 0; j < 3; ++j) EXPECT_EQ(row.flow(l, 0, j), one.flow(l, 1, j));
    }
  }
}

TEST(FlowInterrupted, StoppedByTheProgressCallback) {
  const AttentionGraph graph = random_graph(5, 24, 4);
  for (const std::size_t threads : {1, 4}) {
    for (const bool one_row : {false, true}) {
      std::stop_source stop;
      std::atomic<std::size_t> calls{0};
      FlowOptions options{.threads = threads};
      if (one_row) options.output_token = 3;
      options.stop_token = stop.get_token();
      options.progress = [&](std::size_t done, std::size_t) {
        ++calls;
        if (done == 2) stop.request_stop();
      };
      EXPECT_THROW(attention_flow(graph, options), Cancelled);
      const std::size_t then = calls;
      EXPECT_GE(then, 2U);
      EXPECT_LE(then, 2 + threads);
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_EQ(calls, then);
    }
  }
}

TEST(FlowInterrupted, StoppedByAnotherThread) {
  const AttentionGraph graph = random_graph(12, 160, 5);
  for (const bool one_row : {false, true}) {
    std::stop_source stop;
    FlowOptions options{.threads = 2};
    if (one_row) {
      options.output_token = 7;
      options.layers = {12};
    }
    options.stop_token = stop.get_token();
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop.request_stop();
    });
    bool cancelled = false;
    const auto start = std::chrono::steady_clock::now();
    try {
      attention_flow(graph, options);
    } catch (const Cancelled&) {
      cancelled = true;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    other.join();
    // A single row may be done earlier; all pairs cannot.
    EXPECT_TRUE(cancelled || one_row);
    EXPECT_LT(took.count(), 20.0);
  }
}

struct OwnException : std::exception {};

TEST(FlowInterrupted, AnExceptionOfTheProgressCallbackComesOut) {
  const AttentionGraph graph = random_graph(4, 16, 6);
  for (const std::size_t threads : {1, 2, 8}) {
    for (const bool one_row : {false, true}) {
      std::atomic<std::size_t> calls{0};
      FlowOptions options{.threads = threads};
      if (one_row) options.output_token = 0;
      options.progress = [&](std::size_t done, std::size_t) {
        ++calls;
        if (done == 2) throw OwnException();
      };
      EXPECT_THROW(attention_flow(graph, options), OwnException);
      const std::size_t then = calls;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_EQ(calls, then) << "a thread went on";
    }
  }
  const FlowResult again = attention_flow(graph, {.threads = 4});
  EXPECT_EQ(again.flow, attention_flow(graph, {.threads = 1}).flow);
}

}  // namespace
}  // namespace attnflow::bad_input_test
