#include "attnflow/flow/pair_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "attnflow/flow/naive_flow_for_test.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::pair_flow_test {
namespace {

constexpr PairFlowOptions kNearestInput{.minimum_cut = MinimumCut::kNearestInput};

// Capacity of a cut in units, rounded down: for a minimum cut, it equals the maximum flow in units.
std::int64_t units_below(const LayeredNetwork& network, const PairFlow& pair) {
  std::int64_t units = 0;
  for (const FlowArc& arc : pair.minimum_cut) {
    units += pair.fixed_point.units(network.layers[arc.layer - 1](arc.from, arc.to));
  }
  return units;
}

std::int64_t flow_units(const PairFlow& pair, std::size_t depth) {
  std::int64_t units = 0;
  for (const FlowArc& arc : pair.arc_flows) units += arc.layer == depth ? arc.units : 0;
  return units;
}

PairFlow expect_proven(const LayeredNetwork& network, std::size_t i, std::size_t j,
                       const PairFlowOptions& options = {}) {
  PairFlow pair = flow_of_pair(network, i, j, options);
  const FlowCertificate certificate = certify(network, i, j, pair);
  EXPECT_TRUE(certificate.holds()) << certificate.problem;
  EXPECT_EQ(certificate.low, pair.flow);
  EXPECT_LE(certificate.high, pair.flow + pair.flow_gap);
  EXPECT_EQ(units_below(network, pair), flow_units(pair, network.depth()));
  const auto before = [](const FlowArc& a, const FlowArc& b) {
    return std::tuple(b.layer, a.from, a.to) < std::tuple(a.layer, b.from, b.to);
  };
  EXPECT_TRUE(std::is_sorted(pair.arc_flows.begin(), pair.arc_flows.end(), before));
  EXPECT_TRUE(std::is_sorted(pair.minimum_cut.begin(), pair.minimum_cut.end(), before));

  const std::vector<CutShare> shares = cut_shares(network, pair);
  EXPECT_EQ(shares.size(), network.depth());
  double sum = 0.0;
  std::size_t arcs = 0;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    EXPECT_EQ(shares[k].layer, network.depth() - k);
    sum += shares[k].share;
    arcs += shares[k].arcs;
    EXPECT_EQ(shares[k].arcs == 0, shares[k].capacity == 0.0);
  }
  EXPECT_NEAR(sum, pair.minimum_cut.empty() ? 0.0 : 1.0, 1e-15 * static_cast<double>(shares.size()));
  EXPECT_EQ(arcs, pair.minimum_cut.size());
  return pair;
}

// Rectangular blocks of random sizes, with many arcs missing; capacities are multiples of 1/quantum, unless that is 0.
LayeredNetwork random_network(std::mt19937_64& random, std::size_t depth, double density, double quantum = 0.0) {
  std::uniform_int_distribution<std::size_t> size(1, 9);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  LayeredNetwork network;
  std::size_t below = size(random);
  for (std::size_t k = 0; k < depth; ++k) {
    const std::size_t nodes = size(random);
    Tensor<double> block({nodes, below});
    for (double& c : block.span()) {
      c = uniform(random) < density ? uniform(random) : 0.0;
      if (quantum > 0.0) c = std::ceil(c * quantum) / quantum;
    }
    network.layers.push_back(block);
    below = nodes;
  }
  return network;
}

TEST(FlowOfPair, IsProvenAndExactOnNetworksOfAnyShape) {
  std::mt19937_64 random(41);
  std::size_t apart = 0;
  std::size_t several = 0;
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    const std::size_t depth = 1 + static_cast<std::size_t>(round) % 7;
    const LayeredNetwork network =
        random_network(random, depth, round % 3 == 0 ? 0.25 : 0.7, round % 2 == 0 ? 4.0 : 0.0);
    for (std::size_t i = 0; i < network.layers.back().extent(0); ++i) {
      for (std::size_t j = 0; j < network.layers.front().extent(1); ++j) {
        const PairFlow pair = expect_proven(network, i, j);
        const WideUnits truth = naive_max_flow(network, i, j);
        EXPECT_TRUE(wide_units(pair.flow) <= truth);
        EXPECT_TRUE(truth <= wide_units(std::nextafter(pair.flow + pair.flow_gap, 2e9)) + 1);
        EXPECT_LE(pair.flow_gap, 1e-15);
        const PairFlow other = expect_proven(network, i, j, kNearestInput);
        EXPECT_EQ(other.flow, pair.flow);
        EXPECT_EQ(other.arc_flows, pair.arc_flows);
        apart += truth == 0;
        several += other.minimum_cut != pair.minimum_cut;
        if (truth == 0) {
          EXPECT_TRUE(pair.arc_flows.empty() && pair.minimum_cut.empty());
        }
      }
    }
  }
  EXPECT_GT(apart, 100U);
  EXPECT_GT(several, 100U);
}

TEST(FlowOfPair, OffersTheCutAtEitherEnd) {
  // A chain 1, 1/2, 1/2, 1: either half is a minimum cut, and nothing else is.
  LayeredNetwork chain;
  for (const double c : {1.0, 0.5, 0.5, 1.0}) chain.layers.push_back(Tensor<double>({1, 1}, {c}));
  EXPECT_EQ(flow_of_pair(chain, 0, 0).minimum_cut, (std::vector<FlowArc>{{3, 0, 0, 0}}));
  EXPECT_EQ(flow_of_pair(chain, 0, 0, kNearestInput).minimum_cut, (std::vector<FlowArc>{{2, 0, 0, 0}}));
  chain.layers[2] = Tensor<double>({1, 1}, {0.75});
  for (const PairFlowOptions& options : {PairFlowOptions{}, kNearestInput}) {
    EXPECT_EQ(flow_of_pair(chain, 0, 0, options).minimum_cut, (std::vector<FlowArc>{{2, 0, 0, 0}}));
  }
  // Taking flow back counts as a way to the sink: node (1, 1) has no residual capacity of its own.
  LayeredNetwork crossed;
  crossed.layers = {Tensor<double>({2, 1}, {1.0, 0.25}), Tensor<double>({2, 2}, {0.5, 0.25, 0.0, 0.25}),
                    Tensor<double>({1, 2}, {1.0, 0.25})};
  expect_proven(crossed, 0, 0);
  expect_proven(crossed, 0, 0, kNearestInput);
}

TEST(FlowOfPair, SharesOfTheLayers) {
  // Half of the flow is stopped in layer 2, a quarter in layer 1; on the third path, layer 3 limits it to 1/16.
  LayeredNetwork network;
  network.layers = {Tensor<double>({3, 1}, {1.0, 0.25, 1.0}),
                    Tensor<double>({3, 3}, {0.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}),
                    Tensor<double>({1, 3}, {1.0, 1.0, 0.0625})};
  const PairFlow pair = expect_proven(network, 0, 0);
  EXPECT_EQ(pair.flow, 0.8125);
  const std::vector<CutShare> shares = cut_shares(network, pair);
  const double capacities[] = {0.0625, 0.5, 0.25};
  for (std::size_t k = 0; k < 3; ++k) {
    EXPECT_EQ(shares[k].arcs, 1U);
    EXPECT_EQ(shares[k].capacity, capacities[k]);
    EXPECT_EQ(shares[k].share, capacities[k] / 0.8125);
  }
  PairFlow wrong = pair;
  wrong.minimum_cut[0].layer = 0;
  EXPECT_THROW(cut_shares(network, wrong), Error);
}

TEST(FlowOfPair, LargeStacks) {
  // More nodes than the bits of a word, padded rows, and deep causal networks.
  for (const bool causal : {false, true}) {
    const AttentionGraph graph = attention_graph(random_stack(
        {.layers = 6, .heads = 1, .tokens = 75, .causal = causal, .sharpness = 3.0, .sink = causal, .seed = 42}));
    for (std::size_t l = 2; l <= 6; ++l) {
      const LayeredNetwork network = attention_network(graph, l, 0);
      for (std::size_t i = 0; i < 75; i += 37) {
        for (std::size_t j = 0; j < 75; j += 9) {
          expect_proven(network, i, j);
          expect_proven(network, i, j, kNearestInput);
        }
      }
    }
  }
}

TEST(FlowOfPair, LooksAtPathsOnly) {
  // Causal: node 2 is beyond output token 1, and input token 0 below input token 1.
  LayeredNetwork network;
  const Tensor<double> block({3, 3}, {1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.25, 0.25, 0.5});
  network.layers = {block, block, block};
  const PairFlow clean = expect_proven(network, 1, 1);
  EXPECT_EQ(clean.flow, 0.5);
  for (const double odd : {std::nan(""), -1.0, std::numeric_limits<double>::infinity(), 1e300}) {
    LayeredNetwork other = network;
    other.layers[1](2, 1) = odd;
    other.layers[0](0, 0) = odd;
    const PairFlow pair = flow_of_pair(other, 1, 1);
    EXPECT_EQ(pair.arc_flows, clean.arc_flows);
    EXPECT_EQ(pair.minimum_cut, clean.minimum_cut);
    // certify() checks everything, but a large capacity elsewhere is no reason to reject.
    if (odd == 1e300) {
      EXPECT_TRUE(certify(other, 1, 1, pair).holds());
    } else {
      EXPECT_THROW(certify(other, 1, 1, pair), Error);
    }
    if (odd == 1e300) continue;
    for (std::size_t k = 0; k < 3; ++k) {
      other = network;
      other.layers[k](1, 1) = odd;
      EXPECT_THROW(flow_of_pair(other, 1, 1), Error) << k << " " << odd;
    }
  }
}

TEST(FlowOfPair, CapacitiesOfAnySize) {
  std::mt19937_64 random(43);
  for (const double scale : {1e300, 1e12, 1e-12, 1e-300, 5e-324}) {
    LayeredNetwork network = random_network(random, 5, 1.0);
    for (Tensor<double>& block : network.layers) {
      for (double& c : block.span()) c *= scale;
    }
    const PairFlow pair = flow_of_pair(network, 0, 0);
    const FlowCertificate certificate = certify(network, 0, 0, pair);
    EXPECT_TRUE(certificate.holds()) << scale << ": " << certificate.problem;
    EXPECT_EQ(certificate.low, pair.flow);
    EXPECT_LE(certificate.high, pair.flow + pair.flow_gap);
    EXPECT_LE(pair.flow_gap, std::max(scale * 1e-14, 1e-280));
  }
  // A capacity of less than one unit remains in the cut.
  LayeredNetwork faint{.layers = {Tensor<double>({2, 1}, {1.0, 1e-30}), Tensor<double>({1, 2}, {0.5, 1.0})}};
  const PairFlow pair = expect_proven(faint, 0, 0);
  EXPECT_EQ(pair.minimum_cut.size(), 2U);
  EXPECT_GE(pair.flow + pair.flow_gap, 0.5);
  EXPECT_GT(pair.flow_gap, 0.0);
}

TEST(Certify, ArcsAnywhereAndOfAnySize) {
  // A flow and a cut off the paths prove nothing wrong; sums are not truncated.
  LayeredNetwork network{
      .layers = {Tensor<double>({2, 2}, {0.5, 0.0, 1e300, 1e300}), Tensor<double>({2, 2}, {0.5, 0.0, 1e300, 0.5})}};
  PairFlow pair = flow_of_pair(network, 0, 0);
  ASSERT_TRUE(certify(network, 0, 0, pair).holds());
  PairFlow wide = pair;
  wide.minimum_cut.push_back({2, 1, 0, 0});
  EXPECT_TRUE(certify(network, 0, 0, wide).holds());
  EXPECT_EQ(certify(network, 0, 0, wide).high, std::numeric_limits<double>::infinity());
  PairFlow lost = pair;
  lost.arc_flows.push_back({1, 1, 0, kManyUnits});
  EXPECT_FALSE(certify(network, 0, 0, lost).conserves);
  lost.arc_flows.back().units = std::numeric_limits<std::int64_t>::max();
  EXPECT_FALSE(certify(network, 0, 0, lost).feasible);
}

TEST(PairFlow, SumsThatAreNoNumberAreRefused) {
  constexpr double kMost = std::numeric_limits<double>::max();
  LayeredNetwork one{.layers = {Tensor<double>({1, 1}, {kMost})}};
  EXPECT_THROW(flow_of_pair(one, 0, 0), Error);
  LayeredNetwork sums{
      .layers = {Tensor<double>({2, 1}, {1.5e308, 1.5e308}), Tensor<double>({1, 2}, {1.5e308, 1.5e308})}};
  EXPECT_THROW(certify(sums, 0, 0, {}), Error);
}

TEST(Certify, ACapacityFarBelowTheUnitStillCounts) {
  // In units of about 1e300 / 2^60, 1e-100 is zero, but a cut through it does not have capacity 0.
  LayeredNetwork uneven{.layers = {Tensor<double>({1, 1}, {1e-100}), Tensor<double>({1, 1}, {1e300})}};
  const PairFlow pair = flow_of_pair(uneven, 0, 0);
  EXPECT_EQ(pair.flow, 0.0);
  EXPECT_GE(pair.flow_gap, 1e-100);
  EXPECT_GE(certify(uneven, 0, 0, pair).high, 1e-100);
  LayeredNetwork plain{.layers = {Tensor<double>({1, 1}, {0.5})}};
  for (const int exponent : {-1000, -2000, std::numeric_limits<int>::min()}) {
    PairFlow claim;
    claim.fixed_point.exponent = exponent;
    claim.minimum_cut.push_back({1, 0, 0, 0});
    const FlowCertificate certificate = certify(plain, 0, 0, claim);
    EXPECT_FALSE(certificate.holds() && certificate.high < 0.5) << exponent;
  }
}

TEST(PairFlow, NetworksThatAreNoneAreRefused) {
  LayeredNetwork deep;
  for (std::size_t k = 0; k <= kMaxFlowLayers; ++k) deep.layers.emplace_back(Shape{1, 1});
  EXPECT_THROW(flow_of_pair(deep, 0, 0), Error);
  deep.layers.pop_back();
  EXPECT_EQ(flow_of_pair(deep, 0, 0).flow, 0.0);
}

}  // namespace
}  // namespace attnflow::pair_flow_test
