#include "attnflow/explain/explain_edges.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/terms_for_test.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::explain_edges_test {
namespace {

constexpr std::size_t kLayers = 2;
constexpr std::size_t kTokens = 5;

AttentionInput input_of(std::vector<PositiveRelevance> layers) {
  AttentionInput input;
  input.edges.layers = std::move(layers);
  input.edges.heads = 3;
  input.edges.causal = true;
  input.name = "model";
  input.architecture = "family";
  input.predictions.push_back({.kind = "next", .position = kTokens - 1, .choices = {{"a", 0.5}}, .candidates = {}});
  return input;
}

TEST(ExplainEdges, ContributionsAreThoseOfTheSink) {
  const std::vector<OwnedTerms> terms =
      random_terms({.layers = kLayers, .key_heads = 1, .tokens = kTokens, .causal = true, .seed = 4});
  for (const Mixing mixing : {Mixing::kAlti, Mixing::kIfr, Mixing::kNorm}) {
    const ContributionOptions options{.contribution = mixing_info(mixing).contribution};
    ContributionGraphSink sink(kLayers, options);
    std::vector<PositiveRelevance> made;
    for (std::size_t l = 1; l <= kLayers; ++l) {
      sink.terms(terms[l - 1].terms(l));
      ContributionRows rows(l, options, false);
      made.push_back({.weights = rows.rows(terms[l - 1].terms(l))});
    }
    const Tensor<double> expected = rollout(sink.take());
    ExplainOptions asked;
    asked.settings.mixing = mixing;
    const Report report = explain_attention(input_of(std::move(made)), asked);
    ASSERT_EQ(report.rollout.size(), expected.size());
    for (std::size_t e = 0; e < expected.size(); ++e) {
      EXPECT_NEAR(report.rollout.data()[e], expected.data()[e], 1e-14);  // rows are normalized once more
    }
    EXPECT_EQ(report.model.heads, 3U);
    EXPECT_EQ(report.model.architecture, "family");
    EXPECT_TRUE(report.model.causal);
    EXPECT_EQ(report.predictions.size(), 1U);
    EXPECT_EQ(report.output_token, kTokens - 1);
  }
}

std::vector<PositiveRelevance> some_relevance() {
  std::vector<PositiveRelevance> layers;
  for (std::size_t l = 0; l < kLayers; ++l) {
    PositiveRelevance layer{.weights = Tensor<double>({kTokens, kTokens}), .against = 1.0, .all = 4.0};
    for (std::size_t i = 0; i < kTokens; ++i) {
      for (std::size_t j = 0; j <= i; ++j) layer.weights(i, j) = static_cast<double>(1 + l + i * j);
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

TEST(ExplainEdges, RelevanceHasATarget) {
  AttentionInput input = input_of(some_relevance());
  input.edges.target = ReportTarget{.kind = "next", .label = "a", .index = 7, .logit = 2.0, .position = kTokens - 1};
  ExplainOptions asked;
  asked.settings.mixing = Mixing::kRelevance;
  asked.settings.methods = {Method::kRaw, Method::kRollout};
  const Report report = explain_attention(std::move(input), asked);
  ASSERT_TRUE(report.target);
  EXPECT_EQ(report.target->index, 7U);
  ASSERT_EQ(report.notes.size(), 1U);
  EXPECT_EQ(report.notes.front().code, NoteCode::kNegativeRelevance);
  const RelevanceGraph expected = relevance_graph(some_relevance());
  EXPECT_EQ(report.rollout, rollout(expected.graph));
  EXPECT_EQ(expected.negative_share, 0.25);
}

TEST(ExplainEdges, WhatReadsTheClassIsTheOutputTokenUnlessOneIsNamed) {
  AttentionInput input = input_of(some_relevance());
  input.reading = 2;
  ExplainOptions asked;
  asked.settings.mixing = Mixing::kRelevance;
  EXPECT_EQ(explain_attention(input, asked).output_token, 2U);
  asked.settings.output_token = parse_output_token("1");
  EXPECT_EQ(explain_attention(input, asked).output_token, 1U);
}

TEST(ExplainEdges, RefusesWhatNeedsTheModelAgain) {
  ExplainOptions asked;
  asked.settings.mixing = Mixing::kRelevance;
  asked.settings.methods = {Method::kRollout, Method::kBlankOut};
  EXPECT_THROW(explain_attention(input_of(some_relevance()), asked), Error);
  asked.settings.methods = {Method::kRollout};
  asked.keep_attention = true;
  EXPECT_THROW(explain_attention(input_of(some_relevance()), asked), Error);
}

}  // namespace
}  // namespace attnflow::explain_edges_test
