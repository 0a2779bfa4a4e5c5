#include "attnflow/flow/cut_templates.h"

#include <gtest/gtest.h>

#include <random>

#include "attnflow/flow/sink_problem_for_test.h"
#include "attnflow/flow/test_share_for_test.h"
#include "attnflow/flow/vector_targets_for_test.h"

namespace attnflow::internal::cut_templates_test {
namespace {

std::vector<std::int64_t> column_of(const UnitBlock& block, std::size_t sink) {
  std::vector<std::int64_t> column;
  for (std::size_t p = 0; p < block.extent(0); ++p) column.push_back(block(p, sink));
  return column;
}

std::vector<UnitBlock> with_sink(const std::vector<UnitBlock>& blocks, std::size_t sink) {
  std::vector<UnitBlock> result = blocks;
  result[0] = UnitBlock({blocks[0].extent(0), 1}, column_of(blocks[0], sink));
  return result;
}

struct Tally {
  std::size_t asked = 0, proven = 0;
};

void check_network(const std::vector<UnitBlock>& blocks,
                   const std::vector<std::vector<std::vector<std::int64_t>>>& truths, std::mt19937_64& random,
                   Tally& tally) {
  const auto pointers = pointers_to(blocks);
  SinkNetwork network(pointers);
  CutTemplates templates(pointers, network);
  for (std::size_t sink = 0; sink < truths.size(); ++sink) {
    const auto& truth = truths[sink];
    network.clear();
    templates.start_sink(column_of(blocks[0], sink));
    network.add_layer(truth[1], truth[1], demand_of_layer(blocks, 1));
    for (std::size_t depth = 3; depth <= blocks.size(); ++depth) {
      network.add_layer(truth[depth - 1], truth[depth - 1], demand_of_layer(blocks, depth - 1));
      const UnitBlock& top = blocks[depth - 1];
      for (std::size_t i = 0; i < top.extent(0); ++i) {
        const std::int64_t flow = truth[depth][i];
        if (flow == 0) continue;
        const std::int64_t* row = top.data() + i * top.extent(1);
        SourceOfPass source(network, row, i, random);
        for (const std::int64_t known : {std::int64_t{0}, flow - 1, flow}) {
          for (const std::int64_t upper : {kManyUnits, flow + 1, flow}) {
            const std::int64_t found = templates.upper_bound(depth, i, row, source.row_cut(), known, upper);
            EXPECT_GE(found, flow) << "depth " << depth << ", source " << i;
            EXPECT_LE(found, upper);
          }
        }
        ++tally.asked;
        tally.proven += templates.upper_bound(depth, i, row, source.row_cut(), flow, kManyUnits) == flow;

        const std::int64_t greedy = greedy_flow(source.pass(), true);
        ASSERT_EQ(augment_flow(source.pass(), greedy), flow);
        templates.learn(i, source.pass());
        clear_flow(source.pass());
        EXPECT_EQ(templates.upper_bound(depth, i, row, source.row_cut(), flow, kManyUnits), flow)
            << "what was learned proves the flow that it was learned from: depth " << depth << ", source " << i;
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

void check_networks(const UnitNetworkOptions& options, std::size_t count, std::uint64_t seed, bool causal = false) {
  Tally tally;
  for (std::size_t t = 0; t < count; ++t) {
    SCOPED_TRACE("seed " + std::to_string(seed + t));
    std::mt19937_64 random(seed + t);
    std::vector<UnitBlock> blocks = random_unit_network(random, options);
    for (UnitBlock& block : blocks) {
      for (std::size_t p = 0; causal && p < block.extent(0); ++p) {
        for (std::size_t q = p + 1; q < block.extent(1); ++q) block(p, q) = 0;
      }
    }
    std::vector<std::vector<std::vector<std::int64_t>>> truths;
    for (std::size_t sink = 0; sink < options.sinks; ++sink) {
      truths.push_back(dinic_flows_to_sink(with_sink(blocks, sink)));
    }
    for_each_vector_target([&] { check_network(blocks, truths, random, tally); });
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(tally.proven, tally.asked / 10);
  EXPECT_LT(tally.proven, tally.asked);
}

TEST(CutTemplates, NoneCostsLessThanTheMaximumFlow) {
  const std::size_t count = share_of(60, "random networks");
  check_networks({.depth = 6, .least_nodes = 2, .max_nodes = 8, .square = true, .sinks = 4}, count, 100);
  // A layer with more than a few members is the free one.
  check_networks({.depth = 5, .least_nodes = 10, .max_nodes = 24, .square = true, .sinks = 2}, count, 900);
  check_networks({.depth = 6, .least_nodes = 2, .max_nodes = 8, .square = true, .sinks = 4}, count, 1700, true);
}

}  // namespace
}  // namespace attnflow::internal::cut_templates_test
