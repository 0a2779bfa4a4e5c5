#include "attnflow/graph/contribution_mixing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "attnflow/base/error_for_test.h"
#include "attnflow/graph/terms_for_test.h"

namespace attnflow::contribution_mixing_test {
namespace {

using test::expect_error;

constexpr std::array<Contribution, 5> kAll = {Contribution::kNorm, Contribution::kGlobenc, Contribution::kAlti,
                                              Contribution::kIfr, Contribution::kValueZeroing};

// A nonlinear rest of a layer: y -> y + tanh(y * 0.7) * 2, column c scaled by 1 + c / 10.
double bent(double y, std::size_t c) { return (y + 2.0 * std::tanh(0.7 * y)) * (1.0 + 0.1 * static_cast<double>(c)); }

Tensor<float> rest_of_rows(TensorView<const float> rows) {
  Tensor<float> result(rows.shape());
  const std::size_t hidden = rows.extent(1);
  for (std::size_t e = 0; e < rows.size(); ++e) {
    result.data()[e] = static_cast<float>(bent(static_cast<double>(rows.data()[e]), e % hidden));
  }
  return result;
}

std::vector<double> plain_rest(std::vector<double> row) {
  for (std::size_t c = 0; c < row.size(); ++c) row[c] = bent(row[c], c);
  return row;
}

LayerTerms with_rest(LayerTerms terms) {
  terms.rest = rest_of_rows;
  return terms;
}

Tensor<double> rows_of(const OwnedTerms& layer, Contribution method, std::size_t threads = 1) {
  ContributionRows rows(1, {.contribution = method, .threads = threads}, false);
  return rows.rows(with_rest(layer.terms()));
}

double largest_difference(const Tensor<double>& a, const Tensor<double>& b) {
  EXPECT_EQ(a.shape(), b.shape());
  double largest = 0.0;
  for (std::size_t e = 0; e < a.size(); ++e) {
    const double difference = std::abs(a.data()[e] - b.data()[e]);
    largest = difference <= largest ? largest : difference;  // keeps NaN
  }
  return largest;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

bool applies(Contribution method, NormsForTest norms) {
  return method != Contribution::kGlobenc || norms != NormsForTest::kBefore;
}

// Float32 vectors of a few dozen numbers: 1e-6 relative, shares at most 1.
constexpr double kTolerance = 5e-6;

TEST(ContributionMixing, EqualsThePlainComputation) {
  for (const NormsForTest norms : {NormsForTest::kBefore, NormsForTest::kAfter, NormsForTest::kRmsAfter}) {
    for (const bool causal : {false, true}) {
      for (const std::size_t key_heads : {1U, 2U, 6U}) {
        // 70 positions exceed one block of queries and one of forms; hidden sizes are multiples of a vector or not.
        for (const std::size_t tokens : {1U, 7U, 70U}) {
          if (tokens == 70 && key_heads != 2) continue;
          const OwnedTerms layer = random_terms({.heads = 6,
                                                 .key_heads = key_heads,
                                                 .width = 5,
                                                 .hidden = tokens == 7 ? 64U : 40U,
                                                 .tokens = tokens,
                                                 .causal = causal,
                                                 .norms = norms,
                                                 .seed = tokens + key_heads})[0];
          for (const Contribution method : kAll) {
            if (!applies(method, norms)) continue;
            SCOPED_TRACE(testing::Message()
                         << contribution_name(method) << ", " << tokens << " tokens, " << key_heads
                         << " key heads, causal " << causal << ", norms " << static_cast<int>(norms));
            if (method == Contribution::kValueZeroing && tokens > 7) continue;
            EXPECT_LT(largest_difference(rows_of(layer, method), plain_contributions(layer, method, plain_rest)),
                      kTolerance);
          }
        }
      }
    }
  }
}

TEST(ContributionMixing, SlicesOfWideVectorsGiveTheSame) {
  const OwnedTerms layer =
      random_terms({.heads = 16, .key_heads = 16, .width = 2, .hidden = 1100, .tokens = 11, .seed = 5})[0];
  for (const Contribution method : {Contribution::kNorm, Contribution::kAlti, Contribution::kIfr}) {
    SCOPED_TRACE(contribution_name(method));
    EXPECT_LT(largest_difference(rows_of(layer, method), plain_contributions(layer, method)), kTolerance);
  }
}

TEST(ContributionMixing, RowsSumToOneAndNothingLooksAhead) {
  const OwnedTerms layer = random_terms({.tokens = 20, .causal = true, .norms = NormsForTest::kAfter, .seed = 3})[0];
  for (const Contribution method : kAll) {
    SCOPED_TRACE(contribution_name(method));
    const Tensor<double> rows = rows_of(layer, method);
    for (std::size_t i = 0; i < 20; ++i) {
      double sum = 0.0;
      for (std::size_t j = 0; j < 20; ++j) {
        EXPECT_GE(rows(i, j), 0.0);
        if (j > i) {
          EXPECT_EQ(rows(i, j), 0.0);
        }
        sum += rows(i, j);
      }
      EXPECT_NEAR(sum, 1.0, 1e-14);
    }
  }
}

TEST(ContributionMixing, OrderOfHeadsDoesNotMatter) {
  const OwnedTerms layer = random_terms({.tokens = 12, .norms = NormsForTest::kAfter, .seed = 8})[0];
  OwnedTerms turned = layer;
  const std::size_t heads = layer.attention.extent(0);
  for (std::size_t h = 0; h < heads; ++h) {
    const std::size_t to = (h + 1) % heads;
    std::copy_n(layer.attention[h].data(), layer.attention[h].size(), turned.attention[to].data());
    std::copy_n(layer.projection[h].data(), layer.projection[h].size(), turned.projection[to].data());
    for (std::size_t j = 0; j < 12; ++j) {
      for (std::size_t w = 0; w < layer.values.extent(2); ++w) turned.values(j, to, w) = layer.values(j, h, w);
    }
  }
  for (const Contribution method : kAll) {
    SCOPED_TRACE(contribution_name(method));
    EXPECT_LT(largest_difference(rows_of(layer, method), rows_of(turned, method)), kTolerance);
  }
}

TEST(ContributionMixing, WithoutOutputProjectionALayerIsTheIdentity) {
  OwnedTerms layer = random_terms({.tokens = 6, .norms = NormsForTest::kAfter, .seed = 4})[0];
  std::fill(layer.projection.span().begin(), layer.projection.span().end(), 0.0F);
  layer.output = layer.residual;
  for (const Contribution method : kAll) {
    SCOPED_TRACE(contribution_name(method));
    const Tensor<double> rows = rows_of(layer, method);
    for (std::size_t i = 0; i < 6; ++i) {
      for (std::size_t j = 0; j < 6; ++j) EXPECT_EQ(rows(i, j), i == j ? 1.0 : 0.0);
    }
  }
}

TEST(ContributionMixing, AllTermsTogetherAreTheOutput) {
  OwnedTerms layer = random_terms({.key_heads = 2, .tokens = 14, .causal = true, .seed = 6})[0];
  EXPECT_LT(completeness_error(layer.terms(), layer.bias), 1e-6);
  EXPECT_LT(completeness_error(layer.terms()), 1e-6);
  layer.values(3, 1, 2) += 0.5F;
  EXPECT_GT(completeness_error(layer.terms()), 1e-3);
  OwnedTerms part = layer.chunk(4, 9);
  LayerTerms chunk = part.terms();
  chunk.query_begin = 4;
  expect_error(ErrorKind::kOther, {"from position 4"}, [&] { completeness_error(chunk); });
}

TEST(ContributionMixing, AScaleOfTheBlockMultipliesItsBias) {
  OwnedTerms layer = random_terms({.tokens = 9, .seed = 8})[0];
  Tensor<float> scale({9});
  for (std::size_t i = 0; i < 9; ++i) {
    scale(i) = 0.5F + 0.25F * static_cast<float>(i);
    for (std::size_t c = 0; c < layer.output.extent(1); ++c) {
      layer.output(i, c) = layer.residual(i, c) + scale(i) * (layer.output(i, c) - layer.residual(i, c));
    }
  }
  LayerTerms terms = layer.terms();
  EXPECT_GT(completeness_error(terms, layer.bias), 1e-3);
  terms.block_scale = scale.view();
  EXPECT_LT(completeness_error(terms, layer.bias), 1e-6);
  EXPECT_LT(completeness_error(terms), 1e-6);
}

// As in the joint graph of an encoder-decoder, where a layer works on the tokens of one text.
TEST(ContributionMixing, PositionsThatTheBlockLeavesAloneKeepToThemselves) {
  for (const NormsForTest norms : {NormsForTest::kBefore, NormsForTest::kAfter, NormsForTest::kRmsAfter}) {
    const OwnedTerms layer = random_terms({.norms = norms, .seed = 5}).front();
    const std::size_t n = layer.residual.extent(0);
    OwnedTerms joint = layer;
    Tensor<float> scale({n}, std::vector<float>(n, 1.0F));
    for (const std::size_t i : {std::size_t{0}, n - 2, n - 1}) {
      scale(i) = 0.0F;
      for (std::size_t c = 0; c < joint.residual.extent(1); ++c) joint.residual(i, c) = joint.output(i, c) = 0.0F;
      for (std::size_t h = 0; h < joint.attention.extent(0); ++h) {
        for (std::size_t j = 0; j < n; ++j) joint.attention(h, i, j) = 0.0F;
      }
    }
    LayerTerms terms = with_rest(joint.terms());
    terms.block_scale = scale.view();
    EXPECT_LT(completeness_error(terms, joint.bias), 1e-6);
    EXPECT_LT(completeness_error(terms), 1e-6);
    for (const Contribution method : kAll) {
      if (method == Contribution::kGlobenc && norms == NormsForTest::kBefore) continue;
      SCOPED_TRACE(contribution_name(method));
      ContributionRows rows(1, {.contribution = method, .threads = 1}, false);
      const Tensor<double> found = rows.rows(terms);
      const Tensor<double> whole = rows_of(layer, method);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          const double alone = i == j ? 1.0 : 0.0;
          EXPECT_NEAR(found(i, j), scale(i) == 0.0F ? alone : whole(i, j), 1e-12);
        }
      }
    }
  }
}

TEST(ContributionMixing, GlobencOfALayerThatEndsBehindItsFirstNormIsNorm) {
  const OwnedTerms layer = random_terms({.norms = NormsForTest::kAfter, .seed = 6}).front();
  LayerTerms terms = layer.terms();
  terms.feed_forward_norm = {};
  ContributionRows rows(1, {.contribution = Contribution::kGlobenc, .threads = 1}, false);
  EXPECT_EQ(largest_difference(rows.rows(terms), rows_of(layer, Contribution::kNorm)), 0.0);
}

TEST(ContributionMixing, ChunksAndThreadsChangeNoBit) {
  constexpr std::size_t kTokens = 150;
  const std::vector<OwnedTerms> layers = random_terms({.layers = 2,
                                                       .heads = 6,
                                                       .key_heads = 3,
                                                       .hidden = 48,
                                                       .tokens = kTokens,
                                                       .causal = true,
                                                       .norms = NormsForTest::kAfter,
                                                       .seed = 9});
  for (const Contribution method : kAll) {
    SCOPED_TRACE(contribution_name(method));
    ContributionGraphSink whole(2, {.contribution = method, .threads = 1});
    for (std::size_t l = 1; l <= 2; ++l) whole.terms(with_rest(layers[l - 1].terms(l)));
    const AttentionGraph expected = whole.take();
    EXPECT_EQ(expected.residual_rule, residual_rule(method));
    for (const std::size_t chunk : {1U, 7U, 64U, 150U}) {
      if (method == Contribution::kValueZeroing && chunk == 1) continue;
      ContributionGraphSink sink(2, {.contribution = method, .threads = chunk % 3 + 2}, kTokens);
      for (std::size_t begin = 0; begin < kTokens; begin += chunk) {
        for (std::size_t l = 1; l <= 2; ++l) {
          const OwnedTerms part = layers[l - 1].chunk(begin, std::min(kTokens, begin + chunk));
          LayerTerms terms = with_rest(part.terms(l));
          terms.query_begin = begin;
          sink.terms(terms);
        }
      }
      EXPECT_TRUE(sink.take().weights == expected.weights) << "chunks of " << chunk;
    }
  }
}

TEST(ContributionMixing, MaskedColumnsAndDiscardSpareWhatTheResidualCarries) {
  const OwnedTerms layer = random_terms({.tokens = 8, .causal = true, .seed = 2})[0];
  const Tensor<double> all = rows_of(layer, Contribution::kAlti);
  ContributionGraphSink sink(1, {.contribution = Contribution::kAlti, .removal = {.mask_columns = {0}}});
  sink.terms(layer.terms());
  const AttentionGraph masked = sink.take();
  EXPECT_EQ(masked.weights(0, 0, 0), 1.0);
  for (std::size_t i = 1; i < 8; ++i) {
    EXPECT_EQ(masked.weights(0, i, 0), 0.0);
    EXPECT_NEAR(masked.weights(0, i, i), all(i, i) / (1.0 - all(i, 0)), 1e-12);
  }
  ContributionGraphSink few(1, {.contribution = Contribution::kAlti, .removal = {.discard = 0.95}});
  few.terms(layer.terms());
  const AttentionGraph rest = few.take();
  for (std::size_t i = 0; i < 8; ++i) EXPECT_GT(rest.weights(0, i, i), 0.0);
  ContributionGraphSink beyond(1, {.removal = {.mask_columns = {8}}});
  expect_error(ErrorKind::kUsage, {"found 8"}, [&] { beyond.terms(layer.terms()); });
}

TEST(ContributionMixing, ASmallPartOfALargeResidualKeepsItsDigits) {
  OwnedTerms layer = random_terms({.hidden = 32, .tokens = 5, .causal = true, .seed = 12})[0];
  for (std::size_t i = 0; i < 5; ++i) {
    layer.residual(i, 7) += 3000.0F;
    layer.output(i, 7) = layer.residual(i, 7);
  }
  for (std::size_t h = 0; h < 4; ++h) {
    for (std::size_t w = 0; w < 6; ++w) layer.projection(h, w, 7) = 0.0F;
  }
  const Tensor<double> found = rows_of(layer, Contribution::kAlti);
  const Tensor<double> expected = plain_contributions(layer, Contribution::kAlti);
  for (std::size_t i = 0; i < 5; ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_NEAR(found(i, j), expected(i, j), 2e-6 * expected(i, j) + 1e-12);
  }
}

TEST(ContributionMixing, DamagedNumbersAreNamedByLayerAndPosition) {
  const std::vector<OwnedTerms> good = random_terms({.layers = 3, .tokens = 6, .norms = NormsForTest::kAfter});
  const auto message = [&](Contribution method, const std::function<void(OwnedTerms&)>& damage) {
    OwnedTerms layer = good[1];
    damage(layer);
    ContributionGraphSink sink(3, {.contribution = method});
    sink.terms(with_rest(good[0].terms(1)));
    return test::refusal(ErrorKind::kBadFile, [&] { sink.terms(with_rest(layer.terms(2))); });
  };
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  for (const Contribution method : kAll) {
    SCOPED_TRACE(contribution_name(method));
    EXPECT_PRED2(contains, message(method, [](OwnedTerms& l) { l.values(4, 1, 2) = kNan; }),
                 "values that are finite in layer 2, found nan at position 4");
    EXPECT_PRED2(contains, message(method, [](OwnedTerms& l) { l.residual(3, 1) = kNan; }),
                 "residuals that are finite in layer 2, found nan at position 3");
    EXPECT_PRED2(contains, message(method, [](OwnedTerms& l) { l.output(2, 1) = -kNan; }), "at position 2");
    EXPECT_PRED2(contains, message(method, [](OwnedTerms& l) { l.attention(3, 5, 1) = -0.5F; }),
                 "at least 0 in layer 2, found -0.5 at position 5");
    EXPECT_PRED2(contains, message(method, [](OwnedTerms& l) { l.projection(1, 2, 3) = 1.0F / 0.0F; }),
                 "output projections that are finite in layer 2, found inf in head 1");
  }
}

TEST(ContributionMixing, MissingTermsAreNamed) {
  const std::vector<OwnedTerms> layers = random_terms({.layers = 2, .tokens = 6});
  ContributionGraphSink none(2, {.contribution = Contribution::kAlti});
  EXPECT_TRUE(none.wants_terms());
  expect_error(ErrorKind::kUnsupportedModel, {"--mixing attention"}, [&] { none.take(); });
  expect_error(ErrorKind::kUnsupportedModel, {"found attention alone"},
               [&] { none.layer(1, 0, layers[0].attention.view()); });
  none.terms(layers[0].terms(1));
  expect_error(ErrorKind::kOther, {"each once"}, [&] { none.terms(layers[0].terms(1)); });
  expect_error(ErrorKind::kOther, {"expected layers 1 to 2, found 3"}, [&] { none.terms(layers[0].terms(3)); });
  expect_error(ErrorKind::kOther, {"found 0 in layer 2"}, [&] { none.take(); });

  ContributionGraphSink globenc(2, {.contribution = Contribution::kGlobenc});
  expect_error(ErrorKind::kUnsupportedModel, {"choose --mixing norm or alti"},
               [&] { globenc.terms(layers[0].terms(1)); });
  ContributionGraphSink zeroing(2, {.contribution = Contribution::kValueZeroing});
  expect_error(ErrorKind::kUnsupportedModel, {"the rest of a layer separately"},
               [&] { zeroing.terms(layers[0].terms(1)); });
  expect_error(ErrorKind::kUsage, {"1.5"}, [] { ContributionGraphSink(1, {.residual = 1.5}); });
}

TEST(ContributionMixing, ShapesAndOrderOfChunksAreChecked) {
  const OwnedTerms layer = random_terms({.tokens = 8, .causal = false})[0];
  ContributionRows rows(1, {}, true);
  LayerTerms terms = layer.terms();
  terms.values = layer.residual.view();
  expect_error(ErrorKind::kOther, {"expected values"}, [&] { rows.rows(terms); });
  terms = layer.terms();
  terms.residual = layer.values.view();
  expect_error(ErrorKind::kOther, {"expected a residual"}, [&] { rows.rows(terms); });
  terms = layer.terms();
  terms.query_begin = 3;
  expect_error(ErrorKind::kOther, {"at position 0, found queries from"}, [&] { rows.rows(terms); });
  OwnedTerms part = layer.chunk(0, 4);
  part.attention = Tensor<float>({4, 4, 8}, std::vector<float>(128, 0.125F));
  expect_error(ErrorKind::kOther,
               {"expected attention to positions whose values have come, below", "have to come whole"},
               [&] { rows.rows(part.terms()); });
}

TEST(ContributionMixing, MaskedKeysBehindTheLastPositionAreIgnored) {
  const OwnedTerms layer = random_terms({.tokens = 8, .causal = true, .seed = 14})[0];
  for (const Contribution method : {Contribution::kNorm, Contribution::kAlti, Contribution::kIfr}) {
    OwnedTerms wide = layer;
    wide.attention = Tensor<float>({4, 8, 13});
    for (std::size_t h = 0; h < 4; ++h) {
      for (std::size_t q = 0; q < 8; ++q) {
        for (std::size_t k = 0; k < 8; ++k) wide.attention(h, q, k) = layer.attention(h, q, k);
      }
    }
    EXPECT_TRUE(rows_of(wide, method) == rows_of(layer, method)) << contribution_name(method);
  }
}

}  // namespace
}  // namespace attnflow::contribution_mixing_test
