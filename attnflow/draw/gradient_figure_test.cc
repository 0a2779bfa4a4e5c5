// Pictures and the page for gradient-adjusted attention: they name the target, and draw shares.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "attnflow/draw/figure.h"
#include "attnflow/draw/figure_text.h"
#include "attnflow/draw/html.h"
#include "attnflow/draw/svg_reader_for_test.h"
#include "attnflow/draw/synthetic_report_for_test.h"

namespace attnflow::gradient_figure_test {
namespace {

using internal::read_svg;
using internal::SvgDocument;
using internal::SvgElement;
using internal::synthetic_report;

// Weights of three layers, scaled so that they are larger than shares.
Report gradient_report(const std::string& mixing) {
  Report report = synthetic_report({"[CLS]", "a", "b", "c"}, 3);
  report.settings.mixing = parse_mixing(mixing);
  report.target = {"class", "very <good>", 1, 2.5};
  report.output_token = 2;
  for (double& weight : report.graph.span()) weight *= 1.5;
  report.raw = report.graph;
  return report;
}

bool any_text(const SvgDocument& svg, const std::string& text) {
  std::string all;
  for (const std::string& line : svg.texts) all += line + " ";
  return all.find(text) != std::string::npos;
}

TEST(GradientFigure, NamesTheTarget) {
  for (const char* mixing : {"gradient", "gradient-renormalized"}) {
    const Report report = gradient_report(mixing);
    const SvgDocument svg = read_svg(figure_svg(report, {}));
    EXPECT_TRUE(any_text(svg, "gradient-adjusted attention for class \u201cvery <good>\u201d, identity added"));
    EXPECT_FALSE(any_text(svg, "residual 0.5"));
  }
  Report report = gradient_report("gradient");
  report.target->kind = "next";
  EXPECT_NE(internal::settings_line(report.model, report.settings, "4 tokens", report.target)
                .find("gradient-adjusted attention for the next token \u201cvery <good>\u201d"),
            std::string::npos);
  EXPECT_NE(internal::settings_line(report.model, report.settings, "4 tokens").find("gradient-adjusted attention, "),
            std::string::npos);
}

// The arcs that leave the output token's node, and each node below it, are drawn as shares of (I + G) / (row sum).
TEST(GradientFigure, ArcsOfRolloutAreSharesOfRenormalisedRows) {
  const Report report = gradient_report("gradient");
  FigureOptions options;
  options.view = *figure_view_from_name("graph");
  options.every_arc = true;
  const SvgDocument svg = read_svg(figure_svg(report, options));
  EXPECT_TRUE(any_text(svg, "rows divided by their sums"));
  const auto a = [&](std::size_t layer, std::size_t from, std::size_t to) {
    const double* row = report.graph.data() + ((layer - 1) * 4 + from) * 4;
    return (row[to] + (from == to ? 1.0 : 0.0)) / (1.0 + std::accumulate(row, row + 4, 0.0));
  };
  double left = 0.0;
  std::map<std::string, double> arrived;
  for (const SvgElement& element : svg.elements) {
    if (element.name != "line" || element.groups.empty() || element.groups.back() != "attnflow-graph-rollout-arcs") {
      continue;
    }
    const std::string& title = element.title;  // "layer 1: a from b, 0.123"
    const double share = std::stod(title.substr(title.rfind(' ') + 1));
    const std::size_t from = title.find(" from ") + 6;
    if (title.starts_with("layer 3:")) left += share;
    if (title.starts_with("layer 1:")) arrived[title.substr(from, title.rfind(", ") - from)] += share;
  }
  EXPECT_NEAR(left, 1.0, 5e-3);
  for (std::size_t j = 0; j < 4; ++j) {
    double expected = 0.0;
    for (std::size_t p = 0; p < 4; ++p) {
      for (std::size_t q = 0; q < 4; ++q) expected += a(3, 2, p) * a(2, p, q) * a(1, q, j);
    }
    EXPECT_NEAR(arrived[display_text(report.input, j)], expected, 0.01) << j;
  }
}

TEST(GradientFigure, ThePageHoldsTheTarget) {
  const std::string page = report_html(gradient_report("gradient"));
  EXPECT_NE(page.find("\"mixing\":\"gradient\""), std::string::npos);
  EXPECT_NE(page.find("very \\u003cgood>"), std::string::npos);
}

}  // namespace
}  // namespace attnflow::gradient_figure_test
