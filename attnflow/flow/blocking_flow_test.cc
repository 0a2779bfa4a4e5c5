#include "attnflow/flow/blocking_flow.h"

#include <gtest/gtest.h>

#include <random>

#include "attnflow/flow/kept_flows.h"
#include "attnflow/flow/sink_problem_for_test.h"
#include "attnflow/flow/test_share_for_test.h"
#include "attnflow/flow/vector_targets_for_test.h"

namespace attnflow::internal::blocking_flow_test {
namespace {

void expect_flow(const FlowPass& pass, std::int64_t value) {
  const std::size_t top = pass.depth - 1;
  std::vector<std::int64_t> arrived(pass.layers[top].nodes);
  std::int64_t sent = 0;
  for (std::size_t p = 0; p < arrived.size(); ++p) {
    arrived[p] = pass.supply[p] - pass.supply_left[p];
    EXPECT_GE(arrived[p], 0);
    EXPECT_GE(pass.supply_left[p], 0);
    sent += arrived[p];
  }
  EXPECT_EQ(sent, value);
  for (std::size_t k = top; k >= 2; --k) {
    const FlowLayer& layer = pass.layers[k];
    const FlowLayer& below = pass.layers[k - 1];
    std::vector<std::int64_t> lower(below.nodes, 0);
    for (std::size_t p = 0; p < layer.nodes; ++p) {
      std::int64_t out = 0;
      for (std::size_t q = 0; q < layer.stride; ++q) {
        const std::int64_t flow = layer.flow[p * layer.stride + q];
        ASSERT_TRUE(flow >= 0 && flow <= layer.capacity[p * layer.stride + q]) << k << " " << p << " " << q;
        if (flow == 0) continue;
        ASSERT_LT(q, below.nodes);
        out += flow;
        lower[q] += flow;
        EXPECT_TRUE(below.inflow[q * below.inflow_words + p / 64] >> (p % 64) & 1) << k << " " << p << " " << q;
      }
      EXPECT_EQ(out, arrived[p]) << "layer " << k << " node " << p;
    }
    arrived = std::move(lower);
  }
  for (std::size_t p = 0; p < arrived.size(); ++p) {
    EXPECT_EQ(pass.sink_capacity[p] - pass.sink_left[p], arrived[p]);
    EXPECT_GE(pass.sink_left[p], 0);
  }
}

bool blocks_every_path_down(const FlowPass& pass) {
  const std::size_t top = pass.depth - 1;
  std::vector<bool> reached(pass.layers[top].nodes);
  for (std::size_t p = 0; p < reached.size(); ++p) reached[p] = pass.supply_left[p] > 0;
  for (std::size_t k = top; k >= 2; --k) {
    const FlowLayer& layer = pass.layers[k];
    std::vector<bool> lower(pass.layers[k - 1].nodes);
    for (std::size_t p = 0; p < layer.nodes; ++p) {
      for (std::size_t q = 0; reached[p] && q < lower.size(); ++q) {
        if (layer.flow[p * layer.stride + q] < layer.capacity[p * layer.stride + q]) lower[q] = true;
      }
    }
    reached = std::move(lower);
  }
  for (std::size_t p = 0; p < reached.size(); ++p) {
    if (reached[p] && pass.sink_left[p] > 0) return false;
  }
  return true;
}

std::int64_t cut_capacity(const FlowPass& pass) {
  const std::size_t top = pass.depth - 1;
  const auto inside = [&pass](std::size_t k, std::size_t p) { return pass.layers[k].distance[p] >= 0; };
  std::int64_t capacity = 0;
  for (std::size_t p = 0; p < pass.layers[top].nodes; ++p) {
    if (!inside(top, p)) capacity += pass.supply[p];
  }
  for (std::size_t k = top; k >= 2; --k) {
    const FlowLayer& layer = pass.layers[k];
    for (std::size_t p = 0; p < layer.nodes; ++p) {
      for (std::size_t q = 0; inside(k, p) && q < pass.layers[k - 1].nodes; ++q) {
        if (!inside(k - 1, q)) capacity += layer.capacity[p * layer.stride + q];
      }
    }
  }
  for (std::size_t p = 0; p < pass.layers[1].nodes; ++p) {
    if (inside(1, p)) capacity += pass.sink_capacity[p];
  }
  return capacity;
}

void expect_no_flow(const FlowPass& pass) {
  for (std::size_t k = 1; k < pass.depth; ++k) {
    const FlowLayer& layer = pass.layers[k];
    for (std::size_t e = 0; k >= 2 && e < layer.nodes * layer.stride; ++e) ASSERT_EQ(layer.flow[e], 0);
    for (std::size_t e = 0; k + 1 < pass.depth && e < padded(layer.nodes) * layer.inflow_words; ++e) {
      ASSERT_EQ(layer.inflow[e], 0U);
    }
  }
}

struct Tally {
  std::size_t passes = 0, greedy_was_enough = 0;
};

void check_source(const FlowPass& pass, std::int64_t truth, Tally& tally) {
  const std::int64_t expected = std::min(truth, pass.enough);
  const std::int64_t greedy = greedy_flow(pass, false);
  EXPECT_LE(greedy, expected);
  EXPECT_EQ(greedy_flow(pass, true), greedy) << "recording changes nothing";
  expect_flow(pass, greedy);
  if (greedy < pass.enough) {
    EXPECT_TRUE(blocks_every_path_down(pass));
  }
  EXPECT_EQ(augment_flow(pass, greedy), expected);
  expect_flow(pass, expected);
  if (expected < pass.enough) {
    EXPECT_EQ(cut_capacity(pass), expected) << "the cut proves the flow";
  }
  clear_flow(pass);
  expect_no_flow(pass);
  ++tally.passes;
  tally.greedy_was_enough += greedy == expected;
}

void check_network(const std::vector<UnitBlock>& blocks, const std::vector<std::vector<std::int64_t>>& truth,
                   std::mt19937_64& random, Tally& tally) {
  const auto pointers = pointers_to(blocks);
  std::size_t positions = blocks[0].extent(0);  // the same in all layers
  for (const UnitBlock& block : blocks) positions = std::min(positions, block.extent(0));
  SinkNetwork network(pointers);
  // Twice, because state left from one sink must not affect the next.
  for (int sink = 0; sink < 2; ++sink) {
    network.clear();
    for (std::size_t k = 1; k < blocks.size(); ++k) {
      network.add_layer(truth[k], truth[k], demand_of_layer(blocks, k));
      const std::size_t depth = k + 1;
      if (depth < 3) continue;
      const UnitBlock& top = blocks[depth - 1];
      for (std::size_t i = 0; i < top.extent(0); i += 1 + top.extent(0) / 6) {
        const std::int64_t flow = truth[depth][i];
        if (flow == 0) continue;
        SourceOfPass source(network, top.data() + i * top.extent(1), i % positions, random);
        const std::int64_t bounds[] = {kManyUnits, flow, flow + 1, (flow + 1) / 2};
        for (const std::int64_t enough : bounds) {
          for (const StraightFirst straight : {StraightFirst::kNone, StraightFirst::kSource, StraightFirst::kAll}) {
            source.pass().enough = enough;
            source.pass().straight_first = straight;
            check_source(source.pass(), flow, tally);
          }
        }
        if (testing::Test::HasFailure()) return;
      }
    }
  }
}

void check_networks(const UnitNetworkOptions& options, std::size_t count, std::uint64_t seed, Tally& tally) {
  for (std::size_t t = 0; t < count; ++t) {
    SCOPED_TRACE("seed " + std::to_string(seed + t));
    std::mt19937_64 random(seed + t);
    const std::vector<UnitBlock> blocks = random_unit_network(random, options);
    const auto truth = dinic_flows_to_sink(blocks);
    for_each_vector_target([&] { check_network(blocks, truth, random, tally); });
    if (testing::Test::HasFailure()) return;
  }
}

TEST(BlockingFlow, AugmentingGivesTheMaximumAndACutThatProvesIt) {
  const std::size_t count = share_of(80, "random networks");
  Tally tally;
  check_networks({.depth = 6, .least_nodes = 1, .max_nodes = 12}, count, 100, tally);
  check_networks({.depth = 5, .least_nodes = 9, .max_nodes = 20, .square = true}, 1 + count / 4, 2000, tally);
  // More nodes than the bits of a word.
  Tally large;
  check_networks({.depth = 6, .least_nodes = 62, .max_nodes = 70}, 1 + count / 20, 3004, large);
  for (const Tally& some : {tally, large}) {
    EXPECT_GT(some.greedy_was_enough, 0U);
    EXPECT_LT(some.greedy_was_enough, some.passes) << "no search was tested";
  }
}

// Wide straight arcs, so that flows of one level are also flows of the next.
std::vector<UnitBlock> network_of_chains(std::mt19937_64& random, std::size_t layers, std::size_t nodes) {
  std::vector<UnitBlock> blocks;
  for (std::size_t k = 0; k < layers; ++k) {
    UnitBlock block({nodes, k == 0 ? std::size_t{1} : nodes});
    for (auto& units : block.span()) units = static_cast<std::int64_t>(random() % 1000) * (random() % 3 != 0);
    for (std::size_t p = 0; k > 0 && p < nodes; ++p) block(p, p) += p % 5 == 0 ? 3000 : 60000;
    blocks.push_back(std::move(block));
  }
  return blocks;
}

TEST(KeptFlows, AreFlowsOneLevelUpFromWhichASearchFindsTheSameMaximum) {
  std::size_t restored = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    std::mt19937_64 random(seed);
    const std::size_t nodes = 3 + seed * 4;  // up to more than the bits of a word
    const std::vector<UnitBlock> blocks = network_of_chains(random, 7, nodes);
    const auto truth = dinic_flows_to_sink(blocks);
    const auto pointers = pointers_to(blocks);
    SinkNetwork network(pointers);
    KeptFlows kept(std::size_t{1} << 20);
    for (int sink = 0; sink < 2; ++sink) {
      network.clear();
      kept.clear();
      for (std::size_t k = 1; k < blocks.size(); ++k) {
        SCOPED_TRACE(testing::Message() << "seed " << seed << ", level " << k + 1);
        network.add_layer(truth[k], truth[k], demand_of_layer(blocks, k));
        if (k + 1 < 3) continue;
        for (std::size_t i = 0; i < nodes; ++i) {
          if (k % 3 == 0 && i % 4 == 0) continue;  // levels may be skipped
          SourceOfPass source(network, blocks[k].data() + i * nodes, i, random);
          FlowPass& pass = source.pass();
          std::int64_t flow = kept.restore(pass, i);
          if (flow > 0) {
            ++restored;
            expect_flow(pass, flow);
          } else {
            expect_no_flow(pass);
            refused += k > 2;
            flow = greedy_flow(pass, true);
          }
          EXPECT_EQ(augment_flow(pass, flow), truth[k + 1][i]);
          expect_flow(pass, truth[k + 1][i]);
          EXPECT_EQ(cut_capacity(pass), truth[k + 1][i]);
          kept.keep(pass, i);
          clear_flow(pass);
          expect_no_flow(pass);
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(restored, 0U);
  EXPECT_GT(refused, 0U) << "no straight arc was too narrow";
}

TEST(KeptFlows, KeepNoMoreThanTheirLimit) {
  std::mt19937_64 random(8);
  const std::vector<UnitBlock> blocks = network_of_chains(random, 4, 12);
  const auto truth = dinic_flows_to_sink(blocks);
  const auto pointers = pointers_to(blocks);
  SinkNetwork network(pointers);
  for (std::size_t k = 1; k <= 2; ++k) network.add_layer(truth[k], truth[k], demand_of_layer(blocks, k));
  KeptFlows none(0), one(KeptFlows::kArcBytes), many(std::size_t{1} << 20);
  SourceOfPass source(network, blocks[2].data() + 12, 1, random);
  EXPECT_EQ(augment_flow(source.pass(), greedy_flow(source.pass(), true)), truth[3][1]);
  for (KeptFlows* flows : {&none, &one, &many}) flows->keep(source.pass(), 1);
  clear_flow(source.pass());
  network.add_layer(truth[3], truth[3], demand_of_layer(blocks, 3));
  SourceOfPass above(network, blocks[3].data() + 12, 1, random);
  EXPECT_EQ(none.restore(above.pass(), 1), 0);
  EXPECT_EQ(one.restore(above.pass(), 1), 0);
  EXPECT_EQ(many.restore(above.pass(), 0), 0) << "another position";
  EXPECT_EQ(many.restore(above.pass(), 1), truth[3][1]);
  expect_flow(above.pass(), truth[3][1]);
  clear_flow(above.pass());
  std::vector<std::int64_t> narrow(12, 0);
  narrow[1] = truth[3][1] - 1;
  SourceOfPass other(network, narrow.data(), 1, random);
  EXPECT_EQ(many.restore(other.pass(), 1), 0);
  expect_no_flow(other.pass());
  many.clear();
  EXPECT_EQ(many.restore(above.pass(), 1), 0);
}

}  // namespace
}  // namespace attnflow::internal::blocking_flow_test
