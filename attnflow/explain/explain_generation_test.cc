#include "attnflow/explain/explain_generation.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "attnflow/base/error_for_test.h"

namespace attnflow::explain_generation_test {
namespace {

using test::expect_error;

constexpr std::size_t kLayers = 3;
constexpr std::size_t kPrompt = 4;
constexpr std::size_t kGenerated = 3;
constexpr std::size_t kTokens = kPrompt + kGenerated - 1;

// Rows that sum to 1 over the same and earlier positions.
std::vector<PositiveRelevance> some_contributions() {
  std::vector<PositiveRelevance> layers;
  for (std::size_t l = 0; l < kLayers; ++l) {
    PositiveRelevance layer{.weights = Tensor<double>({kTokens, kTokens})};
    for (std::size_t i = 0; i < kTokens; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j <= i; ++j)
        sum += layer.weights(i, j) = static_cast<double>(1 + (7 * l + 3 * i + 5 * j) % 11);
      for (std::size_t j = 0; j <= i; ++j) layer.weights(i, j) /= sum;
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

GenerationInput some_input() {
  GenerationInput input;
  input.edges.layers = some_contributions();
  input.edges.heads = 2;
  input.edges.causal = true;
  input.edges.first_shares.assign(kLayers, std::vector<double>(kTokens, 0.25));
  input.prompt.tokens.resize(kPrompt);
  input.generation.tokens.resize(kGenerated);
  input.generation.stopped = "length";
  input.name = "model";
  return input;
}

ExplainOptions contributions_of() {
  ExplainOptions options;
  options.settings.mixing = Mixing::kAlti;
  options.settings.methods = {Method::kRaw, Method::kRollout, Method::kFlow};
  return options;
}

TEST(ExplainGeneration, RowsOfContributionsAreThoseOfAnExplanation) {
  AttentionInput text;
  text.edges.layers = some_contributions();
  text.edges.heads = 2;
  text.edges.causal = true;
  const Report every = explain_attention(std::move(text), contributions_of());
  const Report report = explain_generation(some_input(), contributions_of());
  ASSERT_EQ(report.rollout.shape(), (Shape{kLayers, kGenerated, kPrompt}));
  for (std::size_t t = 0; t < kGenerated; ++t) {
    for (std::size_t j = 0; j < kPrompt; ++j) {
      for (std::size_t l = 0; l < kLayers; ++l) {
        EXPECT_EQ(report.raw(l, t, j), every.raw(l, kPrompt - 1 + t, j));
        EXPECT_NEAR(report.rollout(l, t, j), every.rollout(l, kPrompt - 1 + t, j), 1e-14);
      }
      EXPECT_NEAR(report.flow(0, t, j), every.flow(kLayers - 1, kPrompt - 1 + t, j), 1e-12);
    }
  }
  ASSERT_TRUE(report.generation.has_value());
  for (const double share : report.generation->sink_share.span()) EXPECT_EQ(share, 0.25);
}

TEST(ExplainGeneration, RefusesSharesOfOtherTokens) {
  GenerationInput input = some_input();
  input.edges.first_shares.clear();
  expect_error(ErrorKind::kBadFile, {"first_shares", "expected shares for 3 layers, found 0"},
               [&] { explain_generation(std::move(input), contributions_of()); });
  input = some_input();
  input.edges.first_shares[1].pop_back();
  expect_error(ErrorKind::kBadFile, {"layer 2", "expected shares for 6 tokens, found 5"},
               [&] { explain_generation(std::move(input), contributions_of()); });
}

TEST(ExplainGeneration, RefusesOtherEdgesThanAsked) {
  ExplainOptions options = contributions_of();
  options.settings.mixing = Mixing::kAttention;
  expect_error(ErrorKind::kUsage, {"expected contributions", "found attention"},
               [&] { explain_generation(some_input(), options); });
}

}  // namespace
}  // namespace attnflow::explain_generation_test
