#include "attnflow/flow/flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

#include "attnflow/flow/naive_flow_for_test.h"
#include "attnflow/flow/pair_flow.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::flow_test {
namespace {

// Checks low <= truth <= low + gap in exact units. low + gap is rounded to nearest, so one more step up is allowed.
void expect_encloses(double low, double gap, WideUnits truth) {
  EXPECT_TRUE(wide_units(low) <= truth) << low;
  const double high = std::nextafter(low + gap, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(truth <= wide_units(high) + 1) << low << " + " << gap;
  EXPECT_LE(gap, 1e-12);
}

struct Case {
  const char* name;
  RandomStackOptions stack;
  HeadFusion heads = HeadFusion::kMean;
  double residual = 0.5;
  double discard = 0.0;
};

std::vector<Case> cases() {
  return {
      {"soft", {.layers = 4, .heads = 2, .tokens = 7, .sharpness = 0.5, .seed = 1}},
      {"peaked", {.layers = 5, .heads = 2, .tokens = 7, .sharpness = 6.0, .seed = 2}},
      {"causal", {.layers = 5, .heads = 3, .tokens = 8, .causal = true, .seed = 3}},
      {"sink", {.layers = 4, .heads = 2, .tokens = 8, .causal = true, .sink = true, .seed = 4}},
      {"ties", {.layers = 4, .heads = 1, .tokens = 7, .quantum = 4, .seed = 5}},
      {"causal ties", {.layers = 5, .heads = 1, .tokens = 7, .causal = true, .quantum = 2, .seed = 6}},
      {"no residual", {.layers = 4, .heads = 1, .tokens = 7, .sharpness = 4.0, .seed = 7}, HeadFusion::kMean, 0.0},
      {"sparse", {.layers = 5, .heads = 2, .tokens = 8, .seed = 8}, HeadFusion::kMean, 0.3, 0.8},
      {"one head", {.layers = 4, .heads = 3, .tokens = 7, .seed = 9}, HeadFusion::kSingle},
      {"max", {.layers = 3, .heads = 3, .tokens = 7, .seed = 10}, HeadFusion::kMax},
      {"one token", {.layers = 3, .heads = 2, .tokens = 1, .seed = 11}},
      {"one layer", {.layers = 1, .heads = 2, .tokens = 6, .seed = 12}},
  };
}

AttentionGraph graph_of(const Case& c) {
  MixingOptions mixing;
  mixing.heads = c.heads;
  mixing.residual = c.residual;
  mixing.discard = c.discard;
  return attention_graph(random_stack(c.stack), mixing);
}

TEST(AttentionFlow, EnclosesTheExactMaximumForEveryPairAndSpan) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const AttentionGraph graph = graph_of(c);
    const std::size_t n = graph.tokens();
    for (std::size_t m = 0; m < graph.layers(); ++m) {
      const FlowResult all = attention_flow(graph, {.start_layer = m, .threads = 2});
      ASSERT_EQ(all.flow.shape(), (Shape{graph.layers() - m, n, n}));
      for (std::size_t l = m + 1; l <= graph.layers(); ++l) {
        const LayeredNetwork network = attention_network(graph, l, m);
        for (std::size_t i = 0; i < n; ++i) {
          const FlowResult row = attention_flow(graph, {.layers = {l}, .start_layer = m, .output_token = i});
          for (std::size_t j = 0; j < n; ++j) {
            const std::size_t w = l - m - 1;
            expect_encloses(all.flow(w, i, j), all.flow_gap(w, i, j), naive_max_flow(network, i, j));
            EXPECT_EQ(row.flow(0, 0, j), all.flow(w, i, j));
            EXPECT_EQ(row.degenerate(0, 0, j), all.degenerate(w, i, j));
          }
        }
      }
    }
  }
}

TEST(AttentionFlow, LawsHold) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const AttentionGraph graph = graph_of(c);
    const std::size_t n = graph.tokens();
    const FlowResult all = attention_flow(graph, {});
    const Tensor<double> products = rollout(graph);
    const Tensor<double> first = graph.below(1);
    for (std::size_t l = 1; l <= graph.layers(); ++l) {
      const Tensor<double> top = graph.top(l);
      for (std::size_t i = 0; i < n; ++i) {
        double row_sum = 0.0;
        for (std::size_t k = 0; k < n; ++k) row_sum += top(i, k);
        for (std::size_t j = 0; j < n; ++j) {
          const double flow = all.flow(l - 1, i, j);
          double column = 0.0;
          for (std::size_t k = 0; k < n; ++k) column += first(k, j);
          // Sums and products with up to n L rounding errors.
          if (c.heads != HeadFusion::kMax) {
            EXPECT_LE(products(l - 1, i, j), flow + 1e-12);
          }
          if (l == 1) {
            EXPECT_EQ(flow, products(0, i, j));
            EXPECT_EQ(all.flow_gap(0, i, j), 0.0);
          } else {
            EXPECT_LE(flow, std::min(row_sum, column) + 1e-12);
          }
          if (l == 2) {
            double expected = 0.0;
            for (std::size_t k = 0; k < n; ++k) expected += std::min(top(i, k), first(k, j));
            EXPECT_NEAR(flow, expected, 1e-14);
          }
        }
      }
    }
  }
}

TEST(AttentionFlow, DegenerateMeansEqualToAnEndCut) {
  std::size_t flagged = 0;
  std::size_t plain = 0;
  for (const bool causal : {false, true}) {
    const AttentionGraph graph = attention_graph(
        random_stack({.layers = 6, .heads = 2, .tokens = 12, .causal = causal, .sharpness = 1.5, .seed = 21}), {});
    const FlowResult all = attention_flow(graph, {});
    const Tensor<double> first = graph.below(1);
    for (std::size_t l = 1; l <= 6; ++l) {
      const Tensor<double> top = graph.top(l);
      for (std::size_t i = 0; i < 12; ++i) {
        for (std::size_t j = 0; j < 12; ++j) {
          // With a residual, i reaches exactly the positions it sees.
          double column = 0.0;
          double row = 0.0;
          for (std::size_t k = 0; k < 12; ++k) {
            if (!causal || k <= i) column += first(k, j);
            if (!causal || k >= j) row += top(i, k);
          }
          const double high = all.flow(l - 1, i, j) + all.flow_gap(l - 1, i, j);
          const auto kind = static_cast<FlowDegeneracy>(all.degenerate(l - 1, i, j));
          if (l == 1 || (causal && j > i)) {
            EXPECT_EQ(kind, FlowDegeneracy::kNone);
          } else if (kind == FlowDegeneracy::kFirstLayerColumn) {
            EXPECT_NEAR(high, column, 1.1e-6);
          } else if (kind == FlowDegeneracy::kTopRow) {
            EXPECT_NEAR(high, row, 1.1e-6);
          } else {
            EXPECT_LT(high, std::min(column, row) - 0.9e-6);
          }
          ++(kind == FlowDegeneracy::kNone ? plain : flagged);
        }
      }
    }
  }
  EXPECT_GT(flagged, 100U);
  EXPECT_GT(plain, 100U);
}

TEST(AttentionFlow, SameBitsForAnyThreadCount) {
  const AttentionGraph graph = attention_graph(random_stack({.layers = 4, .heads = 2, .tokens = 19, .seed = 22}), {});
  const FlowResult one = attention_flow(graph, {.threads = 1});
  const FlowResult four = attention_flow(graph, {.threads = 4});
  EXPECT_EQ(one.flow, four.flow);
  EXPECT_EQ(one.flow_gap, four.flow_gap);
  EXPECT_EQ(one.degenerate, four.degenerate);
}

// For one output token, few layers are divided into shares of their input tokens, and many are not.
TEST(AttentionFlow, OneOutputTokenHasTheSameBitsForAnyThreadCount) {
  const AttentionGraph graph = attention_graph(random_stack({.layers = 9, .tokens = 70, .causal = true, .seed = 12}));
  for (const std::vector<std::size_t>& layers : {std::vector<std::size_t>{}, {9}, {1, 2, 8}}) {
    const FlowResult all = attention_flow(graph, {.layers = layers, .threads = 2});
    for (const std::size_t token : {std::size_t{0}, std::size_t{33}, std::size_t{69}}) {
      for (const std::size_t threads : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
        const FlowResult row = attention_flow(graph, {.layers = layers, .output_token = token, .threads = threads});
        for (std::size_t w = 0; w < row.flow.extent(0); ++w) {
          for (std::size_t j = 0; j < graph.tokens(); ++j) {
            ASSERT_EQ(row.flow(w, 0, j), all.flow(w, token, j)) << w << ' ' << token << ' ' << j;
            ASSERT_EQ(row.flow_gap(w, 0, j), all.flow_gap(w, token, j));
            ASSERT_EQ(row.degenerate(w, 0, j), all.degenerate(w, token, j));
          }
        }
      }
    }
  }
}

TEST(AttentionFlow, AfterTheDeadlineEnclosuresStayAsTheyAre) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const AttentionGraph graph = graph_of(c);
    const std::size_t last = graph.tokens() - 1;
    const FlowResult exact = attention_flow(graph);
    const Deadline past(Deadline::Clock::now());
    const FlowResult all = attention_flow(graph, {.deadline = past});
    const FlowResult row = attention_flow(graph, {.output_token = last, .deadline = past});
    const auto expect_around = [](double low, double width, double truth, double spare) {
      EXPECT_LE(low, truth + spare);
      EXPECT_GE(low + width, truth - spare);
    };
    for (std::size_t l = 0; l < graph.layers(); ++l) {
      for (std::size_t i = 0; i < graph.tokens(); ++i) {
        for (std::size_t j = 0; j < graph.tokens(); ++j) {
          const double spare = exact.flow_gap(l, i, j);
          expect_around(all.flow(l, i, j), all.flow_gap(l, i, j), exact.flow(l, i, j), spare);
          if (i == last) expect_around(row.flow(l, 0, j), row.flow_gap(l, 0, j), exact.flow(l, i, j), spare);
        }
      }
    }
    EXPECT_EQ(all.out_of_time, graph.layers() > 1);
    const auto wide = [](double gap) { return gap > 1e-6; };
    if (std::any_of(row.flow_gap.span().begin(), row.flow_gap.span().end(), wide)) {
      EXPECT_TRUE(row.out_of_time);
    }
    const Deadline never = Deadline::in(std::chrono::hours(1));
    const FlowResult in_time = attention_flow(graph, {.deadline = never});
    EXPECT_EQ(in_time.flow, exact.flow);
    EXPECT_FALSE(in_time.out_of_time);
    EXPECT_FALSE(attention_flow(graph, {.output_token = last, .deadline = never}).out_of_time);
  }
}

TEST(AttentionFlow, AGapAllowsEnclosuresOfThatWidth) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const AttentionGraph graph = graph_of(c);
    const FlowResult exact = attention_flow(graph);
    for (const double gap : {0.3, 0.01}) {
      const FlowResult all = attention_flow(graph, {.max_gap = gap, .threads = 1});
      const FlowResult again = attention_flow(graph, {.max_gap = gap, .threads = 3});
      const FlowResult row = attention_flow(graph, {.output_token = graph.tokens() - 1, .max_gap = gap});
      EXPECT_EQ(all.flow, again.flow);
      EXPECT_EQ(all.flow_gap, again.flow_gap);
      const auto expect_close = [gap](double low, double width, double truth, double spare) {
        EXPECT_LE(low, truth + spare);
        EXPECT_GE(low + width, truth - spare);
        EXPECT_LE(width, gap);
      };
      for (std::size_t l = 0; l < graph.layers(); ++l) {
        for (std::size_t i = 0; i < graph.tokens(); ++i) {
          for (std::size_t j = 0; j < graph.tokens(); ++j) {
            const double spare = exact.flow_gap(l, i, j);
            expect_close(all.flow(l, i, j), all.flow_gap(l, i, j), exact.flow(l, i, j), spare);
            if (i + 1 == graph.tokens()) {
              expect_close(row.flow(l, 0, j), row.flow_gap(l, 0, j), exact.flow(l, i, j), spare);
            }
          }
        }
      }
    }
  }
}

TEST(AttentionFlow, WordsShareOneSink) {
  const AttentionGraph graph = attention_graph(random_stack({.layers = 4, .heads = 2, .tokens = 6, .seed = 23}), {});
  const TokenGroups words{{0}, {1, 2, 3}, {4, 5}};
  const FlowResult grouped = attention_flow(graph, {.input_groups = &words});
  ASSERT_EQ(grouped.flow.shape(), (Shape{4, 6, 3}));
  for (std::size_t l = 1; l <= 4; ++l) {
    // The same problem on a network with an additional layer of wide arcs into common sinks.
    LayeredNetwork network = attention_network(graph, l, 0);
    Tensor<double> merge({6, 3});
    for (std::size_t g = 0; g < 3; ++g) {
      for (const std::size_t j : words[g]) merge(j, g) = 1000.0;
    }
    network.layers.insert(network.layers.begin(), merge);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t g = 0; g < 3; ++g) {
        expect_encloses(grouped.flow(l - 1, i, g), grouped.flow_gap(l - 1, i, g), naive_max_flow(network, i, g));
      }
    }
  }
}

TEST(AttentionFlow, RefusesGroupsAndWeightsThatAreNone) {
  AttentionGraph graph = attention_graph(random_stack({.layers = 2, .heads = 1, .tokens = 3, .seed = 1}));
  for (const TokenGroups& wrong : {TokenGroups{{0}, {1}}, TokenGroups{{0, 1}, {1, 2}}, TokenGroups{{0, 1, 2, 3}}}) {
    EXPECT_THROW(attention_flow(graph, {.input_groups = &wrong}), Error);
  }
  for (const double bad : {std::nan(""), -0.5, std::numeric_limits<double>::infinity()}) {
    graph.weights(0, 1, 0) = bad;
    EXPECT_THROW(attention_flow(graph), Error);
  }
}

TEST(AttentionFlow, TheKindOfDegeneracyDoesNotDependOnTheScale) {
  // Everything flows into the first token: its column holds more than any row sends.
  for (const double scale : {0.9999999, 1.0, 1.0000001, 3.0}) {
    AttentionGraph graph;
    graph.residual = 0.5;
    graph.weights = Tensor<double>({3, 5, 5});
    for (std::size_t l = 0; l < 3; ++l) {
      for (std::size_t q = 0; q < 5; ++q) {
        for (std::size_t k = 0; k < 5; ++k) graph.weights(l, q, k) = scale * (k == 0 ? 0.8 : 0.05);
      }
    }
    const FlowResult all = attention_flow(graph, {.tolerance = 1e-9});
    EXPECT_EQ(all.degenerate(2, 0, 0), static_cast<std::uint8_t>(FlowDegeneracy::kTopRow)) << scale;
  }
}

TEST(AttentionFlow, RowsThatDoNotSumToOneAreTakenAsTheyAre) {
  // Arbitrary nonnegative matrices: rows that sum to 1e6, to 1e-6 and to zero.
  std::mt19937_64 random(24);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  AttentionGraph graph;
  graph.residual = 0.0;
  graph.weights = Tensor<double>({4, 6, 6});
  for (std::size_t l = 0; l < 4; ++l) {
    for (std::size_t q = 0; q < 6; ++q) {
      const double scale = q == 5 ? 0.0 : std::pow(10.0, 3.0 * (uniform(random) - 0.5));
      for (std::size_t k = 0; k < 6; ++k) graph.weights(l, q, k) = scale * uniform(random);
    }
  }
  const FlowResult all = attention_flow(graph, {});
  for (std::size_t l = 1; l <= 4; ++l) {
    const LayeredNetwork network = attention_network(graph, l, 0);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) {
        const WideUnits truth = naive_max_flow(network, i, j);
        EXPECT_TRUE(wide_units(all.flow(l - 1, i, j)) <= truth);
        EXPECT_TRUE(truth <= wide_units(std::nextafter(all.flow(l - 1, i, j) + all.flow_gap(l - 1, i, j), 1e9)));
        EXPECT_LE(all.flow_gap(l - 1, i, j), 1e-11);
      }
    }
  }
}

TEST(AttentionFlow, ProgressAndCancellation) {
  const AttentionGraph graph = attention_graph(random_stack({.layers = 3, .heads = 1, .tokens = 9, .seed = 25}), {});
  std::size_t last = 0;
  std::size_t calls = 0;
  attention_flow(graph, {.threads = 3, .progress = [&](std::size_t done, std::size_t total) {
                           EXPECT_EQ(total, 9U);
                           EXPECT_EQ(done, last + 1);
                           last = done;
                           ++calls;
                         }});
  EXPECT_EQ(calls, 9U);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(attention_flow(graph, {.stop_token = stop.get_token()}), Cancelled);
}

TEST(PairFlow, CertificateHoldsAndIsTight) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const AttentionGraph graph = graph_of(c);
    const std::size_t n = graph.tokens();
    for (std::size_t l = 1; l <= graph.layers(); ++l) {
      const LayeredNetwork network = attention_network(graph, l, 0);
      for (std::size_t i = 0; i < n; i += 2) {
        for (std::size_t j = 0; j < n; ++j) {
          const PairFlow pair = flow_of_pair(network, i, j);
          const FlowCertificate certificate = certify(network, i, j, pair);
          EXPECT_TRUE(certificate.holds()) << certificate.problem;
          EXPECT_EQ(certificate.low, pair.flow);
          EXPECT_LE(certificate.high, pair.flow + pair.flow_gap);
          expect_encloses(pair.flow, pair.flow_gap, naive_max_flow(network, i, j));
        }
      }
    }
  }
}

TEST(PairFlow, CertifyRefusesWhatIsWrong) {
  const AttentionGraph graph = attention_graph(random_stack({.layers = 4, .heads = 2, .tokens = 6, .seed = 31}), {});
  const LayeredNetwork network = attention_network(graph, 4, 0);
  const PairFlow good = flow_of_pair(network, 1, 2);
  ASSERT_TRUE(certify(network, 1, 2, good).holds());
  ASSERT_GT(good.arc_flows.size(), 3U);

  PairFlow more = good;
  more.arc_flows[0].units += std::int64_t{1} << 61;
  EXPECT_FALSE(certify(network, 1, 2, more).feasible);
  PairFlow negative = good;
  negative.arc_flows[0].units = -1;
  EXPECT_FALSE(certify(network, 1, 2, negative).feasible);
  PairFlow twice = good;
  twice.arc_flows.push_back(twice.arc_flows[0]);
  EXPECT_FALSE(certify(network, 1, 2, twice).feasible);
  PairFlow elsewhere = good;
  elsewhere.arc_flows[0].to = 77;
  EXPECT_FALSE(certify(network, 1, 2, elsewhere).feasible);
  PairFlow lost = good;
  lost.arc_flows.pop_back();
  EXPECT_FALSE(certify(network, 1, 2, lost).conserves);
  EXPECT_EQ(certify(network, 1, 2, lost).low, 0.0);
  PairFlow open = good;
  open.minimum_cut.pop_back();
  EXPECT_FALSE(certify(network, 1, 2, open).separates);
  EXPECT_EQ(certify(network, 1, 2, open).high, std::numeric_limits<double>::infinity());
  // Units whose sums would wrap around prove nothing.
  for (const int exponent : {61, 64, 200, 2000}) {
    PairFlow tiny;
    tiny.fixed_point.exponent = exponent;
    for (std::size_t p = 0; p < 6; ++p) tiny.minimum_cut.push_back({4, 1, p, 0});
    EXPECT_FALSE(certify(network, 1, 2, tiny).holds());
  }
  PairFlow coarse;  // a cut alone is a proof in any larger unit
  coarse.fixed_point.exponent = 3;
  for (std::size_t p = 0; p < 6; ++p) coarse.minimum_cut.push_back({4, 1, p, 0});
  EXPECT_TRUE(certify(network, 1, 2, coarse).holds());
  EXPECT_GE(certify(network, 1, 2, coarse).high, good.flow);
  // A proof of another pair's value does not prove this one's.
  EXPECT_FALSE(certify(network, 0, 2, good).holds());
}

TEST(PairFlow, RefusesBadNetworks) {
  EXPECT_THROW(flow_of_pair({}, 0, 0), Error);
  LayeredNetwork misfit;
  misfit.layers = {Tensor<double>({2, 3}), Tensor<double>({2, 3})};
  EXPECT_THROW(flow_of_pair(misfit, 0, 0), Error);
  LayeredNetwork negative;
  negative.layers = {Tensor<double>({1, 1}, {-1.0})};
  EXPECT_THROW(flow_of_pair(negative, 0, 0), Error);
  LayeredNetwork nan;
  nan.layers = {Tensor<double>({1, 1}, {std::nan("")})};
  EXPECT_THROW(flow_of_pair(nan, 0, 0), Error);
  LayeredNetwork fine;
  fine.layers = {Tensor<double>({1, 2}, {0.25, 0.5})};
  EXPECT_EQ(flow_of_pair(fine, 0, 1).flow, 0.5);
  EXPECT_THROW(flow_of_pair(fine, 0, 2), Error);
  EXPECT_THROW(flow_of_pair(fine, 1, 0), Error);
}

TEST(FixedPoint, RoundsOutwards) {
  const FixedPoint fixed_point = FixedPoint::for_row_sum(1.0000001);
  EXPECT_EQ(fixed_point.exponent, 60);
  EXPECT_EQ(FixedPoint::for_row_sum(0.75).exponent, 61);
  EXPECT_EQ(FixedPoint::for_row_sum(1e6).exponent, 41);
  EXPECT_LT(FixedPoint::for_row_sum(1e6).units(1e6), kManyUnits);
  const std::int64_t odd = (std::int64_t{1} << 59) + 1;  // needs 60 bits
  EXPECT_LT(fixed_point.value_below(odd), fixed_point.value_above(odd));
  EXPECT_EQ(fixed_point.value_below(std::int64_t{1} << 59), 0.5);
  EXPECT_EQ(fixed_point.value_above(std::int64_t{1} << 59), 0.5);
  EXPECT_EQ(add_units(kManyUnits, kManyUnits), kManyUnits);
  EXPECT_EQ(add_units(3, 4), 7);
}

}  // namespace
}  // namespace attnflow::flow_test
