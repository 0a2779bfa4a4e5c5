// Figures of gradient-adjusted attention name the target and draw shares.
#include <gtest/gtest.h>

#include <numeric>
#include <string>

#include "attnflow/base/text_for_test.h"
#include "attnflow/draw/figure.h"
#include "attnflow/draw/figure_text.h"
#include "attnflow/draw/html.h"
#include "attnflow/draw/svg_reader_for_test.h"
#include "attnflow/draw/synthetic_report_for_test.h"

namespace attnflow::gradient_figure_test {
namespace {

using internal::read_svg;
using internal::SvgDocument;
using internal::synthetic_report;

Report gradient_report(const std::string& mixing) {
  Report report = synthetic_report({"[CLS]", "a", "b", "c"}, 3);
  report.settings.mixing = parse_mixing(mixing);
  report.target = {"class", "very <good>", 1, 2.5};
  report.output_token = 2;
  for (double& weight : report.graph.span()) weight *= 1.5;
  report.raw = report.graph;
  return report;
}

TEST(GradientFigure, NamesTheTarget) {
  for (const char* mixing : {"gradient", "gradient-renormalized"}) {
    const Report report = gradient_report(mixing);
    const SvgDocument svg = read_svg(figure_svg(report, {}));
    EXPECT_TRUE(has_text_with(svg, "gradient-adjusted attention for class \u201cvery <good>\u201d, identity added"));
    EXPECT_FALSE(has_text_with(svg, "residual 0.5"));
  }
  Report report = gradient_report("gradient");
  report.target->kind = "next";
  test::expect_parts(internal::settings_line(report.model, report.settings, "4 tokens", report.target),
                     {"gradient-adjusted attention for the next token \u201cvery <good>\u201d"});
  test::expect_parts(internal::settings_line(report.model, report.settings, "4 tokens"),
                     {"gradient-adjusted attention, "});
}

// Arcs from the output token's node and each node below it are shares of (I + G) / (row sum).
TEST(GradientFigure, ArcsOfRolloutAreSharesOfRenormalisedRows) {
  const Report report = gradient_report("gradient");
  FigureOptions options;
  options.view = *figure_view_from_name("graph");
  options.every_arc = true;
  const SvgDocument svg = read_svg(figure_svg(report, options));
  EXPECT_TRUE(has_text_with(svg, "rows divided by their sums"));
  const auto a = [&](std::size_t layer, std::size_t from, std::size_t to) {
    const double* row = report.graph.data() + ((layer - 1) * 4 + from) * 4;
    return (row[to] + (from == to ? 1.0 : 0.0)) / (1.0 + std::accumulate(row, row + 4, 0.0));
  };
  internal::ArcShares shares = internal::rollout_shares(svg);
  EXPECT_NEAR(shares.left, 1.0, 5e-3);
  for (std::size_t j = 0; j < 4; ++j) {
    double expected = 0.0;
    for (std::size_t p = 0; p < 4; ++p) {
      for (std::size_t q = 0; q < 4; ++q) expected += a(3, 2, p) * a(2, p, q) * a(1, q, j);
    }
    EXPECT_NEAR(shares.arrived[display_text(report.input, j)], expected, 0.01) << j;
  }
}

TEST(GradientFigure, ThePageHoldsTheTarget) {
  const std::string page = report_html(gradient_report("gradient"));
  test::expect_parts(page, {"\"mixing\":\"gradient\"", "very \\u003cgood>"});
}

}  // namespace
}  // namespace attnflow::gradient_figure_test
