// Compares flow of real attention with NetworkX, exactly, and with SciPy, within the precision of its fixed point.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attnflow/flow/flow.h"
#include "attnflow/flow/golden_flow_for_test.h"
#include "attnflow/flow/pair_flow.h"
#include "attnflow/flow/vector_targets_for_test.h"

namespace attnflow::golden_flow_test {
namespace {

struct Variant {
  std::string suffix;
  MixingOptions mixing = {};
  std::size_t start_layer = 0;
};

void check(const std::string& stack, const Variant& variant) {
  SCOPED_TRACE(stack + variant.suffix);
  const AttentionGraph graph = attention_graph(golden_stack(stack), variant.mixing);
  const Tensor<double> expected = golden_flow(stack, "flow" + variant.suffix);
  const Tensor<double> scipy_low = golden_flow(stack, "scipy_low" + variant.suffix);
  const Tensor<double> scipy_high = golden_flow(stack, "scipy_high" + variant.suffix);
  const FlowResult found = attention_flow(graph, {.start_layer = variant.start_layer});
  ASSERT_EQ(found.flow.shape(), expected.shape());
  const double up = std::numeric_limits<double>::infinity();
  for (std::size_t w = 0; w < expected.extent(0); ++w) {
    for (std::size_t i = 0; i < expected.extent(1); ++i) {
      for (std::size_t j = 0; j < expected.extent(2); ++j) {
        const double low = found.flow(w, i, j);
        const double gap = found.flow_gap(w, i, j);
        // The stored value is the exact one rounded to nearest. NumPy's mean over 12 heads can differ from ours in the
        // last bit of each capacity, of which a cut has at most 12 x 12 / 4 and two ends.
        const double rounding = 0x1p-53 * 100;
        const double high = std::nextafter(low + gap, up);
        EXPECT_TRUE(low <= expected(w, i, j) + rounding && expected(w, i, j) <= high + rounding)
            << w << " " << i << " " << j << ": " << low << " + " << gap << ", expected " << expected(w, i, j);
        EXPECT_LE(gap, 1e-15);
        EXPECT_TRUE(low <= scipy_high(w, i, j) + 1e-13 && scipy_low(w, i, j) <= high + 1e-13)
            << w << " " << i << " " << j << ": " << low << " + " << gap << ", expected within " << scipy_low(w, i, j)
            << " and " << scipy_high(w, i, j);
      }
    }
  }
}

TEST(GoldenFlow, AgreesWithNetworkXAndSciPy) {
  internal::for_each_vector_target([] {
    for (const char* stack : kGoldenStacks) check(stack, {""});
    check("cabinets", {"_residual_0", {.residual = 0.0}});
    check("cabinets", {"_heads_max", {.heads = HeadFusion::kMax}});
    check("cabinets", {"_heads_3", {.heads = HeadFusion::kSingle, .head = 3}});
    check("cabinets", {"_to_layer_2", {}, 2});
  });
}

TEST(GoldenFlow, PairsAgreeAndAreCertified) {
  const std::string stack = "author";
  const AttentionGraph graph = attention_graph(golden_stack(stack));
  const Tensor<double> expected = golden_flow(stack, "flow");
  const FlowResult all = attention_flow(graph);
  for (std::size_t l = 1; l <= graph.layers(); ++l) {
    const LayeredNetwork network = attention_network(graph, l, 0);
    for (std::size_t i = 0; i < graph.tokens(); i += 3) {
      for (std::size_t j = 0; j < graph.tokens(); ++j) {
        const PairFlow pair = flow_of_pair(network, i, j);
        EXPECT_NEAR(pair.flow, expected(l - 1, i, j), 2e-14);
        const FlowCertificate certificate = certify(network, i, j, pair);
        EXPECT_TRUE(certificate.holds()) << certificate.problem;
        EXPECT_TRUE(certificate.low <= all.flow(l - 1, i, j) + all.flow_gap(l - 1, i, j));
        EXPECT_TRUE(all.flow(l - 1, i, j) <= certificate.high);
      }
    }
  }
}

}  // namespace
}  // namespace attnflow::golden_flow_test
