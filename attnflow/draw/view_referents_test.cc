#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "attnflow/base/error_for_test.h"
#include "attnflow/draw/figure.h"
#include "attnflow/draw/layout_checks_for_test.h"
#include "attnflow/draw/svg_reader_for_test.h"
#include "attnflow/draw/synthetic_report_for_test.h"
#include "attnflow/draw/views.h"

namespace attnflow::view_referents_test {
namespace {

using internal::english_pieces;
using internal::read_svg;
using internal::SvgDocument;
using internal::SvgElement;
using internal::synthetic_report;

FigureOptions referents_view(double width = 900.0) {
  FigureOptions options;
  options.view = FigureView::kReferents;
  options.width = width;
  return options;
}

// Mask: token 6 of 12; referents: tokens 1, 2, ...
Report report_with_referents(std::size_t referents = 2, std::size_t layers = 6) {
  Report report = synthetic_report(english_pieces(12), layers);
  report.output_token = 6;
  for (std::size_t r = 0; r < referents; ++r) report.referents.push_back({display_text(report.input, r + 1), {r + 1}});
  report.predictions = {{"masked", 6, {{"his", 0.3}}, {{"his", 0.3}, {"her", 0.1}}}};
  return report;
}

std::vector<SvgElement> bars(const SvgDocument& svg, const std::string& group) {
  return in_group(svg, "rect", "attnflow-referents-" + group);
}

TEST(ReferentsView, BarsAreAsHighAsTheShares) {
  const Report report = report_with_referents();
  const SvgDocument svg = read_svg(figure_svg(report, referents_view()));
  ASSERT_EQ(svg.error, "");
  double whole = 0.0;  // the height of 100%
  for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
    const std::vector<SvgElement> drawn = bars(svg, to_text(method));
    ASSERT_EQ(drawn.size(), 12U) << to_text(method);
    const Tensor<double>& values = *method_values(report, method).values;
    for (std::size_t l = 0; l < 6; ++l) {
      const double first = values(l, 6, 1);
      const double second = values(l, 6, 2);
      const double height = number(drawn[2 * l], "height");
      const double other = number(drawn[2 * l + 1], "height");
      if (whole == 0.0) whole = height + other;
      EXPECT_NEAR(height + other, whole, 0.05);
      EXPECT_NEAR(height / whole, first / (first + second), 0.002) << to_text(method) << " layer " << l + 1;
      EXPECT_NE(drawn[2 * l].attributes.at("fill"), drawn[2 * l + 1].attributes.at("fill"));
    }
  }
  const std::vector<SvgElement> candidates = bars(svg, "candidates");
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_NEAR(number(candidates[0], "height") / whole, 0.75, 0.002);
  EXPECT_NEAR(number(candidates[1], "height") / whole, 0.25, 0.002);
}

TEST(ReferentsView, NamesWhatItShows) {
  Report report = report_with_referents(8);
  const SvgDocument svg = read_svg(figure_svg(report, referents_view()));
  for (const char* text : {"candidates", "his", "her", "raw", "rollout", "flow", "100%", "layer", "6"})
    EXPECT_TRUE(has_text(svg, text)) << text;
  for (const ReportReferent& referent : report.referents) {
    EXPECT_TRUE(has_text(svg, referent.text) ||
                has_text(svg, fmt::format("{} ({})", referent.text, referent.tokens[0])));
  }
  std::set<std::string> colors;
  for (const SvgElement& square : bars(svg, "legend")) colors.insert(square.attributes.at("fill"));
  EXPECT_EQ(colors.size(), 8U);
  EXPECT_EQ(std::set<std::string>(svg.ids.begin(), svg.ids.end()).size(), svg.ids.size());
  report.predictions.clear();
  EXPECT_TRUE(bars(read_svg(figure_svg(report, referents_view())), "candidates").empty());
}

TEST(ReferentsView, SaysWhatIsMissingOrDegenerate) {
  Report report = report_with_referents();
  const auto says = [&](const char* part) {
    const SvgDocument svg = read_svg(figure_svg(report, referents_view()));
    EXPECT_EQ(svg.error, "");
    return has_text_with(svg, part);
  };
  EXPECT_FALSE(says("or the last layer alone"));
  EXPECT_FALSE(says("no value"));
  for (std::uint8_t& flag : report.flow_degenerate.span()) flag = 1;
  EXPECT_TRUE(says("or the last layer alone"));
  report.raw(2, 6, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(says("no value"));
}

TEST(ReferentsView, RefusesReportsWithoutReferents) {
  const auto refused = [](ErrorKind kind, const Report& report) {
    test::expect_error(kind, {}, [&] { figure_svg(report, referents_view()); });
  };
  refused(ErrorKind::kUsage, report_with_referents(0));
  refused(ErrorKind::kBadFile, report_with_referents(9));
  Report pieces = report_with_referents();
  pieces.referents[0].tokens = {4, 5};
  EXPECT_NE(figure_svg(pieces, referents_view()), "");
  pieces.raw = {};
  pieces.rollout = {};
  refused(ErrorKind::kUsage, pieces);
}

TEST(ReferentsView, NoTwoLabelsOverlapAndNoneLeavesThePage) {
  for (const std::size_t layers : {1U, 2U, 6U, 12U, 30U}) {
    for (const std::size_t referents : {2U, 8U}) {
      for (const double width : {320.0, 900.0, 1600.0}) {
        for (const bool no_candidates : {false, true}) {
          Report report = report_with_referents(referents, layers);
          if (no_candidates) report.predictions.clear();
          const std::string name =
              fmt::format("{} layers, {} referents, width {}, candidates {}", layers, referents, width, !no_candidates);
          const internal::TextMeasurer measure(internal::language_of(internal::text_of(report)));
          const internal::Scene scene = internal::figure_scene(report, referents_view(width), measure);
          internal::expect_clear_labels(scene, name);
        }
      }
    }
  }
}

TEST(ReferentsView, AnyTextsAndManyCandidates) {
  Report report = report_with_referents();
  report.referents[0].text = "<b>&\"' \x01\xff";
  report.referents[1].text = "\u0645\u0631\u062D\u0628\u0627";
  for (int i = 0; i < 60; ++i) report.predictions[0].candidates.push_back({"word" + std::to_string(i), 0.001});
  for (const double width : {320.0, 900.0}) {
    EXPECT_EQ(read_svg(figure_svg(report, referents_view(width))).error, "");
    EXPECT_TRUE(figure_pdf(report, referents_view(width)).starts_with("%PDF-"));
  }
}

}  // namespace
}  // namespace attnflow::view_referents_test
