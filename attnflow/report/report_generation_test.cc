#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnflow/base/base64.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/files/safetensors.h"
#include "attnflow/report/csv_for_test.h"
#include "attnflow/report/report_arrays.h"
#include "attnflow/report/report_csv.h"
#include "attnflow/report/report_generation_for_test.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/report/report_table.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::report_generation_test {
namespace {

using test::get;
using test::lines_of;
using test::parse_csv;
using test::Rows;
using test::small_generation;
using test::TempFolder;

using Names = std::vector<std::string>;

Names names_of(const std::vector<NamedArray>& arrays) {
  Names names;
  for (const NamedArray& named : arrays) names.push_back(named.name);
  return names;
}

// A long word, markup, control characters, right-to-left text, and invalid UTF-8.
Report hostile_generation() {
  Report report = small_generation();
  const std::string long_word(300, 'w');
  report.input.text = "\x1b[31m\n</script>\xff " + long_word;
  report.input.tokens = {{"\x1b[31m", {}, {}, true, {}, 0},
                         {"\n", {}, {}, false, {}, 0},
                         {"</script>", {}, {}, false, {}, 0},
                         {"\xd8\xa7\xd9\x84\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8", {}, {}, false, {}, 0},
                         {long_word, {}, {}, false, {}, 0}};
  report.generation->tokens[0].text = "\xff";
  report.generation->tokens[0].begin = report.generation->tokens[0].end = 0;
  report.generation->tokens[1].text = long_word;
  report.generation->tokens[1].begin = report.generation->tokens[1].end = 0;
  report.model.name = long_word + "\n";
  report.notes = {Note("A note with </script> and a\nbreak, " + long_word)};
  report.generation->excluded = {{long_word, {1}}};
  return report;
}

// ---- ranking ----------------------------------------------------------------------------------------------------

TEST(Generation, MeanOverLayers) {
  const Report report = small_generation();
  const std::vector<double> all = mean_over_layers(report.rollout, 1);
  const std::vector<double> last = mean_over_layers(report.rollout, 1, {1});
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t j = 0; j < 5; ++j) {
    EXPECT_DOUBLE_EQ(all[j], static_cast<double>(j + 1) / 20.0 + 0.01 + 0.0005);
    EXPECT_EQ(last[j], report.rollout(1, 1, j));
  }
}

TEST(Generation, RanksWhatIsNotExcluded) {
  Report report = small_generation();
  EXPECT_EQ(excluded_by(report), (Names{"tokens 0, 3", "", "", "punctuation", ""}));
  const std::vector<double> values = {0.125, 0.25, 0.0, 0.375, 0.25};
  for (std::size_t j = 0; j < 5; ++j) report.rollout(0, 0, j) = report.rollout(1, 0, j) = values[j];
  const std::vector<RankedToken> ranked = rank_input_tokens(report, Method::kRollout, 4, {});
  ASSERT_EQ(ranked.size(), 2U);  // no zeros
  EXPECT_EQ(ranked[0].token, 1U);
  EXPECT_EQ(ranked[1].token, 4U);
  EXPECT_EQ(ranked[1].value, 0.25);
  EXPECT_TRUE(ranked[1].tied);
  EXPECT_DOUBLE_EQ(excluded_share(report, values), 0.5);
  report.settings.top_k = 1;
  EXPECT_EQ(rank_input_tokens(report, Method::kRollout, 5, {}).size(), 1U);
  EXPECT_EQ(excluded_share(report, {0.0, 0.0, 0.0, 0.0, 0.0}), 0.0);
  report.generation->excluded.clear();
  EXPECT_EQ(excluded_share(report, {0.1, 0.2, 0.3, 0.4, 0.5}), 0.0);
}

TEST(Generation, MethodsKnowTheirRowsAndLayers) {
  Report report = small_generation();
  EXPECT_EQ(to_texts(methods_present(report)), (Names{"raw", "rollout", "flow"}));
  const MethodValues flow = method_values(report, Method::kFlow);
  EXPECT_EQ(flow.values, &report.flow);
  EXPECT_EQ(*flow.output_tokens, (std::vector<std::size_t>{5}));
  EXPECT_EQ(*flow.layers, (std::vector<std::size_t>{2}));
  EXPECT_EQ(chosen_token(report, 5), 1U);
  EXPECT_EQ(*method_values(report, Method::kRaw).output_tokens, (std::vector<std::size_t>{4, 5, 6}));
  report.raw = {};
  EXPECT_EQ(to_texts(methods_present(report)), (Names{"rollout", "flow"}));
}

TEST(Generation, TokensAreShownByTheirCharacters) {
  const Report report = small_generation();
  EXPECT_EQ(generated_text(*report.generation, 0), "hot");
  EXPECT_EQ(generated_text(*report.generation, 2), "</s>");
}

// ---- json -------------------------------------------------------------------------------------------------------

TEST(GenerationJson, Fields) {
  const nlohmann::json json = nlohmann::json::parse(report_to_json(small_generation()));
  EXPECT_EQ(json["format"], "attnflow-report");
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["input"]["kind"], "generation");
  EXPECT_EQ(json["output_tokens"], (std::vector<int>{4, 5, 6}));
  EXPECT_EQ(json["flow_output_tokens"], (std::vector<int>{5}));
  EXPECT_EQ(json["flow_layers"], (std::vector<int>{2}));
  const nlohmann::json& generation = json["generation"];
  EXPECT_EQ(generation["text"], " hot.");
  EXPECT_EQ(generation["stopped"], "end");
  EXPECT_EQ(generation["chat"], false);
  EXPECT_EQ(generation["temperature"], 0.5);
  EXPECT_EQ(generation["top_p"], 0.9);
  EXPECT_EQ(generation["seed"], 42);
  EXPECT_EQ(generation["tokens"].size(), 3U);
  EXPECT_EQ(generation["tokens"][1]["choices"][0]["label"], "!");
  EXPECT_EQ(generation["excluded"][1]["rule"], "tokens 0, 3");
  EXPECT_EQ(json["arrays"]["rollout_generated"]["shape"], (std::vector<int>{2, 3, 3}));
  EXPECT_EQ(json["arrays"]["sink_share"]["shape"], (std::vector<int>{2, 3}));
  EXPECT_FALSE(json["arrays"].contains("raw_generated"));
  EXPECT_FALSE(json["arrays"].contains("rollout_normalized"));
}

TEST(GenerationJson, ReadsBackBitByBit) {
  Report report = small_generation();
  report.flow_beside.normalized = report.flow;
  const std::string text = report_to_json(report);
  const Report read = report_from_json(text);
  EXPECT_EQ(report_to_json(read), text);
  ASSERT_TRUE(read.generation);
  EXPECT_EQ(read.generation->text, " hot.");
  EXPECT_EQ(read.generation->tokens[1].id, 12);
  EXPECT_EQ(read.generation->tokens[1].probability, 0.25);
  EXPECT_EQ(read.generation->sampling.seed, 42U);
  EXPECT_EQ(read.generation->sink_share, report.generation->sink_share);
  EXPECT_EQ(read.rollout, report.rollout);
  EXPECT_EQ(read.rollout_beside.generated, report.rollout_beside.generated);
  EXPECT_EQ(read.flow_beside.normalized, report.flow);
  EXPECT_EQ(read.flow_degenerate, report.flow_degenerate);
}

TEST(GenerationJson, RefusesWhatContradictsItself) {
  const nlohmann::json good = nlohmann::json::parse(report_to_json(small_generation()));
  const auto expect = [&](const std::string& part, const auto& change) {
    nlohmann::json json = good;
    change(json);
    test::expect_error(ErrorKind::kBadFile, {part}, [&] { report_from_json(json.dump()); });
  };
  expect("field \"generation\"", [](auto& json) { json.erase("generation"); });
  expect("at least one generated token", [](auto& json) { json["generation"]["tokens"] = nlohmann::json::array(); });
  expect("output_tokens[0]", [](auto& json) { json["output_tokens"] = {0, 1, 2}; });
  expect("a position from 4 to 6", [](auto& json) { json["output_token"] = 7; });
  expect("flow_layers[0]", [](auto& json) { json["flow_layers"] = {3}; });
  expect("generation.excluded[0].tokens[0]", [](auto& json) { json["generation"]["excluded"][0]["tokens"] = {5}; });
  expect("bytes of the text", [](auto& json) { json["generation"]["tokens"][0]["end"] = 6; });
  expect("arrays.rollout.shape", [](auto& json) { json["arrays"]["rollout"]["shape"] = {3, 5, 2}; });
  expect("positions of \"output_tokens\"", [](auto& json) { json["output_tokens"] = {4, 6}; });
  expect("none in a generation", [](auto& json) { json["referents"] = {{{"text", "a"}, {"tokens", {0}}}}; });
  expect("input.kind", [](auto& json) { json["input"]["kind"] = "text"; });
  expect("of version 3 or newer", [](auto& json) { json["version"] = 2; });
}

TEST(GenerationJson, ReadsWhatItNeedNotSay) {
  nlohmann::json json = nlohmann::json::parse(report_to_json(small_generation()));
  json.erase("output_token");
  json["arrays"]["graph"] = {
      {"shape", {2, 5, 5}}, {"dtype", "f64"}, {"encoding", "base64"}, {"data", std::string(536, 'A')}};
  const Report read = report_from_json(json.dump());
  EXPECT_EQ(read.output_token, 4U);
  EXPECT_TRUE(read.graph.empty());
}

TEST(GenerationJson, MayStandInAScript) {
  ReportJsonOptions options;
  options.array_type = ReportArrayType::kF16;
  const std::string text = report_to_json(hostile_generation(), options);
  test::expect_no_parts(text, {"<"});
  const nlohmann::json json = nlohmann::json::parse(text);  // also refuses invalid UTF-8
  EXPECT_EQ(json["input"]["tokens"][2]["text"], "</script>");
  EXPECT_EQ(json["arrays"]["rollout"]["dtype"], "f16");
}

// ---- arrays -----------------------------------------------------------------------------------------------------

TEST(GenerationArrays, KeysTypesAndShapes) {
  Report report = small_generation();
  const TempFolder folder;
  write_report_npz(folder / "a.npz", report);
  EXPECT_EQ(list_npz(folder / "a.npz"),
            (Names{"prompt_tokens", "prompt_special", "layers", "generated_tokens", "generated_special",
                   "generated_ids", "probability", "excluded", "flow_tokens", "flow_layers", "raw", "rollout",
                   "rollout_generated", "flow", "flow_gap", "flow_degenerate", "sink_share"}));
  const auto array = [&](const char* name) { return read_npz(folder / "a.npz", name); };
  EXPECT_EQ(array("prompt_tokens").strings, (Names{"<s>", "The", " sun", ",", " is"}));
  EXPECT_EQ(array("generated_tokens").strings, (Names{" hot", ".", "</s>"}));
  EXPECT_EQ(array("prompt_special").dtype, DType::kBool);
  EXPECT_EQ(array("excluded").to_int64(""), (Tensor<std::int64_t>({5}, {1, 0, 0, 1, 0})));
  EXPECT_EQ(array("generated_ids").to_int64(""), (Tensor<std::int64_t>({3}, {11, 12, 2})));
  EXPECT_EQ(array("probability").to_double(""), (Tensor<double>({3}, {0.625, 0.25, 0.875})));
  EXPECT_EQ(array("layers").to_int64(""), (Tensor<std::int64_t>({2}, {1, 2})));
  const Tensor<double> rollout = array("rollout").to_double("");  // M[n, m, l]
  ASSERT_EQ(rollout.shape(), (Shape{3, 5, 2}));
  const Tensor<double> sink = array("sink_share").to_double("");
  ASSERT_EQ(sink.shape(), (Shape{3, 2}));
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t j = 0; j < 5; ++j) EXPECT_EQ(rollout(t, j, l), report.rollout(l, t, j));
      EXPECT_EQ(sink(t, l), report.generation->sink_share(l, t));
    }
  }
  EXPECT_EQ(array("rollout_generated").shape, (Shape{3, 3, 2}));
  EXPECT_EQ(array("flow").shape, (Shape{1, 5, 1}));
  EXPECT_EQ(array("flow_degenerate").dtype, DType::kU8);
  EXPECT_EQ(array("flow_tokens").to_int64(""), (Tensor<std::int64_t>({1}, {1})));
  EXPECT_EQ(array("flow_layers").to_int64(""), (Tensor<std::int64_t>({1}, {2})));
  write_report_npz(folder / "b.npz", report);
  EXPECT_EQ(get(folder / "a.npz"), get(folder / "b.npz"));

  report.raw = report.flow = report.flow_gap = {};
  report.flow_degenerate = {};
  report.rollout_beside = {.generated = {}, .normalized = report.rollout};
  EXPECT_EQ(names_of(report_arrays(report)),
            (Names{"prompt_tokens", "prompt_special", "layers", "generated_tokens", "generated_special",
                   "generated_ids", "probability", "excluded", "rollout", "rollout_normalized", "sink_share"}));
}

TEST(GenerationArrays, SafetensorsKeepTextInTheMetadata) {
  const TempFolder folder;
  write_report_safetensors(folder / "a.safetensors", small_generation());
  const SafetensorsFile file(folder / "a.safetensors");
  EXPECT_EQ(file.read("rollout").shape, (Shape{3, 5, 2}));
  EXPECT_EQ(nlohmann::json::parse(file.metadata().at("generated_tokens")), (Names{" hot", ".", "</s>"}));
  EXPECT_EQ(nlohmann::json::parse(file.metadata().at("prompt_tokens"))[2], " sun");
  write_report_safetensors(folder / "b.safetensors", hostile_generation());
}

// ---- csv --------------------------------------------------------------------------------------------------------

TEST(GenerationCsv, OneRowForEachLayerTokenAndPromptToken) {
  const Report report = small_generation();
  const TempFolder folder;
  write_report_csv(folder / "a.csv", report);
  const Rows rows = parse_csv(get(folder / "a.csv"));
  ASSERT_EQ(rows.size(), 1U + 2 * 3 * 5);
  EXPECT_EQ(rows[0], (Names{"layer", "output_token", "output_text", "input_token", "input_text", "input_special",
                            "excluded", "raw", "rollout", "flow", "flow_gap", "flow_degenerate"}));
  for (std::size_t l = 0; l < 2; ++l) {
    for (std::size_t t = 0; t < 3; ++t) {
      for (std::size_t j = 0; j < 5; ++j) {
        const std::vector<std::string>& row = rows[1 + (l * 3 + t) * 5 + j];
        ASSERT_EQ(row.size(), 12U);
        EXPECT_EQ(row[0], std::to_string(l + 1));
        EXPECT_EQ(row[1], std::to_string(t));
        EXPECT_EQ(row[2], generated_text(*report.generation, t));
        EXPECT_EQ(row[3], std::to_string(j));
        EXPECT_EQ(row[4], display_text(report.input, j));
        EXPECT_EQ(row[5], j == 0 ? "1" : "0");
        EXPECT_EQ(row[6], j == 0 || j == 3 ? "1" : "0");
        EXPECT_EQ(std::stod(row[7]), report.raw(l, t, j));
        EXPECT_EQ(std::stod(row[8]), report.rollout(l, t, j));
        const bool flow = t == 1 && l == 1;
        EXPECT_EQ(row[9].empty(), !flow);
        if (flow) {
          EXPECT_EQ(std::stod(row[9]), report.flow(0, 0, j));
          EXPECT_EQ(row[11], j == 3 ? "2" : "0");
        }
      }
    }
  }
  Report normalized = report;
  normalized.rollout_beside.normalized = normalized.rollout;
  write_report_csv(folder / "b.csv", normalized);
  EXPECT_EQ(parse_csv(get(folder / "b.csv"))[0][9], "rollout_normalized");
}

// ---- tables -----------------------------------------------------------------------------------------------------

TEST(GenerationTable, SmallGeneration) {
  const std::string table = terminal_table(small_generation(), {100, false, false});
  EXPECT_EQ(table,
            "tiny.gguf (llama, 2 layers, 3 heads, causal), 5 prompt tokens, 3 generated\n"
            "Prompt tokens that each generated token depends on most, by rollout, mean over layers 1 to 2. The\n"
            "  column \"prompt\" holds the prompt's share; the rest falls on generated tokens.\n"
            "  token  prob. prompt  depends most on\n"
            "0 \u201chot\u201d    62%    75%  \u201cis\u201d 0.251, \u201csun\u201d 0.150, \u201cThe\u201d 0.101\n"
            "1 \u201c.\u201d      25%    80%  \u201cis\u201d 0.261, \u201csun\u201d 0.161, \u201cThe\u201d 0.111\n"
            "2 \u201c</s>\u201d   88%    85%  \u201cis\u201d 0.271, \u201csun\u201d 0.170, \u201cThe\u201d 0.121\n"
            "Excluded from the rankings: punctuation (1), tokens 0, 3 (2); they hold 34% of the prompt's share.\n"
            "Note: A note.\n");
}

TEST(GenerationTable, OverContributionsTheLastLayerIsRanked) {
  Report report = small_generation();
  EXPECT_EQ(usual_layers(report, 2), (std::vector<std::size_t>{0, 1}));
  report.settings.mixing = Mixing::kAlti;
  EXPECT_EQ(usual_layers(report, 2), (std::vector<std::size_t>{1}));
  const std::string table = terminal_table(report, {100, false, false});
  test::expect_parts(table, {"depends on most, by rollout, layer 2 over contributions"});
  const std::vector<RankedToken> first =
      rank_input_tokens(report, Method::kRollout, (*method_values(report, Method::kRollout).output_tokens)[0], {});
  ASSERT_FALSE(first.empty());
  EXPECT_EQ(first[0].value, report.rollout(1, 0, first[0].token));
}

TEST(GenerationTable, ColumnsOfAsciiTablesStayInPlaceWhereNamesAreCut) {
  Report report = small_generation();
  Generation& generation = *report.generation;
  generation.text = " extraordinarily-long-and-hotter-than-ever.";
  const std::size_t end = generation.text.size();
  generation.tokens[0].end = generation.tokens[1].begin = end - 1;
  generation.tokens[1].end = generation.tokens[2].begin = generation.tokens[2].end = end;
  const std::vector<std::string> lines = lines_of(terminal_table(report, {60, false, true}));
  const auto of_token = [&](const std::string& number) {
    return *std::ranges::find_if(lines, [&](const std::string& line) { return line.starts_with(number); });
  };
  test::expect_parts(of_token("0 "), {"...", "%"});
  EXPECT_EQ(of_token("0 ").find('%'), of_token("1 ").find('%')) << of_token("0 ") << "\n" << of_token("1 ");
  EXPECT_LE(display_width(of_token("0 ")), 60U);
}

TEST(GenerationTable, NoLineIsWiderThanAskedAndNothingMovesTheCursor) {
  for (const Report& report : {small_generation(), hostile_generation()}) {
    for (const std::size_t width : {40U, 60U, 80U, 132U}) {
      for (const bool ascii : {false, true}) {
        for (const std::string& line : lines_of(terminal_table(report, {width, false, ascii}))) {
          EXPECT_LE(display_width(line), width) << line;
          test::expect_no_parts(line, {"\x1b"});
        }
      }
    }
  }
}

TEST(GenerationTable, WithoutRolloutTheFirstMethodCounts) {
  Report report = small_generation();
  report.rollout = report.raw = {};
  const std::string table = terminal_table(report);
  test::expect_parts(table, {"by flow, layer 2."});
  test::expect_no_parts(table, {"\n0 \u201chot"});  // flow was computed for token 1 only
  test::expect_parts(table, {"\n1 \u201c.\u201d     25%  \u201cis"});
  report.flow = {};
  test::expect_parts(terminal_table(report), {"5 prompt tokens, 3 generated"});
}

TEST(GenerationTable, Markdown) {
  const std::string table = markdown_table(small_generation());
  test::expect_parts(
      table,
      {"\n> The sun, is **hot.**\n", "| | token | probability | share of the prompt | depends most on |\n",
       "| 1 | \u201c.\u201d | 0.250 | 0.802 | \u201cis\u201d 0.261, \u201csun\u201d 0.161, \u201cThe\u201d 0.111 |\n"});
  Report flow = small_generation();
  flow.rollout = flow.raw = {};
  test::expect_parts(markdown_table(flow), {"| 1 | \u201c.\u201d | 0.250 | \u201cis\u201d 0.065,"});
  for (const std::string& line : lines_of(markdown_table(hostile_generation()))) {
    for (std::size_t at = line.find('<'); at != std::string::npos; at = line.find('<', at + 1)) {
      EXPECT_TRUE(at > 0 && line[at - 1] == '\\') << line;
    }
  }
}

}  // namespace
}  // namespace attnflow::report_generation_test
