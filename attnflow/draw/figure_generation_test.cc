#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/draw/figure.h"
#include "attnflow/draw/layout_checks_for_test.h"
#include "attnflow/draw/parts.h"
#include "attnflow/draw/svg_reader_for_test.h"
#include "attnflow/draw/synthetic_generation_for_test.h"
#include "attnflow/draw/views.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/words/numbers.h"

namespace attnflow::figure_generation_test {
namespace {

using internal::Color;
using internal::read_svg;
using internal::SvgDocument;
using internal::SvgElement;
using internal::synthetic_generation;
using internal::SyntheticGeneration;
using internal::usual_generation;

constexpr double kHighestPage = 4000.0;

FigureOptions view(const std::string& name, std::optional<std::size_t> token = std::nullopt) {
  FigureOptions options;
  options.view = *figure_view_from_name(name);
  options.output_token = token;
  return options;
}

const std::vector<std::string> kViews = {"overview", "matrix", "heatmap", "strip"};

Report arabic_generation() {
  SyntheticGeneration make;
  make.prompt = {"<|start|>", "user",         "\n",  "ما",      " عاص", "مة",      " فرنسا",
                 "؟",         " 👩‍🔬", " 🇩🇪", " \n\n\t", "   ",  "<|end|>", "<|start|>"};
  std::string word = " ";
  for (int i = 0; i < 40; ++i) word += "Donaudampfschiff";
  make.prompt.push_back(word);
  make.generated = {"باريس", " هي", " العاص", "مة", ".\n", "✨", word, ""};
  make.generated_columns = true;
  return synthetic_generation(make);
}

Report hostile_generation() {
  SyntheticGeneration make;
  make.prompt = {"<b>&\"'", std::string(" \x01\xff\x00 bad", 8), "]]>", " \xe2\x80\xae"};
  make.generated = {"</svg>", "\xf0\x9f", "\xe2\x80\x8b"};
  Report report = synthetic_generation(make);
  report.model.name = "<script>&";
  report.notes = {Note("A note with <tags> & \x02.")};
  report.generation->excluded = {{"<rule> & \"", {1}}};
  return report;
}

std::string hex(Color color) { return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue); }

TEST(GenerationFigure, LabelsAreClearAndThePageBounded) {
  std::map<std::string, Report> reports = {{"arabic", arabic_generation()}, {"hostile", hostile_generation()}};
  for (const auto& [m, n] :
       std::vector<std::pair<std::size_t, std::size_t>>{{1, 1}, {8, 5}, {20, 12}, {66, 30}, {200, 64}}) {
    reports.emplace(fmt::format("{} x {}", m, n), usual_generation(m, n, m == 200 ? 12 : 6));
  }
  for (const auto& [name, report] : reports) {
    const internal::TextMeasurer measure(internal::language_of(internal::text_of(report)));
    for (const std::string& view_name : kViews) {
      for (const std::optional<std::size_t> token :
           {std::optional<std::size_t>(), std::optional(report.generation->tokens.size() / 2)}) {
        const FigureOptions options = view(view_name, token);
        const std::string what = fmt::format("{} {} {}", name, view_name, token ? "one" : "all");
        const internal::Scene scene = internal::figure_scene(report, options, measure);
        internal::expect_clear_labels(scene, what);
        EXPECT_LE(scene.width, 901.0) << what;
        EXPECT_LE(scene.height, kHighestPage) << what;
        const SvgDocument svg = read_svg(figure_svg(report, options));
        EXPECT_EQ(svg.error, "") << what;
        EXPECT_EQ(std::set<std::string>(svg.ids.begin(), svg.ids.end()).size(), svg.ids.size()) << what;
      }
    }
  }
}

TEST(GenerationFigure, VeryLongTextsGiveBoundedPictures) {
  SyntheticGeneration make;
  make.prompt = internal::prompt_pieces(40);
  make.generated = internal::answer_pieces(8);
  make.layers = 2;
  const Report small = synthetic_generation(make);
  Report report = small;
  constexpr std::size_t m = 3000;
  constexpr std::size_t n = 1500;
  Generation& generation = *report.generation;
  report.input.tokens.clear();
  report.input.text.clear();
  generation.tokens.clear();
  generation.text.clear();
  for (std::size_t j = 0; j < m; ++j) {
    InputToken token = small.input.tokens[j % 40];
    token.begin = report.input.text.size();
    report.input.text += token.text;
    token.end = report.input.text.size();
    report.input.tokens.push_back(token);
  }
  report.output_tokens.clear();
  for (std::size_t t = 0; t < n; ++t) {
    GeneratedToken token = small.generation->tokens[t % 8];
    token.begin = generation.text.size();
    generation.text += token.text;
    token.end = generation.text.size();
    generation.tokens.push_back(token);
    report.output_tokens.push_back(m - 1 + t);
  }
  report.output_token = m - 1;
  report.settings.layers = {2};
  report.settings.methods = {Method::kRollout};
  report.raw = {};
  report.rollout = Tensor<double>({1, n, m});
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t j = 0; j < m; ++j) report.rollout(0, t, j) = small.rollout(1, t % 8, j % 40) / 75.0;
  }
  generation.sink_share = {};
  for (const std::string& name : kViews) {
    const std::string bytes = figure_svg(report, view(name, 1200));
    EXPECT_LT(bytes.size(), std::size_t{8} << 20) << name;
    const SvgDocument svg = read_svg(bytes);
    ASSERT_EQ(svg.error, "") << name;
    EXPECT_LE(std::strtod(svg.attribute("svg", "height").c_str(), nullptr), kHighestPage) << name;
    const std::string text = all_text(svg);
    if (name == "overview" || name == "strip") {
      test::expect_parts(text, {"Not shown: 2400 of the 3000 prompt tokens and 900 of the 1500 generated ones."});
      EXPECT_TRUE(has_text_with(svg, "\u2026 2400 tokens \u2026")) << name;
    }
    if (name == "overview" || name == "matrix") {
      test::expect_parts(text, {"Each pixel shows the largest of", "Not every row and column is labeled."});
    }
  }
}

TEST(GenerationFigure, CellsHoldTheValues) {
  const Report report = usual_generation(20, 12);
  const SvgDocument svg = read_svg(figure_svg(report, view("matrix")));
  const std::vector<std::string> rules = excluded_by(report);
  double top = 0.0;
  double largest = 0.0;
  std::vector<std::vector<double>> means;
  for (std::size_t t = 0; t < 12; ++t) {
    means.push_back(mean_over_layers(report.rollout, t));
    for (std::size_t j = 0; j < 20; ++j) {
      if (!rules[j].empty()) continue;
      largest = std::max(largest, means[t][j]);
      if (j > 0 && !(t == 0 && j == 19)) top = std::max(top, means[t][j]);
    }
  }
  ASSERT_GT(largest, 2.0 * top);
  const std::vector<SvgElement> cells = in_group(svg, "rect", "attnflow-matrix-rollout-row-");
  ASSERT_EQ(cells.size(), 240U);
  for (std::size_t t = 0; t < 12; ++t) {
    for (std::size_t j = 0; j < 20; ++j) {
      const SvgElement& cell = cells[t * 20 + j];
      EXPECT_TRUE(cell.title.ends_with(": " + internal::short_number(means[t][j]))) << cell.title;
      const Color expected = !rules[j].empty()   ? internal::kExcluded
                             : means[t][j] > top ? internal::kAbove
                                                 : internal::scale_color(means[t][j] / top);
      EXPECT_EQ(cell.attributes.at("fill"), hex(expected)) << t << " " << j;
    }
  }
  EXPECT_GE(in_group(svg, "path", "attnflow-matrix-rollout-row-").size(), 12U);
  EXPECT_TRUE(has_text_with(svg, internal::short_number(top)));
  EXPECT_TRUE(has_text_with(svg, internal::short_number(largest)));
}

TEST(GenerationFigure, LayersAreRowsFromTheTop) {
  const Report report = usual_generation(8, 5, 4);
  FigureOptions options = view("heatmap", 2);
  options.methods = {Method::kRaw};
  const SvgDocument svg = read_svg(figure_svg(report, options));
  const std::vector<SvgElement> cells = in_group(svg, "rect", "attnflow-heatmap-raw-row-");
  ASSERT_EQ(cells.size(), 32U);
  for (std::size_t r = 0; r < 4; ++r) {
    const std::size_t layer = 4 - r;
    for (std::size_t j = 0; j < 8; ++j) {
      EXPECT_EQ(cells[r * 8 + j].title.rfind(fmt::format("layer {}, ", layer), 0), 0U);
      EXPECT_TRUE(cells[r * 8 + j].title.ends_with(": " + internal::short_number(report.raw(layer - 1, 2, j))));
    }
  }
}

TEST(GenerationFigure, StripColoursThePromptAndMarksTheToken) {
  const Report report = usual_generation(20, 12);
  const SvgDocument svg = read_svg(figure_svg(report, view("strip", 3)));
  const std::vector<double> values = mean_over_layers(report.rollout, 3);
  std::size_t grounds = 0;
  for (const SvgElement& element : in_group(svg, "rect", "attnflow-strip-rollout")) {
    const std::size_t at = element.title.find(" (position ");
    if (at == std::string::npos) continue;
    const std::size_t token = std::strtoul(element.title.c_str() + at + 11, nullptr, 10);
    const std::string value = internal::short_number(values[token]);
    test::expect_parts(element.title, {"): " + value});
    ++grounds;
  }
  EXPECT_EQ(grounds, 20U);
  const std::vector<SvgElement> said = in_group(svg, "rect", "attnflow-strip-generated");
  EXPECT_EQ(std::count_if(said.begin(), said.end(),
                          [](const SvgElement& rect) { return rect.attributes.at("fill") == hex(internal::kBlack); }),
            2);
  EXPECT_TRUE(has_text_with(svg, "\u23ce"));  // the line break
  const SvgDocument all = read_svg(figure_svg(report, view("strip")));
  double mean = 0.0;
  for (std::size_t t = 0; t < 12; ++t) mean += mean_over_layers(report.rollout, t)[2] / 12.0;
  EXPECT_TRUE(std::any_of(all.titles.begin(), all.titles.end(), [&](const std::string& title) {
    return title == "sunny (position 2): " + internal::short_number(mean);
  }));
}

TEST(GenerationFigure, SaysWhatItShows) {
  const Report report = usual_generation(20, 12);
  FigureOptions options = view("strip", 3);
  options.layers = {2, 3, 4};
  std::string text = all_text(read_svg(figure_svg(report, options)));
  test::expect_parts(text, {"synthetic-decoder", "by rollout, mean over layers 2\u20134", "What token 3",
                            "12 tokens generated", "most probable tokens", "stop words (en), punctuation", "Note: "});
  const std::vector<double> values = mean_over_layers(report.rollout, 3, {1, 2, 3});
  const std::vector<std::string> rules = excluded_by(report);
  double mass = 0.0;
  double excluded = 0.0;
  for (std::size_t j = 0; j < 20; ++j) {
    mass += values[j];
    if (!rules[j].empty()) excluded += values[j];
  }
  test::expect_parts(
      text, {fmt::format("{:.0f}% on generated tokens and {:.0f}% on the prompt", 100.0 * (1.0 - mass), 100.0 * mass),
             fmt::format("hold {:.0f}% of the prompt's share", 100.0 * excluded / mass)});

  options.normalized = true;
  test::expect_parts(all_text(read_svg(figure_svg(report, options))), {"after receptive-field normalization"});
  options = view("strip", 6);
  options.methods = {Method::kFlow};
  text = all_text(read_svg(figure_svg(report, options)));
  test::expect_parts(text, {"by flow, layer 6"});
  Report without = report;
  without.flow_beside.generated = {};
  text = all_text(read_svg(figure_svg(without, options)));
  test::expect_parts(text, {"The report does not record how much of the flow falls on generated tokens."});
}

TEST(GenerationFigure, ValuesThatAreMissingAreSaidSo) {
  Report report = usual_generation(8, 5);
  report.rollout(2, 1, 3) = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& name : kViews) {
    const SvgDocument svg = read_svg(figure_svg(report, view(name, 1)));
    ASSERT_EQ(svg.error, "") << name;
    test::expect_parts(all_text(svg), {"Warm gray cells have no value."});
  }
}

TEST(GenerationFigure, RefusesWhatTheReportLacks) {
  const auto refused = [](ErrorKind kind, FigureOptions options, const auto& change) {
    Report report = usual_generation(8, 5);
    change(report, options);
    test::expect_error(kind, {}, [&] { figure_svg(report, options); });
  };
  const auto nothing = [](Report&, FigureOptions&) {};
  const auto of_flow = [](Report&, FigureOptions& options) { options.methods = {Method::kFlow}; };
  refused(ErrorKind::kUsage, view("strip", 5), nothing);
  refused(ErrorKind::kUsage, view("graph"), nothing);
  refused(ErrorKind::kUsage, view("strip", 1), of_flow);  // computed for tokens 0 and 2
  refused(ErrorKind::kUsage, view("strip", 0), [&](Report& report, FigureOptions& options) {
    of_flow(report, options);
    report.flow = {};
  });
  refused(ErrorKind::kUsage, view("heatmap", 1), [](Report&, FigureOptions& options) { options.layers = {7}; });
  refused(ErrorKind::kUsage, view("heatmap", 1), [](Report& report, FigureOptions& options) {
    options.normalized = true;
    report.rollout_beside.normalized = {};
  });
  const auto bad = [&](const auto& change) {
    refused(ErrorKind::kBadFile, view("strip"), [&](Report& report, FigureOptions&) { change(report); });
  };
  bad([](Report& report) { report.rollout = Tensor<double>({6, 5, 7}); });
  bad([](Report& report) { report.generation->excluded.push_back({"rule", {8}}); });
  bad([](Report& report) { report.raw = report.rollout = report.flow = {}; });
  bad([](Report& report) { report.generation->tokens.clear(); });
}

TEST(GenerationFigure, SameInputSameBytes) {
  const Report report = usual_generation(8, 5);
  EXPECT_EQ(figure_svg(report), figure_svg(report));
}

}  // namespace
}  // namespace attnflow::figure_generation_test
