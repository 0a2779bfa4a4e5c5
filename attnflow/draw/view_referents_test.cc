#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/draw/figure.h"
#include "attnflow/draw/svg_reader_for_test.h"
#include "attnflow/draw/synthetic_report_for_test.h"
#include "attnflow/draw/views.h"

namespace attnflow::view_referents_test {
namespace {

using internal::english_pieces;
using internal::LabelBox;
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

// The mask is token 6 of 12; tokens 1, 2, ... are referents.
Report report_with_referents(std::size_t referents = 2, std::size_t layers = 6) {
  Report report = synthetic_report(english_pieces(12), layers);
  report.output_token = 6;
  for (std::size_t r = 0; r < referents; ++r) report.referents.push_back({display_text(report.input, r + 1), {r + 1}});
  report.predictions = {{"masked", 6, {{"his", 0.3}}, {{"his", 0.3}, {"her", 0.1}}}};
  return report;
}

double number(const SvgElement& element, const char* key) {
  const auto found = element.attributes.find(key);
  return found == element.attributes.end() ? std::numeric_limits<double>::quiet_NaN()
                                           : std::strtod(found->second.c_str(), nullptr);
}

// The bars of a group, in the order drawn.
std::vector<SvgElement> bars(const SvgDocument& svg, const std::string& group) {
  std::vector<SvgElement> found;
  for (const SvgElement& element : svg.elements) {
    if (element.name == "rect" &&
        std::find(element.groups.begin(), element.groups.end(), group) != element.groups.end())
      found.push_back(element);
  }
  return found;
}

TEST(ReferentsView, BarsAreAsHighAsTheShares) {
  const Report report = report_with_referents();
  const SvgDocument svg = read_svg(figure_svg(report, referents_view()));
  ASSERT_EQ(svg.error, "");
  double whole = 0.0;  // the height of 100%
  for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
    const std::vector<SvgElement> drawn = bars(svg, "attnflow-referents-" + to_text(method));
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
  const std::vector<SvgElement> candidates = bars(svg, "attnflow-referents-candidates");
  ASSERT_EQ(candidates.size(), 2U);
  EXPECT_NEAR(number(candidates[0], "height") / whole, 0.75, 0.002);
  EXPECT_NEAR(number(candidates[1], "height") / whole, 0.25, 0.002);
}

TEST(ReferentsView, NamesWhatItShows) {
  Report report = report_with_referents(8);
  const SvgDocument svg = read_svg(figure_svg(report, referents_view()));
  const auto has = [&](const std::string& text) {
    return std::find(svg.texts.begin(), svg.texts.end(), text) != svg.texts.end();
  };
  for (const char* text : {"candidates", "his", "her", "raw", "rollout", "flow", "100%", "layer", "6"})
    EXPECT_TRUE(has(text)) << text;
  for (const ReportReferent& referent : report.referents) {
    EXPECT_TRUE(has(referent.text) || has(fmt::format("{} ({})", referent.text, referent.tokens[0]))) << referent.text;
  }
  std::set<std::string> colors;
  for (const SvgElement& square : bars(svg, "attnflow-referents-legend")) colors.insert(square.attributes.at("fill"));
  EXPECT_EQ(colors.size(), 8U);
  EXPECT_EQ(std::set<std::string>(svg.ids.begin(), svg.ids.end()).size(), svg.ids.size());
  report.predictions.clear();
  EXPECT_TRUE(bars(read_svg(figure_svg(report, referents_view())), "attnflow-referents-candidates").empty());
}

TEST(ReferentsView, SaysWhatIsMissingOrDegenerate) {
  Report report = report_with_referents();
  const auto says = [&](const char* part) {
    const SvgDocument svg = read_svg(figure_svg(report, referents_view()));
    EXPECT_EQ(svg.error, "");
    std::string all;  // lines may break anywhere
    for (const std::string& text : svg.texts) all += text + ' ';
    return all.find(part) != std::string::npos;
  };
  EXPECT_FALSE(says("or the last layer alone"));
  EXPECT_FALSE(says("no value"));
  for (std::uint8_t& flag : report.flow_degenerate.span()) flag = 1;
  EXPECT_TRUE(says("or the last layer alone"));
  report.raw(2, 6, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(says("no value"));
}

TEST(ReferentsView, RefusesReportsWithoutReferents) {
  const auto kind = [](const Report& report) {
    try {
      figure_svg(report, referents_view());
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kOther;
  };
  EXPECT_EQ(kind(report_with_referents(0)), ErrorKind::kUsage);
  EXPECT_EQ(kind(report_with_referents(9)), ErrorKind::kBadFile);
  Report pieces = report_with_referents();
  pieces.referents[0].tokens = {4, 5};
  EXPECT_NE(figure_svg(pieces, referents_view()), "");
  pieces.raw = {};
  pieces.rollout = {};
  EXPECT_EQ(kind(pieces), ErrorKind::kUsage);
}

bool separate(const LabelBox& a, const LabelBox& b) {
  double low[2][2] = {{1e300, 1e300}, {1e300, 1e300}};
  double high[2][2] = {{-1e300, -1e300}, {-1e300, -1e300}};
  for (std::size_t which = 0; which < 2; ++which) {
    for (const internal::Point& corner : (which == 0 ? a : b).corners) {
      const double at[2] = {corner.x, corner.y};
      for (std::size_t axis = 0; axis < 2; ++axis) {
        low[which][axis] = std::min(low[which][axis], at[axis]);
        high[which][axis] = std::max(high[which][axis], at[axis]);
      }
    }
  }
  constexpr double kTouch = 0.5;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (high[0][axis] <= low[1][axis] + kTouch || high[1][axis] <= low[0][axis] + kTouch) return true;
  }
  return false;
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
          const std::vector<LabelBox> boxes = scene.label_boxes();
          ASSERT_FALSE(boxes.empty());
          for (std::size_t i = 0; i < boxes.size(); ++i) {
            for (const internal::Point& corner : boxes[i].corners) {
              ASSERT_TRUE(corner.x >= 0.0 && corner.x <= scene.width && corner.y >= 0.0 && corner.y <= scene.height)
                  << name << ": '" << boxes[i].text << "' leaves the page";
            }
            for (std::size_t j = i + 1; j < boxes.size(); ++j) {
              ASSERT_TRUE(separate(boxes[i], boxes[j])) << name << ": '" << boxes[i].text << "' '" << boxes[j].text;
            }
          }
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
