#include "attnflow/draw/figure.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "attnflow/attribution/graph_arcs.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/base64.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/draw/layout_checks_for_test.h"
#include "attnflow/draw/png_reader_for_test.h"
#include "attnflow/draw/svg_reader_for_test.h"
#include "attnflow/draw/synthetic_report_for_test.h"
#include "attnflow/draw/views.h"
#include "attnflow/files/atomic_file.h"

namespace attnflow::figure_test {
namespace {

using internal::english_pieces;
using internal::read_svg;
using internal::SvgDocument;
using internal::SvgElement;
using internal::synthetic_report;

const std::vector<std::string> kViews = {"answer", "overview", "graph", "heatmap", "strip", "matrix"};

FigureOptions view(const std::string& name, const std::vector<Method>& methods = {}) {
  FigureOptions options;
  options.view = *figure_view_from_name(name);
  options.methods = methods;
  return options;
}

Report scientist_report() {
  Report report =
      synthetic_report({"[CLS]", "👩‍🔬", "discovers", "🇩🇪", "flags", "e\u0301te\u0301", "[MASK]", "[SEP]"});
  report.output_token = 6;
  return report;
}

Report arabic_report() {
  return synthetic_report({"[CLS]", "الكتاب", "##ة", "على", "الطا", "##ولة", ",", "BERT", "2020", "##s", "[SEP]"});
}

Report chinese_report() {
  return synthetic_report({"[CLS]", "柜", "子", "的", "钥", "匙", "在", "桌", "子", "上", "。", "[SEP]"}, 6, true);
}

Report hostile_report() {
  std::string word;
  for (int i = 0; i < 200; ++i) word += "Donaudampfschiff";
  Report report =
      synthetic_report({"[CLS]", "<b>&\"'", std::string("\x01\xff\x00 bad", 7), word, "##" + word, "]]>", "[SEP]"});
  report.model.name = "<script>&";
  report.notes = {Note("A note with <tags> & \x02.")};
  report.predictions = {{"masked", 1, {{"\xff", 0.5}}, {{"<his>", 0.25}, {"her", 0.125}}}};
  return report;
}

// ---- shape of the document --------------------------------------------------------------------------------------

void expect_sound(const SvgDocument& svg, const std::string& name) {
  ASSERT_EQ(svg.error, "") << name;
  EXPECT_EQ(std::set<std::string>(svg.ids.begin(), svg.ids.end()).size(), svg.ids.size()) << name << ": ids repeat";
  for (const SvgElement& element : svg.elements) {
    for (const auto& [key, value] : element.attributes) {
      if (key == "xlink:href" || key == "font-family") continue;
      std::string lower = value;
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      test::expect_no_parts(lower, {"nan", "inf"});
    }
  }
}

TEST(FigureSvg, IsWellFormedForEveryViewAndText) {
  const std::map<std::string, Report> reports = {{"english", synthetic_report(english_pieces(12))},
                                                 {"emoji", scientist_report()},
                                                 {"arabic", arabic_report()},
                                                 {"chinese", chinese_report()},
                                                 {"hostile", hostile_report()},
                                                 {"one", synthetic_report(english_pieces(1))},
                                                 {"large", synthetic_report(english_pieces(100))}};
  for (const auto& [name, report] : reports) {
    for (const std::string& view_name : kViews) {
      expect_sound(read_svg(figure_svg(report, view(view_name))), fmt::format("{} {}", name, view_name));
    }
  }
}

RC_GTEST_PROP(FigureSvgProperty, AnyBytesGiveWellFormedXml, (const std::vector<std::string>& pieces)) {
  RC_PRE(!pieces.empty() && pieces.size() < 10);
  const std::string name = *rc::gen::elementOf(kViews);
  const SvgDocument svg = read_svg(figure_svg(synthetic_report(pieces, 2), view(name)));
  RC_ASSERT(svg.error == "");
}

TEST(FigureSvg, ALongTextIsCutInTheTitle) {
  const Report report = synthetic_report(english_pieces(100), 2);
  const SvgDocument svg = read_svg(figure_svg(report, view("heatmap")));
  const auto title = std::find_if(svg.texts.begin(), svg.texts.end(),
                                  [](const std::string& text) { return text.starts_with("\u201cthe key to"); });
  ASSERT_NE(title, svg.texts.end());
  EXPECT_TRUE(title->ends_with("\u2026\u201d")) << *title;
  EXPECT_LT(title->size(), report.input.text.size());
  Report bare = synthetic_report({"[CLS]", "[SEP]"}, 2);
  EXPECT_TRUE(has_text(read_svg(figure_svg(bare, view("heatmap"))), "synthetic"));
}

TEST(FigureSvg, MarksWordsThatTheVocabularyLacks) {
  Report report = synthetic_report({"[CLS]", "key", "gadgetry", "on", "[SEP]"}, 2);
  for (const std::string& name : kViews) {
    EXPECT_FALSE(has_text_with(read_svg(figure_svg(report, view(name))), "[?]")) << name;
  }
  report.input.tokens[2].text = "[UNK]";
  report.input.tokens[2].unknown = true;
  for (const std::string& name : kViews) {
    const SvgDocument svg = read_svg(figure_svg(report, view(name)));
    EXPECT_TRUE(has_text_with(svg, "not in the model's vocabulary")) << name;
    if (name != "strip" && name != "answer") {
      EXPECT_TRUE(has_text(svg, "gadgetry [?]")) << name;
    }
  }
  const SvgDocument strip = read_svg(figure_svg(report, view("strip")));
  EXPECT_TRUE(has_text(strip, "gadgetry"));
  const auto lines = [](const SvgDocument& svg) {
    return std::count_if(svg.elements.begin(), svg.elements.end(),
                         [](const SvgElement& element) { return element.name == "line"; });
  };
  report.input.tokens[2].unknown = false;
  EXPECT_GT(lines(strip), lines(read_svg(figure_svg(report, view("strip")))) + 6);
}

TEST(FigureSvg, ShowsEveryTokenInTheUsersOwnCharacters) {
  for (const Report& report : {synthetic_report(english_pieces(20)), scientist_report(), chinese_report()}) {
    for (const std::string& name : kViews) {
      const SvgDocument svg = read_svg(figure_svg(report, view(name)));
      for (std::size_t i = 0; i < report.input.tokens.size(); ++i) {
        EXPECT_TRUE(has_text(svg, display_text(report.input, i))) << name << ": " << display_text(report.input, i);
      }
    }
  }
}

TEST(FigureSvg, ArabicWordsOfTheStripAreNotTornApart) {
  const SvgDocument strip = read_svg(figure_svg(arabic_report(), view("strip")));
  EXPECT_TRUE(has_text(strip, "الكتابة"));
  EXPECT_TRUE(has_text(strip, "الطاولة"));
  const SvgDocument heatmap = read_svg(figure_svg(arabic_report(), view("heatmap")));
  EXPECT_TRUE(has_text(heatmap, "الكتاب"));
  EXPECT_TRUE(has_text(heatmap, "ة"));
}

TEST(FigureSvg, HasPanelsLegendTitleAndNotes) {
  Report report = synthetic_report(english_pieces(10));
  report.model.name = "some model";
  report.notes = {Note("A warning.")};
  report.predictions = {{"classification", std::nullopt, {{"POSITIVE", 0.875}}, {}}};
  for (const char* name : {"graph", "heatmap", "strip", "matrix"}) {
    const SvgDocument svg = read_svg(figure_svg(report, view(name)));
    const std::set<std::string> ids(svg.ids.begin(), svg.ids.end());
    for (const Method method : {Method::kRaw, Method::kRollout, Method::kFlow}) {
      EXPECT_EQ(ids.count(fmt::format("attnflow-{}-{}", name, to_text(method))), 1u) << name << " " << to_text(method);
    }
    EXPECT_EQ(ids.count("attnflow-legend"), 1u) << name;
    EXPECT_TRUE(has_text_with(svg, "some model \u00b7 bert"));
    EXPECT_TRUE(has_text(svg, "\u201cthe key to the cabinets is on\u201d")) << name;
    EXPECT_TRUE(has_text(svg, "predicted: POSITIVE 87.5%"));
    EXPECT_TRUE(has_text(svg, "Note: A warning."));
    // Scales start at 0, except for flows that lie close together, and their ends are labeled.
    EXPECT_GE(std::count(svg.texts.begin(), svg.texts.end(), "0"), 2) << name;
  }

  FigureOptions bare = view("heatmap");
  bare.notes = false;
  bare.methods = {Method::kRollout};
  const SvgDocument svg = read_svg(figure_svg(report, bare));
  EXPECT_FALSE(has_text_with(svg, "some model"));
  EXPECT_FALSE(has_text(svg, "Note: A warning."));
  EXPECT_EQ(std::count(svg.ids.begin(), svg.ids.end(), "attnflow-heatmap-rollout"), 1);
  EXPECT_EQ(std::count(svg.ids.begin(), svg.ids.end(), "attnflow-heatmap-raw"), 0);
}

TEST(FigureSvg, ScaleIsLabelledWithItsTopAndWithWhatLiesAbove) {
  Report report = synthetic_report({"[CLS]", "a", "b", "[SEP]"}, 1);
  const std::vector<double> row = {0.625, 0.25, 0.0625, 0.0625};
  for (std::size_t j = 0; j < 4; ++j) report.raw(0, 0, j) = row[j];
  FigureOptions options = view("strip", {Method::kRaw});
  const SvgDocument excluded = read_svg(figure_svg(report, options));
  EXPECT_TRUE(has_text(excluded, "0.25"));
  EXPECT_TRUE(has_text(excluded, "0.625"));
  for (InputToken& token : report.input.tokens) token.special = false;
  const SvgDocument included = read_svg(figure_svg(report, options));
  EXPECT_TRUE(has_text(included, "0.625"));
  EXPECT_FALSE(has_text(included, "0.25"));
}

TEST(FigureSvg, ScoresHaveAStripOfTheirOwnWithSigns) {
  Report report = synthetic_report({"[CLS]", "a", "b", "[SEP]"}, 2);
  report.settings.methods.push_back(Method::kAttnLrp);
  report.target = {"class", "positive", 1, 0.5};
  report.scores = {{.method = Method::kAttnLrp, .values = Tensor<double>({1, 4}, {0.0, -0.5, 0.25, 0.0})}};
  const SvgDocument both = read_svg(figure_svg(report, view("strip")));
  EXPECT_EQ(std::count(both.ids.begin(), both.ids.end(), "attnflow-strip-attnlrp"), 1);
  EXPECT_EQ(std::count(both.ids.begin(), both.ids.end(), "attnflow-strip-rollout"), 1);
  EXPECT_TRUE(has_text(both, "\u22120.5"));
  EXPECT_TRUE(has_text_with(both, "blue argues for class \u201cpositive\u201d, red against it."));
  FigureOptions only = view("overview", {Method::kAttnLrp});
  const SvgDocument one = read_svg(figure_svg(report, only));
  EXPECT_EQ(std::count(one.ids.begin(), one.ids.end(), "attnflow-strip-rollout"), 0);
  EXPECT_EQ(std::count(one.ids.begin(), one.ids.end(), "attnflow-strip-attnlrp"), 1);
  for (const char* name : {"heatmap", "matrix", "graph"}) {
    only.view = *figure_view_from_name(name);
    EXPECT_THROW(figure_svg(report, only), Error) << name;
  }
  only = view("strip");
  only.methods = {Method::kBlankOut};
  EXPECT_THROW(figure_svg(report, only), Error);
}

// ---- values ---------------------------------------------------------------------------------------------------------

TEST(FigureSvg, CellsOfTheHeatmapHaveTheirValuesAndColours) {
  const Report report = synthetic_report(english_pieces(6), 3);
  FigureOptions options = view("heatmap", {Method::kRollout});
  const SvgDocument svg = read_svg(figure_svg(report, options));
  internal::ScaleBuilder values;  // the output token is a special one
  for (std::size_t l = 0; l < 3; ++l) {
    for (std::size_t j = 0; j < 6; ++j) values.add(report.rollout(l, 0, j), report.input.tokens[j].special);
  }
  const internal::ColorScale scale = values.scale();
  std::size_t cells = 0;
  for (const SvgElement& element : in_group(svg, "rect", "attnflow-heatmap-rollout-row-")) {
    const std::size_t layer = 2 - cells / 6;  // the highest layer comes first
    const double value = report.rollout(layer, 0, cells % 6);
    EXPECT_EQ(element.title,
              fmt::format("layer {}, {}: {:.3g}", layer + 1, display_text(report.input, cells % 6), value));
    const internal::Color color = scale.color(value);
    EXPECT_EQ(element.attributes.at("fill"), fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue));
    ++cells;
  }
  EXPECT_EQ(cells, 18u);
}

// Arcs into an input token carry that token's share.
TEST(FigureSvg, ArcsOfRolloutAddUpToRollout) {
  Report report = synthetic_report({"[CLS]", "a", "b", "c"}, 3);
  report.output_token = 2;
  FigureOptions options = view("graph");
  options.every_arc = true;
  const SvgDocument svg = read_svg(figure_svg(report, options));
  internal::ArcShares shares = internal::rollout_shares(svg);
  EXPECT_NEAR(shares.left, 1.0, 5e-3);
  for (std::size_t j = 0; j < 4; ++j) {
    // Titles have three digits, and arcs below 0.5% of the strongest are not drawn.
    EXPECT_NEAR(shares.arrived[display_text(report.input, j)], report.rollout(2, 2, j), 0.01) << j;
  }
}

TEST(FigureSvg, ThreeArcsOfEachNodeAreDrawnOrAsManyAsAreAskedFor) {
  const Report report = synthetic_report({"[CLS]", "a", "b", "c", "d", "e", "f"}, 3);
  for (const std::size_t few : {std::size_t{1}, kArcsPerNode}) {
    FigureOptions options = view("graph");
    if (few != kArcsPerNode) options.arcs_per_node = few;
    const SvgDocument svg = read_svg(figure_svg(report, options));
    std::map<std::string, std::size_t> arcs;  // per node of flow's panel, "layer 1: a"
    for (const SvgElement& arc : in_group(svg, "line", "attnflow-graph-flow-arcs")) {
      ++arcs[arc.title.substr(0, arc.title.find(" from "))];
    }
    EXPECT_GT(arcs.size(), 7u);
    for (const auto& [node, count] : arcs) EXPECT_EQ(count, few) << node;
    const std::string said =
        few == 1 ? std::string("its strongest arc to") : fmt::format("its {} strongest arcs to", few);
    EXPECT_TRUE(has_text_with(svg, said)) << said;
  }
}

TEST(FigureSvg, WeakArcsAreLeftOutAndTheirNumberIsLimited) {
  const Report report = synthetic_report(english_pieces(128), 12);
  FigureOptions options = view("graph");
  const std::string bytes = figure_svg(report, options);
  const SvgDocument svg = read_svg(bytes);
  for (const char* method : {"raw", "rollout", "flow"}) {
    EXPECT_EQ(in_group(svg, "line", fmt::format("attnflow-graph-{}-arcs", method)).size(), kMaxArcs) << method;
  }
  EXPECT_LT(bytes.size(), 2u << 20);
  EXPECT_TRUE(has_text_with(svg, "strongest of"));
}

TEST(FigureSvg, HeadOfItsOwnHoldsInTheLayerLookedAt) {
  Report report = synthetic_report({"a", "b"}, 2);
  report.settings.heads = parse_heads("3");
  for (std::size_t j = 0; j < 2; ++j) report.raw(1, 0, j) = j == 0 ? 0.25 : 0.75;
  FigureOptions options = view("graph", {Method::kRaw});
  options.every_arc = true;
  const SvgDocument svg = read_svg(figure_svg(report, options));
  EXPECT_EQ(std::count(svg.titles.begin(), svg.titles.end(), "layer 2: a from b, 0.375"), 1);  // 0.5 * 0.75
  EXPECT_EQ(std::count(svg.titles.begin(), svg.titles.end(), "layer 2: a from a, 0.625"), 1);  // 0.5 * 0.25 + 0.5
}

TEST(FigureSvg, LargeMatrixIsAnImageOfTheValues) {
  const std::size_t n = 80;
  const Report report = synthetic_report(english_pieces(n), 2);
  FigureOptions options = view("matrix", {Method::kRaw});
  const SvgDocument svg = read_svg(figure_svg(report, options));
  const std::vector<SvgElement> matrix = in_group(svg, "image", "attnflow-matrix-raw-image");
  ASSERT_EQ(matrix.size(), 1u);
  const std::string prefix = "data:image/png;base64,";
  const std::string code = matrix[0].attributes.at("xlink:href").substr(prefix.size());
  std::string png(code.size() / 4 * 3 - static_cast<std::size_t>(std::count(code.begin(), code.end(), '=')), '\0');
  ASSERT_TRUE(base64_decode(code, std::as_writable_bytes(std::span(png))));
  const internal::Image image = internal::read_png(png);
  ASSERT_EQ(image.width, n);
  ASSERT_EQ(image.height, n);
  internal::ScaleBuilder values;
  for (std::size_t i = 0; i < n * n; ++i) {
    values.add(report.raw(1, i / n, i % n), i / n == i % n || report.input.tokens[i % n].special);
  }
  const internal::ColorScale scale = values.scale();
  for (std::size_t i = 0; i < n * n; ++i) ASSERT_EQ(image.pixels[i], scale.color(report.raw(1, i / n, i % n)));
}

TEST(FigureSvg, ValuesThatAreMissingAreGreyAndSaidSo) {
  Report report = synthetic_report(english_pieces(6), 2);
  report.rollout(1, 0, 3) = std::numeric_limits<double>::quiet_NaN();
  for (const std::string& name : kViews) {
    const SvgDocument svg = read_svg(figure_svg(report, view(name)));
    expect_sound(svg, name);
    EXPECT_TRUE(std::any_of(svg.titles.begin(), svg.titles.end(), [](const std::string& title) {
      return title.ends_with(": no value");
    })) << name;
    EXPECT_TRUE(has_text_with(svg, "no value")) << name;
  }
}

TEST(FigureSvg, DegenerateFlowIsSaidSo) {
  const auto says = [](const Report& report, const std::string& name) {
    const std::vector<Method> shown = name == "answer" ? std::vector<Method>{Method::kFlow} : std::vector<Method>{};
    return has_text_with(read_svg(figure_svg(report, view(name, shown))),
                         "are set by the first or the last layer alone");
  };
  Report report = synthetic_report(english_pieces(10));
  for (const std::string& name : kViews) EXPECT_FALSE(says(report, name)) << name;
  for (std::uint8_t& flag : report.flow_degenerate.span()) flag = 1;
  for (const std::string& name : kViews) EXPECT_TRUE(says(report, name)) << name;
}

TEST(FigureSvg, PiecesOfOneEmojiShareItsPlaceInTheStrip) {
  Report report = synthetic_report({"[CLS]", "👩‍🔬", "x", "y", "[SEP]"}, 2);
  report.input.tokens[2].begin = report.input.tokens[1].begin;
  report.input.tokens[2].end = report.input.tokens[1].end;
  const SvgDocument svg = read_svg(figure_svg(report, view("strip")));
  EXPECT_EQ(std::count(svg.texts.begin(), svg.texts.end(), "👩‍🔬"), 3);  // once in each of the three strips
  EXPECT_TRUE(std::any_of(svg.titles.begin(), svg.titles.end(), [](const std::string& title) {
    return title.starts_with("👩‍🔬 (2/2) (position 2): ");
  }));
}

TEST(FigureSvg, TokensWithoutTextAreNamed) {
  Report blank = synthetic_report({"a", "b", "c"}, 2);
  blank.input.text.clear();
  for (InputToken& token : blank.input.tokens) token = InputToken{};
  const SvgDocument numbered = read_svg(figure_svg(blank, view("heatmap")));
  for (const char* label : {"0", "1", "2"}) EXPECT_TRUE(has_text(numbered, label)) << label;
  blank.input.tokens[1].text = "word";
  EXPECT_TRUE(has_text(read_svg(figure_svg(blank, view("heatmap"))), "\u25A1"));
}

// ---- layout ---------------------------------------------------------------------------------------------------------

void expect_clear_labels(const Report& report, const FigureOptions& options, const std::string& name) {
  const internal::TextMeasurer measure(internal::language_of(internal::text_of(report)));
  internal::expect_clear_labels(internal::figure_scene(report, options, measure), name);
}

TEST(FigureLayout, NoTwoLabelsOverlapAndNoneLeavesThePage) {
  for (std::size_t n : std::vector<std::size_t>{1, 2, 3, 8, 12, 13, 17, 24, 32, 33, 64, 65, 128, 512}) {
    Report report = synthetic_report(english_pieces(n), n > 200 ? 2 : 6);
    report.output_token = n / 2;
    report.notes = {
        Note("A long note that has to be broken into several lines because there is no room for it in one, "
             "however wide the page is made, which is why it goes on and on and on until it is long enough.")};
    for (const std::string& name : kViews) expect_clear_labels(report, view(name), fmt::format("{} {}", name, n));
  }
}

TEST(FigureLayout, OtherScriptsAndWidths) {
  const std::map<std::string, Report> reports = {{"emoji", scientist_report()},
                                                 {"arabic", arabic_report()},
                                                 {"chinese", chinese_report()},
                                                 {"hostile", hostile_report()}};
  for (const auto& [report_name, report] : reports) {
    for (const std::string& name : kViews) {
      for (const Length& width : {Length(320.0), Length(900.0), Length(2000.0), Length(3.3, LengthUnit::kInches)}) {
        FigureOptions options = view(name);
        options.width = width;
        expect_clear_labels(report, options, fmt::format("{} {} {}", report_name, name, to_text(width)));
      }
    }
  }
}

TEST(FigureLayout, ManyLayersAndFewMethods) {
  const Report report = synthetic_report(english_pieces(9), 30);
  for (const std::string& name : kViews) {
    FigureOptions options = view(name);
    expect_clear_labels(report, options, name);
    options.methods = {Method::kFlow};
    options.layers = {4};
    expect_clear_labels(report, options, name + " flow");
  }
}

// ---- files ----------------------------------------------------------------------------------------------------------

TEST(Figure, SameInputSameBytes) {
  for (const Report& report : {scientist_report(), arabic_report(), synthetic_report(english_pieces(70), 3)}) {
    for (const std::string& name : kViews) {
      EXPECT_EQ(figure_svg(report, view(name)), figure_svg(report, view(name))) << name;
    }
    EXPECT_EQ(figure_pdf(report), figure_pdf(report));
    EXPECT_EQ(figure_png(report), figure_png(report));
  }
}

TEST(Figure, PdfHasAFixedDateAndOnePage) {
  const std::string pdf = figure_pdf(synthetic_report(english_pieces(8)));
  EXPECT_TRUE(pdf.starts_with("%PDF-"));
  test::expect_parts(pdf, {"/CreationDate (20200101000000"});
  test::expect_no_parts(pdf, {"/ModDate"});
  test::expect_parts(pdf, {"/Count 1"});
}

TEST(WriteFigure, WritesEachKindByItsEnding) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "attnflow_draw_figure_test";
  std::filesystem::create_directories(folder);
  const Report report = synthetic_report(english_pieces(8));
  write_figure(folder / "a.svg", report);
  write_figure(folder / "a.pdf", report);
  write_figure(folder / "a.png", report);
  const SvgDocument svg = read_svg(read_file(folder / "a.svg"));
  EXPECT_EQ(svg.error, "");
  EXPECT_EQ(read_file(folder / "a.pdf"), figure_pdf(report));
  const internal::Image png = internal::read_png(read_file(folder / "a.png"));
  EXPECT_EQ(png.width, 2 * std::stoul(svg.attribute("svg", "width")));
  EXPECT_EQ(png.height, 2 * std::stoul(svg.attribute("svg", "height")));
  test::expect_error(ErrorKind::kUsage, {".svg, .pdf or .png"}, [&] { write_figure(folder / "a.gif", report); });
  EXPECT_FALSE(std::filesystem::exists(folder / "a.gif"));
  EXPECT_THROW(write_figure(folder / "missing" / "a.svg", report), Error);
  std::filesystem::remove_all(folder);
}

// ---- mistakes -------------------------------------------------------------------------------------------------------

TEST(FigureErrors, OptionsThatTheReportCannotMeet) {
  const Report report = synthetic_report(english_pieces(6), 3);
  const auto refused = [&](const std::string& part, const auto& change) {
    Report changed = report;
    FigureOptions options;
    change(changed, options);
    test::expect_error(ErrorKind::kUsage, {part}, [&] { figure_svg(changed, options); });
  };
  refused("output token 6; this report has 6 tokens", [](auto&, auto& options) { options.output_token = 6; });
  refused("layer 4; this report holds raw of layers 1, 2, 3", [](auto&, auto& options) { options.layers = {4}; });
  refused("method 'rollout'; this report holds raw, flow", [](Report& changed, auto& options) {
    options.methods = {Method::kRollout};
    changed.rollout = {};
  });
  refused("expected a figure between",
          [](auto&, auto& options) { options.width = std::numeric_limits<double>::quiet_NaN(); });
  Report without_graph = report;
  without_graph.graph = {};
  refused("choose the view heatmap, strip or matrix", [&](Report& changed, auto& options) {
    changed = without_graph;
    options = view("graph");
  });
  EXPECT_EQ(read_svg(figure_svg(without_graph)).error, "");  // the overview shows the matrix instead

  Report few = report;
  few.output_tokens = few.flow_output_tokens = {2};
  few.raw = few.rollout = few.flow = Tensor<double>({3, 1, 6});
  few.flow_gap = {};
  few.flow_degenerate = {};
  FigureOptions strip = view("strip");
  refused("holds no values for it", [&](Report& changed, auto& options) {
    changed = few;
    options = strip;
  });
  strip.output_token = 2;
  EXPECT_EQ(read_svg(figure_svg(few, strip)).error, "");
}

TEST(FigureErrors, ReportsThatDoNotFitThemselves) {
  const auto refused = [](const std::string& part, const auto& change) {
    Report changed = synthetic_report(english_pieces(6), 3);
    change(changed);
    test::expect_error(ErrorKind::kBadFile, {part}, [&] { figure_svg(changed); });
  };
  refused("at least one token", [](Report& changed) { changed = {}; });
  refused("expected 'rollout' of shape [3, 6, 6], found [3, 6, 5]", [](Report& changed) {
    changed.rollout = Tensor<double>({3, 6, 5});
  });
  refused("found 17", [](Report& changed) { changed.output_tokens.back() = 17; });
  refused("start_layer", [](Report& changed) { changed.settings.start_layer = 1; });
  refused("found none", [](Report& changed) { changed.raw = changed.rollout = changed.flow = {}; });
}

}  // namespace
}  // namespace attnflow::figure_test
