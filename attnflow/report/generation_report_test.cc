#include "attnflow/report/generation_report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/files/safetensors.h"
#include "attnflow/report/base64.h"
#include "attnflow/report/csv_for_test.h"
#include "attnflow/report/generation_output.h"
#include "attnflow/report/generation_report_for_test.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::generation_report_test {
namespace {

using test::get;
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

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// A long word, markup, control characters, right-to-left text, bytes that are no UTF-8.
GenerationReport hostile_generation() {
  GenerationReport report = small_generation();
  const std::string long_word(300, 'w');
  report.prompt = "\x1b[31m\n</script>\xff " + long_word;
  report.prompt_tokens = {{"\x1b[31m", {}, {}, true, {}, 0},
                          {"\n", {}, {}, false, {}, 0},
                          {"</script>", {}, {}, false, {}, 0},
                          {"\xd8\xa7\xd9\x84\xd9\x83\xd8\xaa\xd8\xa7\xd8\xa8", {}, {}, false, {}, 0},
                          {long_word, {}, {}, false, {}, 0}};
  report.tokens[0].text = "\xff";
  report.tokens[0].begin = report.tokens[0].end = 0;
  report.tokens[1].text = long_word;
  report.tokens[1].begin = report.tokens[1].end = 0;
  report.model.name = long_word + "\n";
  report.notes = {Note("A note with </script> and a\nbreak, " + long_word)};
  report.dropped = {{long_word, {1}}};
  return report;
}

// ---- ranking ----------------------------------------------------------------------------------------------------

TEST(GenerationReport, MeanOverLayers) {
  const GenerationReport report = small_generation();
  const std::vector<double> all = mean_over_layers(report.rollout.prompt, 1);
  const std::vector<double> last = mean_over_layers(report.rollout.prompt, 1, {1});
  ASSERT_EQ(all.size(), 5U);
  for (std::size_t j = 0; j < 5; ++j) {
    EXPECT_DOUBLE_EQ(all[j], static_cast<double>(j + 1) / 20.0 + 0.01 + 0.0005);
    EXPECT_EQ(last[j], report.rollout.prompt(1, j, 1));
  }
}

TEST(GenerationReport, RanksWhatIsNotDropped) {
  GenerationReport report = small_generation();
  EXPECT_EQ(dropped_by(report), (Names{"tokens 0, 3", "", "", "punctuation", ""}));
  GenerationRanking ranking = rank_prompt_tokens(report, {0.125, 0.25, 0.0, 0.375, 0.25});
  ASSERT_EQ(ranking.tokens.size(), 2U);    // no zeros
  EXPECT_EQ(ranking.tokens[0].token, 1U);  // equal ones by position
  EXPECT_EQ(ranking.tokens[1].token, 4U);
  EXPECT_EQ(ranking.tokens[1].value, 0.25);
  EXPECT_DOUBLE_EQ(ranking.dropped_share, 0.5);
  report.settings.top_k = 1;
  EXPECT_EQ(rank_prompt_tokens(report, {0.1, 0.2, 0.3, 0.4, 0.5}).tokens.size(), 1U);
  report.dropped.clear();
  EXPECT_EQ(rank_prompt_tokens(report, {0.1, 0.2, 0.3, 0.4, 0.5}).dropped_share, 0.0);
  EXPECT_EQ(rank_prompt_tokens(report, {0.0, 0.0, 0.0, 0.0, 0.0}).dropped_share, 0.0);
}

TEST(GenerationReport, MethodsKnowTheirRowsAndLayers) {
  GenerationReport report = small_generation();
  EXPECT_EQ(to_texts(methods_present(report)), (Names{"raw", "rollout", "flow"}));
  const GenerationMethod flow = generation_method(report, Method::kFlow);
  EXPECT_EQ(flow.values, &report.flow);
  EXPECT_EQ(flow.tokens, (std::vector<std::size_t>{1}));
  EXPECT_EQ(flow.layers, (std::vector<std::size_t>{2}));
  EXPECT_EQ(generation_method(report, Method::kRaw).tokens, (std::vector<std::size_t>{0, 1, 2}));
  report.raw = {};
  EXPECT_EQ(generation_method(report, Method::kRaw).values, nullptr);
  EXPECT_EQ(to_texts(methods_present(report)), (Names{"rollout", "flow"}));
}

TEST(GenerationReport, TokensAreShownByTheirCharacters) {
  const GenerationReport report = small_generation();
  EXPECT_EQ(prompt_text(report, 0), "<s>");
  EXPECT_EQ(prompt_text(report, 2), "sun");
  EXPECT_EQ(generated_text(report, 0), "hot");
  EXPECT_EQ(generated_text(report, 2), "</s>");
}

// ---- json -------------------------------------------------------------------------------------------------------

std::vector<double> decoded(const nlohmann::json& array) {
  const std::string data = array["data"];
  const std::size_t padding = static_cast<std::size_t>(std::count(data.begin(), data.end(), '='));
  std::vector<double> values((data.size() / 4 * 3 - padding) / sizeof(double));
  EXPECT_TRUE(base64_decode(data, std::as_writable_bytes(std::span(values))));
  return values;
}

TEST(GenerationJson, NumbersReadBack) {
  const GenerationReport report = small_generation();
  const nlohmann::json json = nlohmann::json::parse(generation_to_json(report));
  EXPECT_EQ(json["format"], "attnflow-report");
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["input"]["kind"], "generation");
  EXPECT_EQ(json["input"]["text"], report.prompt);
  EXPECT_EQ(json["input"]["tokens"].size(), 5U);
  EXPECT_EQ(json["input"]["tokens"][2]["begin"], 4);
  EXPECT_FALSE(json["input"]["tokens"][0].contains("begin"));
  EXPECT_EQ(json["settings"]["layers"], (std::vector<int>{1, 2}));
  const nlohmann::json& generation = json["generation"];
  EXPECT_EQ(generation["text"], " hot.");
  EXPECT_EQ(generation["stopped"], "end");
  EXPECT_EQ(generation["chat"], false);
  EXPECT_EQ(generation["temperature"], 0.5);
  EXPECT_EQ(generation["top_p"], 0.9);
  EXPECT_EQ(generation["seed"], 42);
  EXPECT_EQ(generation["tokens"].size(), 3U);
  EXPECT_EQ(generation["tokens"][1]["id"], 12);
  EXPECT_EQ(generation["tokens"][1]["probability"], 0.25);
  EXPECT_EQ(generation["tokens"][1]["choices"][0]["label"], "!");
  EXPECT_EQ(generation["tokens"][2]["special"], true);
  EXPECT_EQ(generation["flow_tokens"], (std::vector<int>{1}));
  EXPECT_EQ(generation["flow_layers"], (std::vector<int>{2}));
  EXPECT_EQ(generation["dropped"][1]["rule"], "tokens 0, 3");
  EXPECT_EQ(generation["dropped"][1]["tokens"], (std::vector<int>{0, 3}));
  EXPECT_EQ(json["notes"][0]["text"], "A note.");

  const nlohmann::json& arrays = json["arrays"];
  for (const auto& [name, tensor] :
       std::vector<std::pair<std::string, const Tensor<double>*>>{{"raw", &report.raw.prompt},
                                                                  {"rollout", &report.rollout.prompt},
                                                                  {"rollout_generated", &report.rollout.generated},
                                                                  {"flow", &report.flow.prompt},
                                                                  {"flow_gap", &report.flow_gap},
                                                                  {"sink_share", &report.sink_share}}) {
    ASSERT_TRUE(arrays.contains(name)) << name;
    EXPECT_EQ(arrays[name]["shape"].get<Shape>(), tensor->shape()) << name;
    EXPECT_EQ(arrays[name]["dtype"], "f64") << name;
    EXPECT_EQ(decoded(arrays[name]), std::vector<double>(tensor->span().begin(), tensor->span().end())) << name;
  }
  EXPECT_EQ(arrays["flow_degenerate"]["dtype"], "u8");
  EXPECT_FALSE(arrays.contains("raw_generated"));
  EXPECT_FALSE(arrays.contains("rollout_normalized"));
  EXPECT_EQ(generation_to_json(report), generation_to_json(report));
}

TEST(GenerationJson, MayStandInAScript) {
  ReportJsonOptions options;
  options.array_type = ReportArrayType::kF16;
  const std::string text = generation_to_json(hostile_generation(), options);
  EXPECT_EQ(text.find('<'), std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(text);  // also refuses what is not UTF-8
  EXPECT_EQ(json["input"]["tokens"][2]["text"], "</script>");
  EXPECT_EQ(json["arrays"]["rollout"]["dtype"], "f16");
}

// ---- arrays -----------------------------------------------------------------------------------------------------

TEST(GenerationArrays, KeysTypesAndShapes) {
  GenerationReport report = small_generation();
  const TempFolder folder;
  write_generation_npz(folder / "a.npz", report);
  EXPECT_EQ(list_npz(folder / "a.npz"),
            (Names{"prompt_tokens", "generated_tokens", "prompt_special", "generated_special", "generated_ids",
                   "probability", "layers", "raw", "rollout", "rollout_generated", "sink_share", "flow", "flow_gap",
                   "flow_degenerate", "flow_tokens", "flow_layers", "dropped"}));
  const auto array = [&](const char* name) { return read_npz(folder / "a.npz", name); };
  EXPECT_EQ(array("prompt_tokens").strings, (Names{"<s>", "The", " sun", ",", " is"}));
  EXPECT_EQ(array("generated_tokens").strings, (Names{" hot", ".", "</s>"}));
  EXPECT_EQ(array("prompt_special").dtype, DType::kBool);
  EXPECT_EQ(array("dropped").to_int64(""), (Tensor<std::int64_t>({5}, {1, 0, 0, 1, 0})));
  EXPECT_EQ(array("generated_ids").to_int64(""), (Tensor<std::int64_t>({3}, {11, 12, 2})));
  EXPECT_EQ(array("probability").to_double(""), (Tensor<double>({3}, {0.625, 0.25, 0.875})));
  EXPECT_EQ(array("layers").to_int64(""), (Tensor<std::int64_t>({2}, {1, 2})));
  EXPECT_EQ(array("rollout").to_double(""), report.rollout.prompt);  // [n, m, l]
  EXPECT_EQ(array("rollout_generated").shape, (Shape{3, 3, 2}));
  EXPECT_EQ(array("sink_share").to_double(""), report.sink_share);
  EXPECT_EQ(array("flow").shape, (Shape{1, 5, 1}));
  EXPECT_EQ(array("flow_degenerate").dtype, DType::kU8);
  EXPECT_EQ(array("flow_tokens").to_int64(""), (Tensor<std::int64_t>({1}, {1})));
  write_generation_npz(folder / "b.npz", report);
  EXPECT_EQ(get(folder / "a.npz"), get(folder / "b.npz"));

  report.raw = report.flow = {};
  report.rollout.generated = {};
  report.rollout.normalized = report.rollout.prompt;
  EXPECT_EQ(names_of(generation_arrays(report)),
            (Names{"prompt_tokens", "generated_tokens", "prompt_special", "generated_special", "generated_ids",
                   "probability", "layers", "rollout", "rollout_normalized", "sink_share", "dropped"}));
}

TEST(GenerationArrays, SafetensorsKeepTextInTheMetadata) {
  const TempFolder folder;
  write_generation_safetensors(folder / "a.safetensors", small_generation());
  const SafetensorsFile file(folder / "a.safetensors");
  EXPECT_EQ(file.read("rollout").to_double(""), small_generation().rollout.prompt);
  EXPECT_EQ(nlohmann::json::parse(file.metadata().at("generated_tokens")), (Names{" hot", ".", "</s>"}));
  EXPECT_EQ(nlohmann::json::parse(file.metadata().at("prompt_tokens"))[2], " sun");
  write_generation_safetensors(folder / "b.safetensors", hostile_generation());
}

// ---- csv --------------------------------------------------------------------------------------------------------

TEST(GenerationCsv, OneRowForEachTokenLayerAndPromptToken) {
  const GenerationReport report = small_generation();
  const TempFolder folder;
  write_generation_csv(folder / "a.csv", report);
  const Rows rows = parse_csv(get(folder / "a.csv"));
  ASSERT_EQ(rows.size(), 1U + 3 * 2 * 5);
  EXPECT_EQ(rows[0], (Names{"token", "token_text", "layer", "input_token", "input_text", "input_special", "dropped",
                            "raw", "rollout", "flow", "flow_gap", "flow_degenerate"}));
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t l = 0; l < 2; ++l) {
      for (std::size_t j = 0; j < 5; ++j) {
        const std::vector<std::string>& row = rows[1 + (t * 2 + l) * 5 + j];
        ASSERT_EQ(row.size(), 12U);
        EXPECT_EQ(row[0], std::to_string(t));
        EXPECT_EQ(row[1], generated_text(report, t));
        EXPECT_EQ(row[2], std::to_string(l + 1));
        EXPECT_EQ(row[3], std::to_string(j));
        EXPECT_EQ(row[4], prompt_text(report, j));
        EXPECT_EQ(row[5], j == 0 ? "1" : "0");
        EXPECT_EQ(row[6], j == 0 || j == 3 ? "1" : "0");
        EXPECT_EQ(std::stod(row[7]), report.raw.prompt(t, j, l));
        EXPECT_EQ(std::stod(row[8]), report.rollout.prompt(t, j, l));
        const bool flow = t == 1 && l == 1;
        EXPECT_EQ(row[9].empty(), !flow);
        if (flow) {
          EXPECT_EQ(std::stod(row[9]), report.flow.prompt(0, j, 0));
          EXPECT_EQ(row[11], j == 3 ? "2" : "0");
        }
      }
    }
  }
  GenerationReport normalized = report;
  normalized.rollout.normalized = normalized.rollout.prompt;
  write_generation_csv(folder / "b.csv", normalized);
  EXPECT_EQ(parse_csv(get(folder / "b.csv"))[0][9], "rollout_normalized");
}

// ---- tables -----------------------------------------------------------------------------------------------------

TEST(GenerationTable, SmallGeneration) {
  const std::string table = generation_terminal_table(small_generation(), {100, false, false});
  EXPECT_EQ(table,
            "tiny.gguf (llama, 2 layers, 3 heads), 5 prompt tokens, 3 generated\n"
            "What each generated token drew on in the prompt by rollout, mean over layers 1 to 2; \"prompt\": the\n"
            "  share that lies there, the rest lies on generated tokens.\n"
            "  token prob. prompt  drew most on\n"
            "0 hot     62%    75%  is 0.251, sun 0.150, The 0.101\n"
            "1 .       25%    80%  is 0.261, sun 0.161, The 0.111\n"
            "2 </s>    88%    85%  is 0.271, sun 0.170, The 0.121\n"
            "Left out of the rankings: punctuation (1), tokens 0, 3 (2); they hold 34% of what was drawn on the\n"
            "  prompt.\n"
            "Note: A note.\n");
}

TEST(GenerationTable, NoLineIsWiderThanAskedAndNothingMovesTheCursor) {
  for (const GenerationReport& report : {small_generation(), hostile_generation()}) {
    for (const std::size_t width : {40U, 60U, 80U, 132U}) {
      for (const bool ascii : {false, true}) {
        for (const std::string& line : lines_of(generation_terminal_table(report, {width, false, ascii}))) {
          EXPECT_LE(display_width(line), width) << line;
          EXPECT_EQ(line.find('\x1b'), std::string::npos);
        }
      }
    }
  }
}

TEST(GenerationTable, WithoutRolloutTheFirstMethodCounts) {
  GenerationReport report = small_generation();
  report.rollout = report.raw = {};
  const std::string table = generation_terminal_table(report);
  EXPECT_NE(table.find("by flow, layer 2."), std::string::npos);
  EXPECT_EQ(table.find("\n0 hot"), std::string::npos);  // flow was computed for token 1 only
  EXPECT_NE(table.find("\n1 .       25%  is"), std::string::npos) << table;
  report.flow = {};
  EXPECT_NE(generation_terminal_table(report).find("5 prompt tokens, 3 generated"), std::string::npos);
}

TEST(GenerationTable, Markdown) {
  const std::string table = generation_markdown_table(small_generation());
  EXPECT_NE(table.find("\n> The sun, is **hot.**\n"), std::string::npos) << table;
  EXPECT_NE(table.find("| | token | probability | on the prompt | most on |\n"), std::string::npos) << table;
  EXPECT_NE(table.find("| 1 | . | 0.250 | 0.802 | is 0.261, sun 0.161, The 0.111 |\n"), std::string::npos) << table;
  GenerationReport flow = small_generation();
  flow.rollout = flow.raw = {};
  EXPECT_NE(generation_markdown_table(flow).find("| 1 | . | 0.250 | is 0.065,"), std::string::npos)
      << generation_markdown_table(flow);
  for (const std::string& line : lines_of(generation_markdown_table(hostile_generation()))) {
    for (std::size_t at = line.find('<'); at != std::string::npos; at = line.find('<', at + 1)) {
      EXPECT_TRUE(at > 0 && line[at - 1] == '\\') << line;
    }
  }
}

}  // namespace
}  // namespace attnflow::generation_report_test
