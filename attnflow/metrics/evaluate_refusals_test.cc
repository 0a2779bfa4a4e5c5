#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/metrics/evidence_rank.h"
#include "attnflow/metrics/importance.h"
#include "attnflow/metrics/perturbation_curve.h"
#include "attnflow/metrics/positional_rank.h"
#include "attnflow/metrics/rank_correlation.h"
#include "attnflow/metrics/relevance.h"
#include "attnflow/metrics/statistics.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::evaluate_refusals_test {
namespace {

using Values = std::vector<double>;

TEST(EvaluateRefusals, AreWholeSentences) {
  const double nan = std::nan("");
  const double infinity = std::numeric_limits<double>::infinity();
  const Values three = {1, 2, 3}, unknown = {0.5, nan}, endless = {1, infinity}, below = {0, 0, -1};
  const Tensor<float> gradient({1, 2}, {1, 2}), wide({1, 3});
  const Tensor<double> matrix({1, 2}, {1, 2}), missing({1, 2}, {1, nan}), infinite({1, 2}, {1, infinity}), flat({2});
  const std::vector<RankedWords> words = {{{0.5, nan}, 0}}, beyond = {{{0.5, 0.5}, 2}};
  const std::vector<std::pair<std::string, std::function<void()>>> rows = {
      {"evidence: expected a word from 0 to below 3, found 3", [&] { expected_reciprocal_rank(three, 3); }},
      {"evidence: expected 3 gaps, one a value, found 1", [&] { expected_reciprocal_rank(three, 0, Values{0}); }},
      {"evidence: expected finite values, found inf", [&] { expected_reciprocal_rank(endless, 0); }},
      {"evidence: expected finite values, found nan", [&] { expected_reciprocal_rank(unknown, 0); }},
      {"evidence: expected finite values, found nan", [&] { positional_reciprocal_ranks(words, PlaceFrom::kEnd); }},
      {"evidence: expected a word from 0 to below 2, found 2",
       [&] { positional_reciprocal_ranks(beyond, PlaceFrom::kEnd); }},
      {"expected finite outputs; found 0.5 for the whole input and inf with token 1 replaced",
       [&] { blank_out_importance(0.5, endless); }},
      {"expected gradient and embedding of the same shape; found [1, 2] and [1, 3]",
       [&] { gradient_times_input(gradient.view(), wide.view()); }},
      {"importance: expected a gap for each of 3 values, found 1", [&] { importance_order(three, 1, Values{0}); }},
      {"importance: expected finite values and gaps, found others", [&] { importance_order(Values{nan}, 1); }},
      {"importance: expected finite values and gaps, found others",
       [&] { importance_order(Values{1}, 1, Values{nan}); }},
      {"curve: expected at least one patch and one step", [] { curve_points(1, 0); }},
      {"expected numbers to rank; value 1 of 2 is NaN: exclude it", [&] { average_ranks(unknown); }},
      {"expected gaps that are finite and not negative; gap 2 is -1", [&] { average_ranks(three, below); }},
      {"expected values and gaps that are numbers; found NaN", [&] { relevance(missing.view()); }},
      {"expected values of shape [output_token, input_token] with at least one output token; found shape [2]",
       [&] { relevance(flat.view()); }},
      {"expected an output token below 1; found 1", [&] { relevance(matrix.view(), {.output_token = 1}); }},
      {"expected one mark for each of the 3 values to select from; found 1", [&] { select(three, {true}); }},
      {"expected at most 2 successes of 2; found 3", [] { wilson_interval(3, 2); }},
      {"expected a confidence between 0 and 1; found 1", [] { wilson_interval(1, 2, 1.0); }},
      {"expected finite differences; found inf", [&] { wilcoxon_signed_rank(Values{infinity}); }},
      {"expected at least one resample; found 0", [&] { summarize(matrix.view(), {.resamples = 0}); }},
      {"expected values of shape [cell, sample]; found shape [2]", [&] { summarize(flat.view()); }},
      {"expected finite values, or NaN where a sample has none; found an infinite one",
       [&] { summarize(infinite.view()); }},
  };
  for (const auto& [message, action] : rows) EXPECT_EQ(test::refusal(ErrorKind::kUsage, action), message);
}

}  // namespace
}  // namespace attnflow::evaluate_refusals_test
