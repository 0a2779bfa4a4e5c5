#include "attnflow/flow/row_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "attnflow/flow/flow_bounds.h"
#include "attnflow/flow/layered_dinic_for_test.h"
#include "attnflow/flow/row_bounds.h"
#include "attnflow/flow/sink_problem_for_test.h"
#include "attnflow/flow/vector_targets_for_test.h"

namespace attnflow::internal {
namespace row_flow_test {
namespace {

std::vector<SinkValue> values_of(const RowFlow& flow) {
  std::vector<SinkValue> values = flow.bounds();
  RowFlow::Worker worker(flow);
  for (std::size_t part = 0; part < flow.parts(); ++part) {
    worker.solve(part, [&values](std::size_t input, const SinkValue& value) { values[input] = value; });
  }
  return values;
}

void expect_dinic(const std::vector<std::int64_t>& top, std::size_t own, const std::vector<UnitBlock>& blocks) {
  const std::vector<ArcBlock> arcs = arc_blocks(blocks);
  const RowFlow flow(top, own, pointers_to(arcs), {.threads = 2});
  const std::vector<SinkValue> values = values_of(flow);
  const std::vector<std::int64_t> expected = dinic_row(top, blocks);
  ASSERT_EQ(values.size(), expected.size());
  for (std::size_t j = 0; j < expected.size(); ++j) {
    EXPECT_LE(flow.bounds()[j].low, expected[j]) << "input " << j;
    EXPECT_GE(flow.bounds()[j].high, expected[j]) << "input " << j;
    EXPECT_EQ(values[j].low, expected[j]) << "input " << j;
    EXPECT_EQ(values[j].high, expected[j]) << "input " << j;
  }
}

std::vector<std::int64_t> last_row(const std::vector<UnitBlock>& blocks) {
  const UnitBlock& block = blocks.back();
  const std::int64_t* row = block.data() + (block.extent(0) - 1) * block.extent(1);
  return {row, row + block.extent(1)};
}

TEST(RowFlowTest, CausalStacksAgreeWithDinic) {
  std::mt19937_64 random(20261125);
  const auto pick = [&random](std::initializer_list<double> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  for (int trial = 0; trial < 150; ++trial) {
    const UnitStackKind kind{.causal = trial % 5 != 4,
                             .residual = pick({0.0, 0.1, 0.5, 0.5, 0.9}),
                             .density = pick({0.2, 0.7, 1.0, 1.0}),
                             .peak = pick({0.0, 1.0, 6.0, 30.0}),
                             .sink = trial % 3 == 0};
    const auto layers = static_cast<std::size_t>(pick({1, 2, 4, 7, 12, 20}));
    const auto n = static_cast<std::size_t>(pick({1, 2, 9, 24, 40}));
    std::vector<UnitBlock> blocks = random_unit_stack(random, layers + 1, n, kind);
    const std::vector<std::int64_t> top = last_row(blocks);
    blocks.pop_back();
    SCOPED_TRACE(testing::Message() << "trial " << trial << ", layers " << layers << ", n " << n);
    expect_dinic(top, n - 1, blocks);
  }
}

TEST(RowFlowTest, AnyNetworkAgreesWithDinic) {
  std::mt19937_64 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    UnitNetworkOptions options;
    options.depth = 1 + static_cast<std::size_t>(trial % 7);
    options.square = true;
    options.sinks = options.least_nodes = options.max_nodes = 1 + static_cast<std::size_t>(trial % 19);
    std::vector<UnitBlock> blocks = random_unit_network(random, options);
    std::vector<std::int64_t> top(blocks.back().extent(0));
    for (std::int64_t& units : top) units = static_cast<std::int64_t>(random() >> 10U) * (random() % 4 != 0);
    SCOPED_TRACE(testing::Message() << "trial " << trial);
    expect_dinic(top, trial % 3 == 0 ? kNoNode : random() % top.size(), blocks);
  }
}

TEST(RowFlowTest, GroupsOfInputTokensAgreeWithDinic) {
  std::mt19937_64 random(11);
  for (int trial = 0; trial < 20; ++trial) {
    std::vector<UnitBlock> blocks = random_unit_stack(random, 10, 30, {});
    const std::vector<std::int64_t> top = last_row(blocks);
    blocks.pop_back();
    UnitBlock merged({30, 11});
    for (std::size_t p = 0; p < 30; ++p) {
      for (std::size_t q = 0; q < 30; ++q) {
        merged(p, trial % 2 == 0 ? q / 3 : q * 7 % 11) += blocks[0](p, q);
      }
    }
    blocks[0] = merged;
    SCOPED_TRACE(testing::Message() << "trial " << trial);
    expect_dinic(top, 29, blocks);
  }
}

TEST(RowFlowTest, EvenAttentionNeedsNoSearchInTheWholeNetwork) {
  std::mt19937_64 random(3);
  std::vector<UnitBlock> blocks = random_unit_stack(random, 24, 96, {.peak = 1.0});
  const std::vector<std::int64_t> top = last_row(blocks);
  blocks.pop_back();
  const std::vector<ArcBlock> arcs = arc_blocks(blocks);
  const RowFlow flow(top, 95, pointers_to(arcs));
  EXPECT_GT(flow.parts(), 1U);
  EXPECT_EQ(flow.bounds()[0].row_cut, flow.bounds()[0].high);
  expect_dinic(top, 95, blocks);
}

// The output token sends most to itself, and from there to the first token, so a chain is the cut.
TEST(RowFlowTest, AChainBoundsWhatLeavesIt) {
  std::mt19937_64 random(4);
  std::vector<UnitBlock> blocks = random_unit_stack(random, 8, 20, {.residual = 0.3});
  std::vector<std::int64_t> top(20, 0);
  top[19] = std::int64_t{1} << 59;
  top[3] = 1000;
  for (std::size_t q = 0; q < 20; ++q) blocks[7](19, q) = q == 0 ? std::int64_t{1} << 59 : q == 19 ? 50 : 7;
  const std::vector<ArcBlock> arcs = arc_blocks(blocks);
  const RowFlow flow(top, 19, pointers_to(arcs));
  EXPECT_LE(flow.bounds()[1].high, 1000 + 50 + 18 * 7);
  EXPECT_LE(flow.bounds()[10].high, 50 + 9 * 7);
  expect_dinic(top, 19, blocks);
}

TEST(RowFlowTest, AGapLeavesEnclosuresThatAreNoWider) {
  std::mt19937_64 random(12);
  for (int trial = 0; trial < 40; ++trial) {
    const UnitStackKind kind{.causal = trial % 4 != 3, .peak = trial % 3 == 0 ? 9.0 : 1.0, .sink = trial % 5 == 0};
    std::vector<UnitBlock> blocks = random_unit_stack(random, 14, 40, kind);
    const std::vector<std::int64_t> top = last_row(blocks);
    blocks.pop_back();
    const std::vector<std::int64_t> expected = dinic_row(top, blocks);
    const auto gap = static_cast<std::int64_t>(std::ldexp(1.0, 60 - 4 * (trial % 3 + 1)));
    const std::vector<ArcBlock> arcs = arc_blocks(blocks);
    const std::vector<SinkValue> one = values_of(RowFlow(top, 39, pointers_to(arcs), {.threads = 1, .gap = gap}));
    const std::vector<SinkValue> five = values_of(RowFlow(top, 39, pointers_to(arcs), {.threads = 5, .gap = gap}));
    SCOPED_TRACE(testing::Message() << "trial " << trial);
    for (std::size_t j = 0; j < expected.size(); ++j) {
      EXPECT_LE(one[j].low, expected[j]) << "input " << j;
      EXPECT_GE(one[j].high, expected[j]) << "input " << j;
      EXPECT_LE(one[j].high - one[j].low, gap) << "input " << j;
      EXPECT_EQ(one[j].low, five[j].low) << "input " << j;
      EXPECT_EQ(one[j].high, five[j].high) << "input " << j;
    }
  }
}

TEST(RowFlowTest, FewerLayersLeaveBoundsThatHold) {
  std::mt19937_64 random(13);
  std::map<std::size_t, double> open;  // distance between the bounds, by the most layers
  for (int trial = 0; trial < 30; ++trial) {
    const UnitStackKind kind{.causal = trial % 6 != 5, .peak = trial % 3 == 0 ? 9.0 : 1.0, .sink = trial % 5 == 0};
    std::vector<UnitBlock> blocks = random_unit_stack(random, 14, 40, kind);
    const std::vector<std::int64_t> top = last_row(blocks);
    blocks.pop_back();
    const std::vector<std::int64_t> expected = dinic_row(top, blocks);
    const std::vector<ArcBlock> arcs = arc_blocks(blocks);
    for (const std::size_t most : {0U, 3U, 6U, 13U}) {
      SCOPED_TRACE(testing::Message() << "trial " << trial << ", at most " << most << " layers");
      const std::vector<SinkValue> values = values_of(RowFlow(top, 39, pointers_to(arcs), {.most_layers = most}));
      for (std::size_t j = 0; j < expected.size(); ++j) {
        EXPECT_LE(values[j].low, expected[j]) << "input " << j;
        EXPECT_GE(values[j].high, expected[j]) << "input " << j;
        open[most] += static_cast<double>(values[j].high - values[j].low);
      }
    }
  }
  EXPECT_GT(open[0], open[3]);
  EXPECT_GT(open[3], open[6]);
  EXPECT_GT(open[6], open[13]);
}

TEST(RowFlowTest, Stops) {
  std::mt19937_64 random(3);
  std::vector<UnitBlock> blocks = random_unit_stack(random, 8, 40, {});
  const std::vector<std::int64_t> top = last_row(blocks);
  std::stop_source source;
  source.request_stop();
  const std::vector<ArcBlock> arcs = arc_blocks(blocks);
  EXPECT_THROW(RowFlow(top, 39, pointers_to(arcs), {.stop = source.get_token()}), Cancelled);
}

TEST(AddSourceTest, EveryVectorWidthAgreesWithTheDefinition) {
  std::mt19937_64 random(5);
  for_each_vector_target([&] {
    for (std::size_t count : {1U, 2U, 7U, 8U, 9U, 33U}) {
      std::vector<std::int64_t> minima(count), column(count), threshold(count), arcs(count);
      for (std::size_t q = 0; q < count; ++q) {
        minima[q] = static_cast<std::int64_t>(random() >> 2U);
        column[q] = q % 3 == 0 ? kManyUnits : static_cast<std::int64_t>(random() >> 3U);
        threshold[q] = static_cast<std::int64_t>(random() >> 2U);
        arcs[q] = static_cast<std::int64_t>(random() >> 4U);
      }
      const std::int64_t low = static_cast<std::int64_t>(random() >> 4U);
      const std::int64_t high = low + static_cast<std::int64_t>(random() >> 6U);
      std::vector<std::int64_t> expected_minima = minima, expected_column = column, expected_threshold = threshold;
      for (std::size_t q = 0; q < count; ++q) {
        expected_threshold[q] = std::min(threshold[q], low + column[q]);
        expected_minima[q] = add_units(minima[q], std::min(arcs[q], high));
        expected_column[q] = add_units(column[q], arcs[q]);
      }
      add_source({.arcs = arcs.data(), .count = count, .low = low, .high = high}, minima.data(), column.data(),
                 threshold.data());
      EXPECT_EQ(minima, expected_minima);
      EXPECT_EQ(column, expected_column);
      EXPECT_EQ(threshold, expected_threshold);
    }
  });
}

}  // namespace
}  // namespace row_flow_test
}  // namespace attnflow::internal
