#include "attnflow/report/report_table.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/report/report_for_test.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::report_table_test {
namespace {

using test::lines_of;
using test::small_report;

std::string without_color(std::string text) {
  for (std::size_t at = 0; (at = text.find('\x1b', at)) != std::string::npos;)
    text.erase(at, text.find('m', at) - at + 1);
  return text;
}

std::string line_with(const std::string& text, const std::string& part) {
  for (const std::string& line : lines_of(text))
    if (line.find(part) != std::string::npos) return line;
  ADD_FAILURE() << "no line with \"" << part << "\" in\n" << text;
  return {};
}

// Scripts that are hardest to align.
Report polyglot_report() {
  Report report = small_report();
  const std::vector<std::string> texts = {"[CLS]",
                                          "\u4E2D\u6587\u5B57\u7B26\u4E2D\u6587\u5B57\u7B26",
                                          "\u0645\u0631\u062D\u0628\u0627",
                                          "\U0001F468\u200D\U0001F469\u200D\U0001F467",
                                          "e\u0301\u0301",
                                          "extraordinarily-long-token-without-end",
                                          "\u05E9\u05DC\u05D5\u05DD",
                                          "[SEP]"};
  const std::size_t n = texts.size();
  report.input.text.clear();
  report.input.tokens.clear();
  report.output_tokens.clear();
  for (std::size_t i = 0; i < n; ++i) {
    report.input.tokens.push_back({texts[i], {}, {}, i == 0 || i == n - 1, {}, 0});
    report.output_tokens.push_back(i);
  }
  report.flow_output_tokens = {0};
  report.raw = report.rollout = Tensor<double>({2, n, n}, std::vector<double>(2 * n * n, 1.0 / static_cast<double>(n)));
  report.flow = Tensor<double>({2, 1, n}, std::vector<double>(2 * n, 0.25));
  report.flow_gap = Tensor<double>({2, 1, n});
  report.flow_degenerate = Tensor<std::uint8_t>({2, 1, n}, std::vector<std::uint8_t>(2 * n, 1));
  for (std::size_t j = 0; j < n; ++j) report.raw(1, 0, j) = 0.01 * static_cast<double>(j * j + 1);
  return report;
}

TEST(Ranking, FallsByValueAndCutsAtTopK) {
  Report report = small_report();
  std::vector<RankedToken> ranked = rank_input_tokens(report, Method::kRaw, 1, {0});
  ASSERT_EQ(ranked.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(ranked[i].token, 3 - i);
    EXPECT_EQ(ranked[i].value, report.raw(0, 1, 3 - i));
    EXPECT_EQ(ranked[i].special, ranked[i].token == 0 || ranked[i].token == 3);
    EXPECT_FALSE(ranked[i].tied);
  }
  report.settings.top_k = 2;
  ranked = rank_input_tokens(report, Method::kRaw, 1, {0});
  EXPECT_EQ(ranked.size(), 2U);
  EXPECT_EQ(ranked[0].token, 3U);
}

TEST(Ranking, TiesOfFlowAreThoseWithinTheGap) {
  Report report = small_report();
  const auto set = [&](std::size_t token, double value, double gap) {
    report.flow(1, 0, token) = value;
    report.flow_gap(1, 0, token) = gap;
  };
  set(0, 0.5, 0.0);
  set(1, 0.499, 1e-2);  // may be as large as 0.509
  set(2, 0.4, 1e-6);    // is less than 0.499
  set(3, 0.4, 0.0);     // equal
  std::vector<RankedToken> ranked = rank_input_tokens(report, Method::kFlow, 0, {1});
  ASSERT_EQ(ranked.size(), 4U);
  EXPECT_FALSE(ranked[0].tied);
  EXPECT_TRUE(ranked[1].tied);
  EXPECT_FALSE(ranked[2].tied);
  EXPECT_TRUE(ranked[3].tied);
  EXPECT_EQ(ranked[2].token, 2U);  // equal values by position
  EXPECT_EQ(ranked[3].token, 3U);
  EXPECT_EQ(ranked[3].degenerate, 1);
  EXPECT_EQ(ranked[0].degenerate, 0);
}

TEST(Ranking, LeavesOutWhatIsNotThere) {
  Report report = small_report();
  EXPECT_TRUE(rank_input_tokens(report, Method::kFlow, 1, {0}).empty());  // no such row
  report.raw(0, 1, 0) = 0.0;
  report.raw(0, 1, 1) = std::nan("");
  EXPECT_EQ(rank_input_tokens(report, Method::kRaw, 1, {0}).size(), 2U);
  report.rollout = {};
  EXPECT_TRUE(rank_input_tokens(report, Method::kRollout, 1, {0}).empty());
  EXPECT_EQ(methods_present(report), (std::vector<Method>{Method::kRaw, Method::kFlow}));
}

TEST(Words, Picture) {
  Report report = small_report();
  EXPECT_EQ(picture_line(report), "");
  ReportImage& image = report.input.image.emplace();
  image.name = "a\nb.png";
  image.width = 640;
  image.height = 480;
  EXPECT_EQ(picture_line(report), "a\u240Ab.png, 640 x 480 pixels");
  image.input_width = 28;
  image.input_height = 21;
  image.input_channels = 1;
  EXPECT_EQ(picture_line(report), "a\u240Ab.png, 640 x 480 pixels, given to the model as 28 x 21, grayscale");
  image.name.clear();
  image.input_channels = 3;
  EXPECT_EQ(picture_line(report), "Image, 640 x 480 pixels, given to the model as 28 x 21");
  const std::string table = terminal_table(report);
  test::expect_parts(table, {"Image, 640 x 480 pixels, given to the model as 28 x 21\n"});
  test::expect_parts(markdown_table(report), {"Image, 640 x 480 pixels"});
}

TEST(TerminalTable, NamesPatchesInFullAndOneMapBelowTheOtherWhereThatNeedsRoom) {
  Report report = small_report();
  report.input.image.emplace();
  for (std::size_t j = 0; j < 4; ++j) {
    InputToken& token = report.input.tokens[j];
    token = {fmt::format("{},11", j), {}, {}, false, {}, 0};
    token.role = "patch";
  }
  const std::string narrow = terminal_table(report, {.width = 80});
  EXPECT_EQ(narrow.find("\u2026"), std::string::npos) << narrow;
  test::expect_parts(narrow, {"\n\nraw, layer 2\n3 row 4, column 12 ", "\n\nrollout, layers 1-2\n3 row 4, column 12 "});
  test::expect_parts(terminal_table(report, {.width = 120}),
                     {"raw, layer 2 ", "rollout, layers 1-2 ", "flow, layers 1-2\n3 row 4, column 12 "});
}

TEST(Words, Settings) {
  Report report = small_report();
  EXPECT_EQ(model_line(report), "tiny (bert, 2 layers, 3 heads), 4 tokens");
  EXPECT_EQ(settings_line(report), "Mean over heads, residual 0.5.");
  Report joint = report;
  joint.input.tokens.back().segment = 1;
  joint.notes.push_back(
      {NoteCode::kJointLayers,
       {{"source_tokens", std::size_t{3}}, {"encoder_layers", std::size_t{1}}, {"decoder_layers", std::size_t{1}}}});
  EXPECT_EQ(model_line(joint), "tiny (bert, 2 layers, 3 heads), 3 source tokens, 1 target token");
  report.model = {"", "", 1, 1, true};
  report.settings.heads = parse_heads("3");
  report.settings.residual = 0.0;
  report.settings.discard = 0.9;
  report.settings.discard_keep_special = true;
  report.settings.column_mask = parse_column_mask("0,5");
  report.settings.normalization = Normalization::kRow;
  report.settings.words = true;
  report.settings.flow_tolerance = 1e-9;
  EXPECT_EQ(model_line(report), "attention from an array (1 layer, 1 head, causal), 4 tokens");
  EXPECT_EQ(settings_line(report),
            "Head 3 in the layer shown, mean over heads in the layers below, no residual, tokens 0,5 masked, "
            "smallest 90% of the weights discarded (columns of special tokens kept), rows divided by their sums, word "
            "pieces merged, flow tolerance 1e-09.");
  EXPECT_EQ(method_title(report, Method::kRaw, 1), "raw, layer 2");
  EXPECT_EQ(method_title(report, Method::kFlow, 1), "flow, layers 1-2");
  EXPECT_EQ(method_title(report, Method::kFlow, 0), "flow, layer 1");
  report.settings.start_layer = 1;
  EXPECT_EQ(method_title(report, Method::kRollout, 1), "rollout, layer 2");
}

TEST(Words, GradientMixing) {
  Report report = small_report();
  report.settings.mixing = Mixing::kGradient;
  EXPECT_EQ(target_title(report.target), "");
  EXPECT_EQ(settings_line(report), "Gradient-adjusted attention, identity added.");
  report.target = {.kind = "class", .label = "very\npositive", .index = 2, .logit = 3.25};
  EXPECT_EQ(target_title(report.target), "class \u201cvery\u240apositive\u201d");
  report.settings.mixing = Mixing::kGradientRenormalized;
  EXPECT_EQ(
      settings_line(report),
      "Gradient-adjusted attention for class \u201cvery\u240apositive\u201d, identity added, rows divided by their "
      "sums (logit 3.25).");
  report.target = {.kind = "next", .label = "his", .index = 2, .logit = 3.25};
  EXPECT_EQ(target_title(report.target), "the next token \u201chis\u201d");
}

TEST(Words, Predictions) {
  Report report = small_report();
  EXPECT_TRUE(prediction_lines(report).empty());
  report.predictions.push_back({"classification", {}, {{"positive", 0.982}, {"negative", 0.018}}, {}});
  report.predictions.push_back({"masked",
                                2,
                                {{"a", 0.5}, {"b", 0.2}, {"c", 0.1}, {"d", 0.05}, {"e", 0.04}, {"f", 0.01}},
                                {{"his", 0.0004}, {"her", 1e-9}}});
  EXPECT_EQ(prediction_lines(report),
            (std::vector<std::string>{"Prediction: positive 98.2%, negative 1.8%",
                                      "Prediction for the mask at position 2: \u201ca\u201d 50.0%, \u201cb\u201d "
                                      "20.0%, \u201cc\u201d 10.0%, \u201cd\u201d 5.0%, \u201ce\u201d 4.0%",
                                      "Candidates at position 2: \u201chis\u201d 0.04%, \u201cher\u201d <0.01%"}));
}

TEST(TerminalTable, SmallReport) {
  Report report = small_report();
  report.predictions.push_back({"classification", {}, {{"positive", 0.75}}, {}});
  report.notes = {Note("A note.")};
  // In full, to catch any change. Values: layer 2, row 0.
  EXPECT_EQ(terminal_table(report),
            "positive, 75%\n"
            "\n"
            "rollout over attention: \u201ccats\u201d 0.65, \u201cThe\u201d 0.6\n"
            "\n"
            "tiny (bert, 2 layers, 3 heads), 4 tokens\n"
            "Output token 0 \u201c[CLS]\u201d, from layer 2 down to the input. Mean over heads,\n"
            "  residual 0.5.\n"
            "Prediction: positive 75.0%\n"
            "\n"
            "raw, layer 2               rollout, layers 1-2        flow, layers 1-2\n"
            "3 [SEP]*  1.4000  ███████  3 [SEP]*  0.7000  ███████  3 [SEP]*  0.3500° ███████\n"
            "2 cats    1.3000  ██████▌  2 cats    0.6500  ██████▌  2 cats    0.3250  ██████▌\n"
            "1 The     1.2000  ██████   1 The     0.6000  ██████   1 The     0.3000  ██████\n"
            "0 [CLS]*  1.1000  █████▌   0 [CLS]*  0.5500  █████▌   0 [CLS]*  0.2750  █████▌\n"
            "\n"
            "* special token; \u00B0 set by the first or last layer alone\n"
            "\n"
            "Note: A note.\n");
}

Report layered_report(std::size_t layers, std::size_t all) {
  Report report = small_report();
  report.model.layers = all;
  report.settings.layers.clear();
  report.settings.methods = {Method::kRaw, Method::kRollout};
  report.flow = report.flow_gap = {};
  report.flow_degenerate = {};
  for (std::size_t l = 0; l < layers; ++l) report.settings.layers.push_back(all - layers + l + 1);
  report.raw = report.rollout = Tensor<double>({layers, 4, 4}, std::vector<double>(16 * layers, 0.25));
  return report;
}

TEST(TerminalTable, ShowsEveryLayerThatSomebodyChose) {
  const Report chosen = layered_report(4, 6);
  const std::string table = terminal_table(chosen);
  test::expect_parts(table,
                     {"from each of the layers 3, 4, 5 and 6 down to the", "raw, layer 3 ", "rollout, layers 1-3\n",
                      "raw, layer 4 ", "raw, layer 5 ", "raw, layer 6 ", "rollout, layers 1-6\n"});
  test::expect_no_parts(table, {"Shown are"});
  const std::string page = markdown_table(chosen);
  test::expect_parts(page, {", layer 3 to the input\n", ", layer 6 to the input\n"});
  Report all = layered_report(6, 6);
  test::expect_parts(terminal_table(all), {"from layer 6 down"});
  test::expect_no_parts(terminal_table(all), {"raw, layer 5"});
  test::expect_no_parts(markdown_table(all), {"layer 5 to"});
  all.settings.layers_named = true;
  test::expect_parts(terminal_table(all), {"raw, layer 1 "});
  test::expect_parts(markdown_table(all), {"layer 5 to"});
}

TEST(TerminalTable, SaysWhichLayersItLeavesOut) {
  const Report report = layered_report(20, 30);
  const std::string table = terminal_table(report);
  const std::string wide = terminal_table(report, {.width = 200});
  test::expect_parts(wide, {"Shown are the last 6 of 20 layers. To see others, choose at most 6 with --layers;"});
  test::expect_no_parts(table, {"raw, layer 24 "});
  test::expect_parts(table, {"raw, layer 25 "});
  test::expect_parts(terminal_table(report, {.width = 200, .option_names = OptionNames::kFields}),
                     {"at most 6 with layers;"});
  test::expect_parts(markdown_table(report), {", layer 11 to the input\n"});
  for (const std::string& line : lines_of(table)) EXPECT_LE(display_width(line), 80U) << line;
}

TEST(TerminalTable, SaysWhereTheOutputTokenCarriesNoRelevance) {
  Report report = layered_report(2, 6);
  report.settings.mixing = Mixing::kRelevance;
  const std::string line =
      "The output token carries no relevance in favor of the prediction at layer 5: there is nothing to rank.";
  const TableOptions wide = {.width = 120};
  test::expect_no_parts(terminal_table(report, wide), {line});
  for (std::size_t j = 0; j < 4; ++j) report.raw(0, report.output_token, j) = 0.0;
  for (const std::string& text : {terminal_table(report, wide), markdown_table(report)}) {
    const std::size_t at = text.find(line);
    ASSERT_NE(at, std::string::npos) << text;
    EXPECT_EQ(text.find(line, at + 1), std::string::npos) << text;
    test::expect_no_parts(text, {"rollout, layers 1-5"});
    test::expect_parts(text, {"rollout, layers 1-6"});
  }
  report.settings.mixing = Mixing::kAttention;  // its rows of zeros mean something else
  test::expect_no_parts(terminal_table(report), {line});
}

TEST(TerminalTable, MarksWordsThatTheVocabularyLacks) {
  Report report = small_report();
  test::expect_no_parts(terminal_table(report, {}), {"vocabulary"});
  report.input.tokens[2].text = "[UNK]";
  report.input.tokens[2].unknown = true;
  const std::string table = terminal_table(report, {});
  test::expect_parts(line_with(table, "2 cats"), {"cats? "});
  test::expect_parts(table, {"? not in the model's vocabulary"});
  const std::string page = markdown_table(report);
  test::expect_parts(line_with(page, "| cats"), {"| cats ? |"});
  test::expect_parts(page, {"? not in the model's vocabulary"});
}

TEST(TerminalTable, NoLineIsWiderThanAsked) {
  Report report = polyglot_report();
  report.notes = {Note(
      "A long note with many words that has to be broken over several lines, and one word that is "
      "longer-than-any-line-could-hold-because-it-goes-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on-and-on.")};
  for (const std::size_t width : {40U, 52U, 79U, 80U, 81U, 100U, 132U, 400U}) {
    for (const bool ascii : {false, true}) {
      for (const std::string& line : lines_of(terminal_table(report, {width, false, ascii})))
        EXPECT_LE(display_width(line), width) << line;
    }
  }
}

TEST(TerminalTable, ColumnsLineUpForEveryScript) {
  const Report report = polyglot_report();
  for (const std::size_t width : {80U, 100U, 140U}) {
    const std::string table = terminal_table(report, {width, false, false});
    const std::string title = line_with(table, "raw, layer 2");
    const std::size_t second = display_width(title.substr(0, title.find("rollout")));
    std::size_t rows = 0;
    for (const std::string& line : lines_of(table)) {
      const std::size_t at = line.find("0.1250");
      if (at == std::string::npos) continue;
      ++rows;
      const std::size_t cell = display_width(line.substr(0, at));
      EXPECT_GT(cell, second);
      const std::size_t first = table.find("0.1250");
      const std::size_t line_start = table.rfind('\n', first) + 1;
      EXPECT_EQ(cell, display_width(table.substr(line_start, first - line_start))) << line;
    }
    EXPECT_EQ(rows, 8U);
  }
}

TEST(TerminalTable, MethodsBesideOrBelow) {
  const Report report = small_report();
  const std::string wide = terminal_table(report, {80, false, false});
  test::expect_parts(line_with(wide, "raw, layer 2"), {"flow, layers 1-2"});
  const std::string narrow = terminal_table(report, {60, false, false});
  test::expect_no_parts(line_with(narrow, "raw, layer 2"), {"flow"});
  EXPECT_FALSE(line_with(narrow, "flow, layers 1-2").empty());
  EXPECT_EQ(terminal_table(report, {1, false, false}), terminal_table(report, {40, false, false}));
}

TEST(TerminalTable, AsciiHasOnlyAsciiOfItsOwn) {
  const std::string table = terminal_table(small_report(), {80, false, true});
  for (const char c : table) EXPECT_LT(static_cast<unsigned char>(c), 0x80) << table;
  test::expect_parts(table, {"#######"});
  test::expect_parts(line_with(table, "0.3500"), {"0.3500d"});
  test::expect_parts(terminal_table(polyglot_report(), {80, false, true}), {"..."});
}

TEST(TerminalTable, ColorChangesNothingElse) {
  const Report report = polyglot_report();
  const std::string plain = terminal_table(report, {100, false, false});
  const std::string colored = terminal_table(report, {100, true, false});
  test::expect_no_parts(plain, {"\x1b"});
  test::expect_parts(colored, {"\x1b[1m"});
  const std::vector<std::string> expected = lines_of(plain);
  const std::vector<std::string> found = lines_of(without_color(colored));
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    EXPECT_EQ(found[i].substr(0, found[i].find_last_not_of(' ') + 1), expected[i]);
}

TEST(TerminalTable, HostileTextIsHarmless) {
  Report report = small_report();
  report.model.name = "name\x1b]0;title\x07";
  report.input.tokens[1] = {"evil\x1b[2J\r\n\u202Etext", {}, {}, false, 0, 0};
  report.predictions.push_back({"classification", {}, {{"label\x1b[31m", 0.5}}, {}});
  report.notes = {Note("note\x1b[31m\nsecond line")};
  const std::string table = terminal_table(report);
  test::expect_no_parts(table, {"\x1b", "\r", "\u202E"});
  test::expect_no_parts(markdown_table(report), {"\x1b"});
}

TEST(TerminalTable, MissingRowsAndMethodsAndTexts) {
  Report report = small_report();
  report.output_token = 1;
  test::expect_parts(terminal_table(report), {"no value for this"});
  report.rollout = {};
  const std::string two = terminal_table(report);
  test::expect_no_parts(two, {"rollout"});
  report.raw = report.flow = {};
  EXPECT_EQ(terminal_table(report), "Output token 1, \u201cThe\u201d\n\ntiny (bert, 2 layers, 3 heads), 4 tokens\n");
  report = small_report();
  report.input.text.clear();
  for (InputToken& token : report.input.tokens) token = {};
  test::expect_parts(terminal_table(report), {"Output token 0, from layer 2"});
}

TEST(TerminalTable, LargeAndSmallValues) {
  Report report = small_report();
  for (double& value : report.raw.span()) value *= 1e-6;
  for (double& value : report.rollout.span()) value *= 100.0;
  for (double& value : report.flow.span()) value *= 1e5;
  const std::string table = terminal_table(report);
  test::expect_parts(table, {"1.4e-06", "70.00", "3.5e+04"});
  for (const std::string& line : lines_of(table)) EXPECT_LE(display_width(line), 80U);
}

TEST(MarkdownTable, SmallReport) {
  Report report = small_report();
  report.settings.top_k = 2;
  report.notes = {Note("A *note* about | pipes.")};
  EXPECT_EQ(
      markdown_table(report),
      "# Output token 0, \u201c\\[CLS\\]\u201d\n"
      "\n"
      "> The cats\n"
      "\n"
      "rollout over attention: \u201ccats\u201d 0.65, \u201cThe\u201d 0.6\n"
      "\n"
      "tiny (bert, 2 layers, 3 heads), 4 tokens\n"
      "\n"
      "Mean over heads, residual 0.5.\n"
      "\n"
      "## Output token 0 \u201c\\[CLS\\]\u201d, layer 2 to the input\n"
      "\n"
      "| rank | position | raw, layer 2 | value | position | rollout, layers 1-2 | value | position | flow, layers "
      "1-2 | value |\n"
      "| ---: | ---: | --- | ---: | ---: | --- | ---: | ---: | --- | ---: |\n"
      "| 1 | 3 | \\[SEP\\] \\* | 1.4 | 3 | \\[SEP\\] \\* | 0.7 | 3 | \\[SEP\\] \\* | 0.35\u00B0 |\n"
      "| 2 | 2 | cats | 1.3 | 2 | cats | 0.65 | 2 | cats | 0.325 |\n"
      "\n"
      "\\* special token; \u00B0 set by the first or last layer alone\n"
      "\n"
      "- A \\*note\\* about \\| pipes.\n");
}

TEST(MarkdownTable, AllOutputTokensAndTextThatLooksLikeMarkdown) {
  Report report = small_report();
  report.all_output_tokens = true;
  report.input.text = "- a|b <script> $x$ *c*";
  report.input.tokens[1].begin = 2;
  report.input.tokens[1].end = 5;  // "a|b"
  report.input.tokens[2].begin = 6;
  report.input.tokens[2].end = 14;
  const std::string text = markdown_table(report);
  test::expect_parts(text, {"> \\- a\\|b \\<script\\> \\$x\\$ \\*c\\*"});
  for (int i = 0; i < 4; ++i) test::expect_parts(text, {"## Output token " + std::to_string(i) + " "});
  // Escaped pipes leave every row as many cells as its header.
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with('|')) continue;
    std::size_t pipes = 0;
    for (std::size_t i = 0; i < line.size(); ++i) pipes += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    EXPECT_EQ(pipes, 11U) << line;
  }
  report.input.text = "1. first";
  test::expect_parts(markdown_table(report), {"> 1\\. first"});
}

Report decoder_rows(const std::vector<double>& raw, const std::vector<double>& flow) {
  Report report;
  report.model.causal = true;
  report.model.layers = 1;
  report.settings.layers = {1};
  report.settings.methods = {Method::kRaw, Method::kFlow};
  report.input.tokens.resize(3);
  for (std::size_t t = 0; t < 3; ++t) report.input.tokens[t].text = std::string(1, "abc"[t]);
  report.output_token = 2;
  report.output_tokens = {2};
  report.flow_output_tokens = {2};
  report.raw = Tensor<double>({1, 1, 3}, raw);
  report.flow = Tensor<double>({1, 1, 3}, flow);
  return report;
}

TEST(Ranking, AnAttentionSinkIsOneForFlowWhereItIsOneForRawAttention) {
  const Report report = decoder_rows({0.9, 0.06, 0.04}, {0.8, 0.6, 0.9});
  for (const Method method : {Method::kRaw, Method::kFlow}) {
    const std::vector<RankedToken> ranked = rank_input_tokens(report, method, 2, {0});
    ASSERT_EQ(ranked.size(), 3U) << to_text(method);
    EXPECT_EQ(ranked[2].token, 0U) << to_text(method);
    EXPECT_TRUE(ranked[2].sink) << to_text(method);
  }
  EXPECT_FALSE(rank_input_tokens(decoder_rows({0.4, 0.3, 0.3}, {0.8, 0.6, 0.5}), Method::kFlow, 2, {0})[0].sink);
}

TEST(Ranking, ASinkThatHoldsEverythingIsMarkedAndSaid) {
  const Report report = decoder_rows({1.0, 0.0, 0.0}, {1.0, 0.0, 0.0});
  const std::vector<RankedToken> ranked = rank_input_tokens(report, Method::kFlow, 2, {0});
  ASSERT_EQ(ranked.size(), 1U);
  EXPECT_TRUE(ranked[0].sink);
  const std::string table = terminal_table(report);
  test::expect_parts(table, {"beside which nothing is left"});
}

}  // namespace
}  // namespace attnflow::report_table_test
