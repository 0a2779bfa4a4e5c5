#include "attnflow/analysis/methods/score_methods.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/analysis/methods/gradient_scores.h"
#include "attnflow/analysis/methods/integrated_gradients.h"
#include "attnflow/analysis/methods/summing_model_for_test.h"
#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/attribution/query.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::score_methods_test {
namespace {

using test::SummingModel;

constexpr std::int64_t kBlank = 1;

TextInput sample() { return {.ids = {2, 40, 41, kBlank, 43, 3}, .type_ids = {}}; }

TextQuestion question_of(SummingModel& model, const TextInput& input, const ScoreTarget& target) {
  const auto blanked = [&input](const std::vector<std::size_t>& positions) {
    TextInput blank = input;
    for (const std::size_t position : positions) blank.ids[position] = kBlank;
    return blank;
  };
  return {.model = model,
          .input = input,
          .target = target,
          .groups = single_tokens(input.ids.size()),
          .blanked = blanked,
          .blank = "[UNK]",
          .content = {1, 2, 3, 4}};
}

const ScoreTarget kDifference{.kind = ScoreTarget::Kind::kLogitDifference, .label = 2, .others = {0}};
const ScoreTarget kAgainstRest{.kind = ScoreTarget::Kind::kLogitAgainstRest, .label = 1};

TEST(BlankOut, IsWhatTheModelSaysOfTheTextWithAHole) {
  SummingModel model;
  const TextInput input = sample();
  for (const ScoreTarget& target : {kDifference, kAgainstRest}) {
    const BlankOut found = blank_out(question_of(model, input, target));
    EXPECT_NEAR(found.value, model.value_at(SummingModel::wide(model.embed(input)), target), 1e-6);
    const std::vector<double> scores = found.scores();
    for (std::size_t j = 0; j < input.ids.size(); ++j) {
      TextInput without = input;
      without.ids[j] = kBlank;
      const double value = model.value_at(SummingModel::wide(model.embed(without)), target);
      EXPECT_NEAR(scores[j], found.value - value, 1e-6);
    }
    EXPECT_EQ(scores[3], 0.0);  // blank before
  }
}

TEST(BlankOut, BlanksAllPiecesOfAWordTogetherAndAnyNumberOfTokens) {
  SummingModel model;
  TextInput input = sample();
  TextQuestion question = question_of(model, input, kDifference);
  question.groups = {{0}, {1, 2}, {3}, {4}, {5}};
  const BlankOut found = blank_out(question);
  TextInput without = input;
  without.ids[1] = without.ids[2] = kBlank;
  EXPECT_NEAR(found.blanked[1], model.value_at(SummingModel::wide(model.embed(without)), kDifference), 1e-6);
  // More inputs than are held at once.
  input.ids.assign(150, 7);
  input.ids[149] = 9;
  const BlankOut many = blank_out(question_of(model, input, kDifference));
  ASSERT_EQ(many.blanked.size(), 150U);
  without = input;
  without.ids[149] = kBlank;
  EXPECT_NEAR(many.blanked[149], model.value_at(SummingModel::wide(model.embed(without)), kDifference), 1e-6);
}

TEST(GradientScores, AreSlopesTimesInputByFiniteDifferences) {
  SummingModel model;
  const TextInput input = sample();
  const TextQuestion question = question_of(model, input, kAgainstRest);
  const std::vector<double> scores = gradient_times_input_scores(question, BackwardRule::kGradient);
  const Tensor<double> embedding = SummingModel::wide(model.embed(input));
  for (std::size_t j = 0; j < input.ids.size(); ++j) {
    const auto moved = [&](double step) {
      Tensor<double> other = embedding;
      for (std::size_t d = 0; d < SummingModel::kWidth; ++d) other(j, d) *= 1.0 + step;
      return model.value_at(other, kAgainstRest);
    };
    constexpr double kStep = 1e-5;
    EXPECT_NEAR(scores[j], (moved(kStep) - moved(-kStep)) / (2.0 * kStep), 1e-6);
  }
  const std::vector<double> by_rule = gradient_times_input_scores(question, BackwardRule::kAttnLrp);
  for (std::size_t j = 0; j < scores.size(); ++j) EXPECT_NEAR(by_rule[j], 2.0 * scores[j], 1e-6);
}

TEST(GaussLegendre, IntegratesPolynomialsOfTwiceItsDegree) {
  for (const std::size_t count : {1U, 2U, 3U, 5U, 20U, 50U, 301U}) {
    const auto points = gauss_legendre(count);
    for (const std::size_t degree : {std::size_t{0}, count / 2, count, 2 * count - 1}) {
      double sum = 0.0;
      for (const auto& [x, weight] : points) sum += weight * std::pow(x, static_cast<double>(degree));
      EXPECT_NEAR(sum, 1.0 / static_cast<double>(degree + 1), 1e-13) << count << " " << degree;
    }
    for (std::size_t i = 1; i < count; ++i) EXPECT_LT(points[i - 1].first, points[i].first);
  }
}

TEST(IntegratedGradients, AreThePathIntegralAndAddUp) {
  SummingModel model;
  const TextInput input = sample();
  const TextQuestion question = question_of(model, input, kDifference);
  const IntegratedGradients found = integrated_gradients(question);
  const Tensor<double> here = SummingModel::wide(model.embed(input));
  const Tensor<double> there = SummingModel::wide(model.embed(question.blanked(question.content)));
  EXPECT_NEAR(found.change, model.value_at(here, kDifference) - model.value_at(there, kDifference), 1e-6);
  EXPECT_NEAR(std::accumulate(found.scores.begin(), found.scores.end(), 0.0), found.change, 1e-6);
  EXPECT_EQ(found.scores[0], 0.0);  // special: the same at both ends
  EXPECT_EQ(found.scores[3], 0.0);  // blank before
  // A midpoint sum of finite differences of the value, along each token's own part of the way.
  constexpr std::size_t kSteps = 2000;
  std::vector<double> expected(input.ids.size(), 0.0);
  for (std::size_t k = 0; k < kSteps; ++k) {
    const double t = (static_cast<double>(k) + 0.5) / kSteps;
    for (std::size_t j = 0; j < input.ids.size(); ++j) {
      const auto value = [&](double more) {
        Tensor<double> point = here;
        for (std::size_t i = 0; i < here.extent(0); ++i) {
          for (std::size_t d = 0; d < SummingModel::kWidth; ++d) {
            point(i, d) = there(i, d) + (t + (i == j ? more : 0.0)) * (here(i, d) - there(i, d));
          }
        }
        return model.value_at(point, kDifference);
      };
      expected[j] += (value(1e-5) - value(-1e-5)) / 2e-5 / kSteps;
    }
  }
  for (std::size_t j = 0; j < expected.size(); ++j) EXPECT_NEAR(found.scores[j], expected[j], 2e-6);
  TextQuestion wrong = question;
  wrong.steps = 0;
  EXPECT_THROW(integrated_gradients(wrong), Error);
}

Report explain(SummingModel& model, const std::string& text, const ExplainOptions& options) {
  const Tokenizer tokenizer =
      Tokenizer::load(std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests/golden/models/bert_masked_lm", "bert");
  return explain_text(model, tokenizer, text, std::nullopt, options);
}

TEST(ExplainText, GivesEveryMethodAndSaysWhatToBelieve) {
  SummingModel model;
  ExplainOptions options;
  options.settings.methods =
      parse_methods({"rollout", "blank-out", "gradient-x-input", "attnlrp", "integrated-gradients"});
  options.check_replacements = 0;
  const Report report = explain(model, "the key is on a table", options);
  const std::size_t n = report.input.tokens.size();
  ASSERT_EQ(report.scores.size(), 4U);
  for (const MethodScores& scores : report.scores) EXPECT_EQ(scores.values.shape(), (Shape{1, n}));
  ASSERT_TRUE(report.target.has_value());
  EXPECT_EQ(report.target->label, report.predictions[0].choices[0].label);
  EXPECT_LT(std::abs(method_scores(report, Method::kIntegratedGradients)->error(0)), 1e-6);
  EXPECT_FALSE(method_scores(report, Method::kBlankOut)->sums.at(0).total.has_value());

  ASSERT_TRUE(report.check.has_value());
  EXPECT_EQ(report.check->blank, "[UNK]");
  ASSERT_EQ(report.check->maps.size(), 4U);  // all but blank-out
  const Tensor<double>& drops = method_scores(report, Method::kBlankOut)->values;
  ASSERT_EQ(report.check->tokens.size(), n - 2);
  for (const CheckedToken& one : report.check->tokens) EXPECT_NEAR(one.drop, drops(0, one.token), 1e-12);
  for (const MapCheck& map : report.check->maps) {
    EXPECT_GT(map.first_token, 0U);  // not [CLS]
    EXPECT_LT(map.first_token, n - 1);
    ASSERT_TRUE(map.decisive_token.has_value());
    for (std::size_t j = 1; j + 1 < n; ++j) EXPECT_GE(drops(0, *map.decisive_token), drops(0, j));
  }
  const MapCheck& rollout = report.check->maps[0];
  EXPECT_EQ(rollout.layer, 2U);
  EXPECT_FALSE(rollout.rank_correlation.has_value());  // uniform attention orders nothing
  ASSERT_TRUE(report.check->maps[1].rank_correlation.has_value());
  EXPECT_EQ(*report.check->maps[1].rank_correlation,
            *report.check->maps[2].rank_correlation);  // twice as large
}

// The model predicts classes, so that tokens of the same kind stand in.
TEST(ExplainText, ReplacesTokensByOthersOfTheirKindForTheCheck) {
  SummingModel model;
  ExplainOptions options;
  options.settings.methods = parse_methods({"gradient-x-input", "blank-out"});
  const Report report = explain(model, "the key is on a table", options);
  ASSERT_TRUE(report.check.has_value());
  EXPECT_EQ(report.check->blank, "");
  ASSERT_EQ(report.check->maps.size(), 2U);
  const Report again = explain(model, "the key is on a table", options);
  for (std::size_t t = 0; t < report.check->tokens.size(); ++t) {
    const CheckedToken& one = report.check->tokens[t];
    const std::string original = report.input.tokens[one.token].text;
    EXPECT_GE(one.replacements.size(), 1U);
    double mean = 0.0;
    for (const TriedReplacement& other : one.replacements) {
      EXPECT_NE(other.text, original);
      EXPECT_EQ(other.fit, 1.0);
      mean += other.value / static_cast<double>(one.replacements.size());
    }
    EXPECT_NEAR(one.drop, report.check->value - mean, 1e-9);
    EXPECT_EQ(one.drop, again.check->tokens[t].drop);
  }
  options.check = CheckWhen::kNever;
  EXPECT_FALSE(explain(model, "the key is on a table", options).check.has_value());
}

TEST(ExplainText, WordsHaveTheScoresOfTheirPieces) {
  SummingModel model;
  ExplainOptions options;
  options.settings.methods = parse_methods({"gradient-x-input", "blank-out"});
  const Report pieces = explain(model, "the cabinets", options);
  options.settings.words = true;
  const Report words = explain(model, "the cabinets", options);
  const Tensor<double>& of_pieces = pieces.scores[0].values;
  double sum = 0.0;
  for (std::size_t j = 2; j + 1 < of_pieces.size(); ++j) sum += of_pieces(0, j);
  ASSERT_EQ(words.scores[0].values.shape(), (Shape{1, 4}));
  EXPECT_NEAR(words.scores[0].values(0, 2), sum, 1e-12);
  EXPECT_TRUE(pieces.raw.empty() && pieces.rollout.empty());
}

TEST(ExplainText, RefusesMethodsThatTheModelHasNothingFor) {
  const auto message = [](SummingModel& model, const char* method) -> std::string {
    ExplainOptions options;
    options.settings.methods = parse_methods({method});
    try {
      explain(model, "the key", options);
    } catch (const Error& error) {
      EXPECT_EQ(model.runs, 0U);
      return error.what();
    }
    return "";
  };
  SummingModel model;
  model.has_gradients = false;
  test::expect_parts(message(model, "attnlrp"), {"expected a model that has gradients"});
  test::expect_parts(message(model, "integrated-gradients"), {"expected a model that has gradients"});
  EXPECT_EQ(message(model, "blank-out"), "");
  SummingModel fixed;
  fixed.has_embeddings = false;
  test::expect_parts(message(fixed, "integrated-gradients"), {"at embeddings other"});
  EXPECT_EQ(message(fixed, "attnlrp"), "");
}

}  // namespace
}  // namespace attnflow::score_methods_test
