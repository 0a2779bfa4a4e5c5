#include "attnflow/flow/sink_solver.h"

#include <gtest/gtest.h>

#include <random>

#include "attnflow/flow/layered_dinic_for_test.h"
#include "attnflow/flow/random_flow_for_test.h"
#include "attnflow/flow/sink_problem_for_test.h"
#include "attnflow/flow/test_share_for_test.h"

namespace attnflow::internal::sink_solver_test {
namespace {

std::vector<bool> reached_in_layer_1(const std::vector<UnitBlock>& blocks, const std::int64_t* row, std::size_t k) {
  std::vector<bool> here;
  for (std::size_t q = 0; q < blocks[k - 1].extent(0); ++q) here.push_back(row[q] > 0);
  for (; k > 1; --k) {
    std::vector<bool> lower(blocks[k - 1].extent(1), false);
    for (std::size_t p = 0; p < here.size(); ++p) {
      for (std::size_t q = 0; q < lower.size(); ++q) lower[q] = lower[q] || (here[p] && blocks[k - 1](p, q) > 0);
    }
    here = std::move(lower);
  }
  return here;
}

std::vector<bool> set_of(const SinkProblem& problem, std::uint32_t reach_class, std::size_t nodes) {
  std::vector<bool> set;
  for (std::size_t p = 0; p < nodes; ++p) {
    set.push_back(problem.reach_sets[reach_class][p / 64] >> (p % 64) & 1);
  }
  return set;
}

UnitBlock sparse_block(std::mt19937_64& random, std::size_t nodes, std::size_t below, double density) {
  UnitBlock block({nodes, below});
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (auto& units : block.span()) units = uniform(random) < density ? 1 : 0;
  return block;
}

TEST(SinkProblem, ReachClassesAreWhatASearchFinds) {
  std::size_t shared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto nodes = [&] { return std::uniform_int_distribution<std::size_t>(1, seed % 5 == 0 ? 70 : 12)(random); };
    std::vector<UnitBlock> blocks;
    std::size_t below = 3;
    for (int k = 0; k < 5; ++k) {
      const std::size_t here = nodes();
      blocks.push_back(sparse_block(random, here, below, seed % 2 == 0 ? 0.15 : 0.5));
      below = here;
    }
    SinkProblem problem(pointers_to(blocks));
    const std::size_t bottom = blocks[0].extent(0);
    for (std::size_t p = 0; p < bottom; ++p) {
      std::vector<bool> itself(bottom, false);
      itself[p] = true;
      EXPECT_EQ(set_of(problem, problem.reach_class[1][p], bottom), itself);
    }
    for (std::size_t k = 2; k <= blocks.size(); ++k) {
      const UnitBlock& block = blocks[k - 1];
      ASSERT_EQ(problem.reach_class[k].size(), block.extent(0));
      const UnitBlock other = sparse_block(random, 4, block.extent(1), 0.3);
      const auto other_classes = problem.classes_of(other, k);
      for (std::size_t i = 0; i < block.extent(0); ++i) {
        EXPECT_EQ(set_of(problem, problem.reach_class[k][i], bottom),
                  reached_in_layer_1(blocks, block.data() + i * block.extent(1), k - 1));
      }
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(set_of(problem, other_classes[i], bottom),
                  reached_in_layer_1(blocks, other.data() + i * other.extent(1), k - 1));
      }
    }
    std::vector<std::vector<std::uint64_t>> sets = problem.reach_sets;
    std::sort(sets.begin(), sets.end());
    EXPECT_EQ(std::adjacent_find(sets.begin(), sets.end()), sets.end());
    std::size_t all = 0;
    for (const UnitBlock& block : blocks) all += block.extent(0);
    shared += all > problem.reach_sets.size();
  }
  EXPECT_GT(shared, 10U) << "no two nodes reached the same";
}

enum class Below { kValues, kBounds };

void check_network(const std::vector<UnitBlock>& blocks, FlowCounts& counts, Below known = Below::kValues) {
  const IntegerNetwork network{FixedPoint{}, blocks};
  LayeredDinic dinic(network);
  SinkProblem problem(pointers_to(blocks));
  SinkSolver solver(problem);
  for (std::size_t sink = 0; sink < blocks[0].extent(1); ++sink) {
    std::vector<std::int64_t> column;
    for (std::size_t p = 0; p < blocks[0].extent(0); ++p) column.push_back(blocks[0](p, sink));
    solver.start(column);
    for (std::size_t depth = 2; depth <= blocks.size(); ++depth) {
      const UnitBlock& top = blocks[depth - 1];
      std::vector<std::int64_t> low, high;
      for (std::size_t i = 0; i < top.extent(0); ++i) {
        SCOPED_TRACE("sink " + std::to_string(sink) + " depth " + std::to_string(depth) + " " + std::to_string(i));
        const std::int64_t* row = top.data() + i * top.extent(1);
        ASSERT_EQ(solver.depth(), depth);
        const std::int64_t truth = dinic.solve(row, depth, sink);
        const SinkValue bounds = solver.bounds(row, problem.reach_class[depth][i]);
        ASSERT_LE(bounds.low, truth);
        ASSERT_GE(bounds.high, truth);
        ASSERT_EQ(bounds.high == 0, truth == 0);
        const SinkValue value = solver.value(row, problem.reach_class[depth][i], i);
        ASSERT_EQ(value.low, truth);
        ASSERT_EQ(value.high, truth);
        low.push_back(known == Below::kBounds ? bounds.low : value.low);
        high.push_back(known == Below::kBounds ? bounds.high : value.high);
      }
      if (depth < blocks.size()) solver.climb(low, high);
    }
  }
  counts += solver.counts();
}

TEST(SinkSolver, EveryMeansSettlesSomePairsAndNoneWrongly) {
  FlowCounts counts;
  const std::size_t count = share_of(6, "stacks of attention, encoder and decoder");
  for (std::size_t t = 0; t < count; ++t) {
    for (const bool causal : {false, true}) {
      const AttentionGraph graph = attention_graph(random_stack({.layers = 8,
                                                                 .heads = 2,
                                                                 .tokens = 24,
                                                                 .causal = causal,
                                                                 .sharpness = 1.0 + 0.5 * static_cast<double>(t),
                                                                 .sink = t % 2 == 0,
                                                                 .seed = 50 + t}));
      LayeredNetwork network;
      for (std::size_t l = 1; l <= graph.layers(); ++l) network.layers.push_back(graph.below(l));
      check_network(to_units(network, FixedPoint::for_row_sum(largest_row_sum(network))).layers, counts);
      if (HasFatalFailure()) return;
    }
  }
  for (const std::uint64_t settled : {counts.bounds, counts.pushed, counts.greedy, counts.cuts, counts.search}) {
    EXPECT_GT(settled, 0U);
  }
}

TEST(SinkSolver, ValuesOverBoundsAgreeWithDinic) {
  FlowCounts counts;
  for (const bool upside_down : {false, true}) {
    const AttentionGraph graph =
        attention_graph(random_stack({.layers = 7, .heads = 2, .tokens = 20, .causal = true, .seed = 77}));
    LayeredNetwork network;
    for (std::size_t l = 1; l <= graph.layers(); ++l) network.layers.push_back(graph.below(l));
    std::vector<UnitBlock> blocks = to_units(network, FixedPoint::for_row_sum(largest_row_sum(network))).layers;
    if (upside_down) {
      for (UnitBlock& block : blocks) {
        UnitBlock turned({block.extent(1), block.extent(0)});
        for (std::size_t p = 0; p < block.extent(0); ++p) {
          for (std::size_t q = 0; q < block.extent(1); ++q) turned(q, p) = block(p, q);
        }
        block = std::move(turned);
      }
    }
    check_network(blocks, counts, Below::kBounds);
    if (HasFatalFailure()) return;
  }
}

TEST(SinkSolver, RandomNetworksAgreeWithDinic) {
  struct Kind {
    UnitNetworkOptions options;
    Below known;
  };
  const Kind kinds[] = {
      {{.depth = 7, .least_nodes = 2, .max_nodes = 16, .square = true, .sinks = 5}, Below::kValues},
      {{.depth = 7, .least_nodes = 2, .max_nodes = 16, .square = true, .sinks = 3}, Below::kBounds},
      // Layers of different sizes, as in encoder-decoder graphs.
      {{.depth = 7, .least_nodes = 1, .max_nodes = 20, .sinks = 3}, Below::kValues},
  };
  const std::size_t count = share_of(200, "random networks");
  for (const Kind& kind : kinds) {
    FlowCounts counts;
    for (std::size_t t = 0; t < count; ++t) {
      SCOPED_TRACE("seed " + std::to_string(100 + t));
      std::mt19937_64 random(100 + t);
      check_network(random_unit_network(random, kind.options), counts, kind.known);
      if (HasFatalFailure()) return;
    }
    EXPECT_GT(counts.search, 0U);
  }
}

}  // namespace
}  // namespace attnflow::internal::sink_solver_test
