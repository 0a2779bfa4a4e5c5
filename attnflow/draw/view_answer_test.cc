#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/draw/figure.h"
#include "attnflow/draw/layout_checks_for_test.h"
#include "attnflow/draw/svg_reader_for_test.h"
#include "attnflow/draw/synthetic_generation_for_test.h"
#include "attnflow/draw/synthetic_report_for_test.h"
#include "attnflow/draw/views.h"

namespace attnflow::view_answer_test {
namespace {

using internal::read_svg;
using internal::SvgDocument;
using internal::SvgElement;

// "positive rather than negative", by rollout over relevance; the first and the last token were not checked.
Report checked_report(const std::vector<std::string>& pieces) {
  Report report = internal::synthetic_report(pieces, 3);
  report.settings.mixing = Mixing::kRelevance;
  report.predictions = {{"classification", {}, {{"positive", 0.9}, {"negative", 0.1}}, {}}};
  report.notes = {Note("A note.")};
  const std::size_t n = report.input.tokens.size();
  ReportCheck& check = report.check.emplace();
  check.quantity = "logit difference";
  check.value = 3.0;
  for (std::size_t j = 1; j + 1 < n; ++j) {
    check.tokens.push_back({.token = j, .drop = (j % 2 == 0 ? -1.0 : 2.0) * static_cast<double>(j)});
  }
  check.maps = {{.method = Method::kRollout,
                 .layer = 3,
                 .rank_correlation = 0.8,
                 .compared = n - 2,
                 .first_token = n - 2,
                 .decisive_token = n - 2}};
  return report;
}

Report with_attention(Report report) {
  const std::size_t n = report.input.tokens.size();
  report.attention_rollout = Tensor<double>({1, n}, std::vector<double>(n, 1.0 / static_cast<double>(n)));
  return report;
}

const std::vector<std::string> kPieces = {"[CLS]", "the", "key", "##s", "to", "the", "cabinet", "fit", "[SEP]"};

std::size_t place_of(const SvgDocument& svg, const std::string& text) {
  const auto found = std::find_if(svg.texts.begin(), svg.texts.end(),
                                  [&](const std::string& one) { return one.find(text) != std::string::npos; });
  EXPECT_NE(found, svg.texts.end()) << text;
  return static_cast<std::size_t>(found - svg.texts.begin());
}

TEST(AnswerView, SaysHeadlineMapDropsVerdictsAndAttentionInThisOrder) {
  const SvgDocument svg = read_svg(figure_svg(with_attention(checked_report(kPieces))));  // the default
  ASSERT_EQ(svg.error, "");
  std::vector<std::size_t> places;
  for (const char* const text :
       {"positive, 90%, rather than negative", "rollout over relevance", "without each token",
        "The top-ranked token is right: without", "The order of the tokens agrees with the check",
        "rollout over attention", "synthetic", "A note."}) {
    places.push_back(place_of(svg, text));
  }
  EXPECT_TRUE(std::is_sorted(places.begin(), places.end()));
  // Notes repeat neither the check nor the verdicts.
  EXPECT_FALSE(has_text_with(svg, "Check: "));
  EXPECT_EQ(std::count_if(svg.texts.begin(), svg.texts.end(),
                          [](const std::string& text) {
                            return text.find("The top-ranked token is right") != std::string::npos;
                          }),
            1);
}

TEST(AnswerView, ColorsDropsByTheirSignAndLeavesOutWhatWasNotChecked) {
  const SvgDocument svg = read_svg(figure_svg(checked_report(kPieces)));
  std::vector<std::string> fills(kPieces.size());
  for (const SvgElement& rect : in_group(svg, "rect", "attnflow-strip-check")) {
    for (std::size_t j = 0; j < kPieces.size(); ++j) {
      if (rect.title.find("(position " + std::to_string(j) + ")") != std::string::npos) {
        fills[j] = rect.attributes.at("fill");
      }
    }
  }
  EXPECT_EQ(fills.front(), "#ffffff");  // the page
  EXPECT_EQ(fills.back(), "#ffffff");
  const auto channel = [&](std::size_t j, std::size_t at) { return std::stoi(fills[j].substr(at, 2), nullptr, 16); };
  for (std::size_t j = 1; j + 1 < kPieces.size(); ++j) {
    ASSERT_EQ(fills[j].size(), 7U) << j;
    if (j % 2 == 0) {
      EXPECT_GT(channel(j, 1), channel(j, 5)) << j;  // red
    } else {
      EXPECT_LT(channel(j, 1), channel(j, 5)) << j;  // blue
    }
  }
  EXPECT_TRUE(in_group(svg, "text", "attnflow-strip-attention").empty());
}

TEST(AnswerView, PutsTheSecondTextBelowTheFirst) {
  Report report = checked_report(kPieces);
  const auto lines = [&] {
    std::vector<double> tops(kPieces.size(), -1.0);
    for (const SvgElement& rect : in_group(read_svg(figure_svg(report)), "rect", "attnflow-strip-check")) {
      for (std::size_t j = 0; j < kPieces.size(); ++j) {
        if (rect.title.find("(position " + std::to_string(j) + ")") == std::string::npos) continue;
        tops[j] = std::stod(rect.attributes.at("y"));
      }
    }
    return tops;
  };
  const std::vector<double> together = lines();
  EXPECT_EQ(together[4], together[5]);
  for (std::size_t j = 5; j < kPieces.size(); ++j) {
    report.input.tokens[j].segment = 1;
    report.input.tokens[j].begin = report.input.tokens[j].end = std::nullopt;
  }
  const std::vector<double> apart = lines();
  EXPECT_EQ(apart[1], apart[4]);
  EXPECT_GT(apart[5], apart[4]);
  EXPECT_EQ(apart[5], apart[7]);
}

TEST(AnswerView, AnEmbeddingIsNotCalledAPrediction) {
  Report report = checked_report(kPieces);
  EXPECT_TRUE(has_text_with(read_svg(figure_svg(report)), "blue tokens speak for the prediction, red ones"));
  report.settings.words = true;
  EXPECT_TRUE(has_text_with(read_svg(figure_svg(report)), "blue words speak for the prediction, red ones"));
  report.settings.words = false;
  report.predictions = {{"embedding", {}, {}, {}}};
  const SvgDocument svg = read_svg(figure_svg(report));
  EXPECT_TRUE(has_text_with(svg, "the darker the blue, the more the embedding depends on the token."));
  EXPECT_FALSE(has_text_with(svg, "prediction"));
  report.target = ReportTarget{.kind = "similarity", .label = "A dog ran."};
  EXPECT_TRUE(has_text_with(read_svg(figure_svg(report)), "blue tokens speak for the similarity, red ones"));
}

TEST(AnswerView, StripsHaveTheDropsToo) {
  FigureOptions options;
  options.view = FigureView::kStrip;
  const SvgDocument svg = read_svg(figure_svg(checked_report(kPieces), options));
  EXPECT_FALSE(in_group(svg, "rect", "attnflow-strip-check").empty());
  options.output_token = 3;  // was not explained
  EXPECT_TRUE(in_group(read_svg(figure_svg(checked_report(kPieces), options)), "rect", "attnflow-strip-check").empty());
}

TEST(AnswerView, IsTheDefaultOnlyWhereOnePredictionIsExplained) {
  const auto answers = [](const Report& report, const FigureOptions& options = {}) {
    return has_text_with(read_svg(figure_svg(report, options)), ", rather than ");
  };
  Report report = checked_report(kPieces);
  EXPECT_TRUE(answers(report));
  FigureOptions options;
  options.methods = {Method::kFlow};
  EXPECT_FALSE(answers(report, options));
  options.view = FigureView::kAnswer;
  EXPECT_TRUE(answers(report, options));
  EXPECT_FALSE(has_text_with(read_svg(figure_svg(report, options)), "The top-ranked token is right"));  // of rollout
  options = {};
  options.notes = false;
  EXPECT_FALSE(answers(report, options));  // left to the paper's caption
  report.all_output_tokens = true;
  EXPECT_FALSE(answers(report));
  report.all_output_tokens = false;
  report.predictions.clear();
  EXPECT_TRUE(in_group(read_svg(figure_svg(report)), "text", "attnflow-headline").empty());
}

TEST(AnswerView, RefusesOtherTokensAndGenerations) {
  FigureOptions options;
  options.view = FigureView::kAnswer;
  options.output_token = 3;
  test::expect_error(ErrorKind::kUsage, {"expected the explained output token 0, found 3"},
                     [&] { figure_svg(checked_report(kPieces), options); });
  options.output_token.reset();
  test::expect_error(ErrorKind::kUsage, {"found a generation"}, [&] {
    figure_svg(internal::synthetic_generation({.prompt = {"The", " sun"}, .generated = {" is"}}), options);
  });
}

TEST(AnswerView, LabelsDoNotTouchInAnyScriptAndWidth) {
  std::vector<std::string> many = {"[CLS]"};
  for (int i = 0; i < 60; ++i) many.push_back(i % 4 == 3 ? "##ing" : "token");
  many.emplace_back("[SEP]");
  for (const std::vector<std::string>& pieces :
       {kPieces, many, {"[CLS]", "\u0627\u0644\u0643\u062A\u0627\u0628", "##\u0629", "\u0639\u0644\u0649", "[SEP]"}}) {
    for (const Length width : {Length(900.0), Length(400.0), Length(3.3, LengthUnit::kInches)}) {
      const Report report = with_attention(checked_report(pieces));
      FigureOptions options;
      options.width = width;
      const internal::TextMeasurer measure("en");
      const internal::Scene scene = internal::figure_scene(report, options, measure);
      EXPECT_GT(internal::label_boxes(scene).size(), pieces.size());
      internal::expect_clear_labels(scene, "answer");
    }
  }
}

}  // namespace
}  // namespace attnflow::view_answer_test
