// Figures of the graph must draw what viewer/test/figures.test.ts expects of the page: both read
// viewer/test/fixtures/figures.json, written by make.py next to it, so a change on one side requires the other.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "attnflow/draw/figure.h"
#include "attnflow/draw/svg_reader_for_test.h"
#include "attnflow/report/report_json.h"

namespace attnflow::page_figures_test {
namespace {

using internal::read_svg;
using internal::SvgDocument;
using internal::SvgElement;

// Layers are counted from where the explanation ends.
using Arc = std::tuple<std::size_t, std::size_t, std::size_t, double>;  // layer, from, to, opacity

struct Panel {
  std::vector<Arc> arcs;
  std::set<std::string> colours;
  std::vector<std::string> squares;
};

Panel drawn(const SvgDocument& svg, const std::string& method) {
  const auto each = [&](const std::string& name, const std::string& group, const auto& use) {
    for (const SvgElement& element : in_group(svg, name, fmt::format("attnflow-graph-{}-{}", method, group)))
      use(element.attributes);
  };
  using Attributes = std::map<std::string, std::string>;
  Panel panel;
  std::vector<double> columns;
  each("rect", "nodes", [&](const Attributes& rect) {
    columns.push_back(std::stod(rect.at("x")) + std::stod(rect.at("width")) / 2.0);
    panel.squares.push_back(rect.at("fill"));
  });
  std::set<double, std::greater<>> rows;
  each("line", "arcs", [&](const Attributes& line) {
    for (const char* end : {"y1", "y2"}) rows.insert(std::stod(line.at(end)));
  });
  const auto column = [&](const std::string& x) {
    const auto nearer = [at = std::stod(x)](double a, double b) { return std::abs(a - at) < std::abs(b - at); };
    return static_cast<std::size_t>(std::min_element(columns.begin(), columns.end(), nearer) - columns.begin());
  };
  each("line", "arcs", [&](const Attributes& line) {
    const auto layer = std::distance(rows.begin(), rows.find(std::stod(line.at("y1"))));
    const auto opacity = line.find("stroke-opacity");
    panel.arcs.emplace_back(layer, column(line.at("x1")), column(line.at("x2")),
                            opacity == line.end() ? 1.0 : std::stod(opacity->second));
    panel.colours.insert(line.at("stroke"));
  });
  std::sort(panel.arcs.begin(), panel.arcs.end());
  return panel;
}

TEST(PageFigures, ArcsAndColoursAreThoseThatThePageIsTestedWith) {
  std::ifstream file(std::string(ATTNFLOW_SOURCE_DIR) + "/viewer/test/fixtures/figures.json");
  const nlohmann::json cases = nlohmann::json::parse(file);
  ASSERT_EQ(cases.size(), 4u);
  for (const nlohmann::json& expected : cases) {
    FigureOptions options;
    options.view = *figure_view_from_name("graph");
    const SvgDocument svg = read_svg(figure_svg(report_from_json(expected["report"].dump()), options));
    for (const auto& [method, panel] : expected["panels"].items()) {
      SCOPED_TRACE(fmt::format("{}, {}", expected["name"].get<std::string>(), method));
      const Panel found = drawn(svg, method);
      EXPECT_EQ(found.arcs, panel["arcs"].get<std::vector<Arc>>());
      EXPECT_EQ(found.colours, std::set<std::string>{panel["colour"].get<std::string>()});
      EXPECT_EQ(found.squares, panel["squares"].get<std::vector<std::string>>());
    }
  }
}

}  // namespace
}  // namespace attnflow::page_figures_test
