#include "attnflow/flow/flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "attnflow/flow/pair_flow.h"
#include "attnflow/graph/random_stack_for_test.h"

namespace attnflow::flow_test {
namespace {

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
  return attention_graph(random_stack(c.stack), {.heads = c.heads, .residual = c.residual, .discard = c.discard});
}

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

void expect_around(const FlowResult& all, const FlowResult& row, const FlowResult& exact, double gap) {
  const std::size_t n = exact.flow.extent(1);
  const auto check = [&](const FlowResult& found, std::size_t l, std::size_t found_row, std::size_t i, std::size_t j) {
    const double low = found.flow(l, found_row, j);
    EXPECT_LE(low, exact.flow(l, i, j) + exact.flow_gap(l, i, j));
    EXPECT_GE(low + found.flow_gap(l, found_row, j), exact.flow(l, i, j) - exact.flow_gap(l, i, j));
    EXPECT_LE(found.flow_gap(l, found_row, j), gap);
  };
  for (std::size_t l = 0; l < exact.flow.extent(0); ++l) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t i = 0; i < n; ++i) check(all, l, i, i, j);
      check(row, l, 0, n - 1, j);
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
    expect_around(all, row, exact, std::numeric_limits<double>::infinity());
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
      EXPECT_EQ(all.flow, again.flow);
      EXPECT_EQ(all.flow_gap, again.flow_gap);
      EXPECT_EQ(all.degenerate, again.degenerate);
      expect_around(all, attention_flow(graph, {.output_token = graph.tokens() - 1, .max_gap = gap}), exact, gap);
    }
  }
}

TEST(AttentionFlow, TheKindOfDegeneracyDoesNotDependOnTheScale) {
  // Everything flows into the first token: its column holds more than any row sends.
  for (const double scale : {0.9999999, 1.0, 1.0000001, 3.0}) {
    AttentionGraph graph;
    graph.weights = Tensor<double>({3, 5, 5});
    graph.residual = 0.5;
    for (std::size_t l = 0; l < 3; ++l) {
      for (std::size_t q = 0; q < 5; ++q) {
        for (std::size_t k = 0; k < 5; ++k) graph.weights(l, q, k) = scale * (k == 0 ? 0.8 : 0.05);
      }
    }
    const FlowResult all = attention_flow(graph, {.tolerance = 1e-9});
    EXPECT_EQ(all.degenerate(2, 0, 0), static_cast<std::uint8_t>(FlowDegeneracy::kTopRow)) << scale;
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
  EXPECT_FALSE(certify(network, 0, 2, good).holds());
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
