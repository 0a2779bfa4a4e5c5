#include "attnflow/explain/contribution_arrays.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "attnflow/base/error_for_test.h"
#include "attnflow/graph/terms_for_test.h"

namespace attnflow::contribution_arrays_test {
namespace {

using test::expect_error;

constexpr std::size_t kLayers = 2;
constexpr std::size_t kTokens = 7;

std::vector<OwnedTerms> two_layers() {
  return random_terms({.layers = kLayers, .key_heads = 2, .tokens = kTokens, .causal = true, .seed = 21});
}

Tensor<float> stacked(const std::vector<OwnedTerms>& layers, Tensor<float> OwnedTerms::*member) {
  Shape shape = (layers[0].*member).shape();
  shape.insert(shape.begin(), layers.size());
  std::vector<float> data;
  for (const OwnedTerms& layer : layers) {
    const auto span = (layer.*member).span();
    data.insert(data.end(), span.begin(), span.end());
  }
  return Tensor<float>(std::move(shape), std::move(data));
}

std::map<std::string, Array> arrays_of(const std::vector<OwnedTerms>& layers) {
  const auto array = [&](Tensor<float> OwnedTerms::*member) {
    const Tensor<float> all = stacked(layers, member);
    return Array::from(all.view());
  };
  return {{"values", array(&OwnedTerms::values)},
          {"output_projection", array(&OwnedTerms::projection)},
          {"residual", array(&OwnedTerms::residual)},
          {"output", array(&OwnedTerms::output)}};
}

ContributionArrays read_arrays(const std::map<std::string, Array>& file) {
  return read_contribution_arrays(
      "dump.npz", [&](const char* name) { return file.contains(name); },
      [&](const char* name) { return file.at(name); });
}

TEST(ContributionArrays, TermsGiveWhatTheSinkGives) {
  const std::vector<OwnedTerms> layers = two_layers();
  const Tensor<float> attention = stacked(layers, &OwnedTerms::attention);
  for (const Contribution method : {Contribution::kNorm, Contribution::kAlti, Contribution::kIfr}) {
    ContributionGraphSink sink(kLayers, {.contribution = method});
    for (std::size_t l = 1; l <= kLayers; ++l) sink.terms(layers[l - 1].terms(l));
    const AttentionGraph found =
        graph_of_arrays(read_arrays(arrays_of(layers)), attention.view(), {.contribution = method});
    EXPECT_TRUE(found.weights == sink.take().weights) << contribution_name(method);
  }
}

TEST(ContributionArrays, WithoutOutputItIsTheSumOfTheTerms) {
  std::vector<OwnedTerms> layers = two_layers();
  std::map<std::string, Array> file = arrays_of(layers);
  file.erase("output");
  const Tensor<float> attention = stacked(layers, &OwnedTerms::attention);
  const AttentionGraph found = graph_of_arrays(read_arrays(file), attention.view(), {});
  for (std::size_t l = 0; l < kLayers; ++l) {
    // Likewise without the bias.
    for (std::size_t e = 0; e < layers[l].output.size(); ++e) {
      layers[l].output.data()[e] -= layers[l].bias[e % layers[l].bias.size()];
    }
    const Tensor<double> expected = plain_contributions(layers[l], Contribution::kAlti);
    for (std::size_t e = 0; e < expected.size(); ++e) {
      EXPECT_NEAR(found.weights[l].data()[e], expected.data()[e], 5e-6);
    }
  }
}

TEST(ContributionArrays, FinishedContributionsAreUsedAsTheyAre) {
  const Tensor<double> given({1, 3, 3}, {2.0, 0.0, 0.0, 1.0, 3.0, 0.0, 0.0, 0.0, 0.0});
  const ContributionArrays arrays = read_arrays({{"contributions", Array::from(given.view())}});
  const AttentionGraph graph = graph_of_arrays(arrays, {}, {});
  EXPECT_EQ(graph.residual_rule, ResidualRule::kContained);
  EXPECT_TRUE(graph.weights == Tensor<double>({1, 3, 3}, {1.0, 0.0, 0.0, 0.25, 0.75, 0.0, 0.0, 0.0, 1.0}));
  const AttentionGraph masked = graph_of_arrays(arrays, {}, {.removal = {.mask_columns = {0}}});
  EXPECT_TRUE(masked.weights == Tensor<double>({1, 3, 3}, {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}));
  Tensor<double> bad = given;
  bad(0, 1, 0) = std::nan("");
  const ContributionArrays damaged = read_arrays({{"contributions", Array::from(std::as_const(bad).view())}});
  expect_error(ErrorKind::kBadFile, {"layer 1, query 1, key 0"}, [&] { graph_of_arrays(damaged, {}, {}); });
}

TEST(ContributionArrays, WhatIsMissingOrDoesNotFitIsNamed) {
  const std::vector<OwnedTerms> layers = two_layers();
  const Tensor<float> attention = stacked(layers, &OwnedTerms::attention);
  std::map<std::string, Array> file = arrays_of(layers);
  file.erase("residual");
  expect_error(ErrorKind::kBadFile, {"found no \"residual\""}, [&] { read_arrays(file); });
  ContributionArrays arrays = read_arrays(arrays_of(layers));
  expect_error(ErrorKind::kBadFile, {"expected an array \"attention\""}, [&] { graph_of_arrays(arrays, {}, {}); });
  arrays.residual = Tensor<float>({kLayers, kTokens + 1, 24});
  expect_error(ErrorKind::kBadFile, {"expected residual [2, 7, 24]"},
               [&] { graph_of_arrays(arrays, attention.view(), {}); });
}

}  // namespace
}  // namespace attnflow::contribution_arrays_test
