#include "attnflow/report/report_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/report/compact_json.h"
#include "attnflow/report/csv_for_test.h"
#include "attnflow/report/report_arrays.h"
#include "attnflow/report/report_check.h"
#include "attnflow/report/report_csv.h"
#include "attnflow/report/report_for_test.h"
#include "attnflow/report/report_generation_for_test.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/report/report_table.h"

namespace attnflow::report_scores_test {
namespace {

using nlohmann::json;

Report scored_report() {
  Report report = test::small_report();
  report.settings.methods = {Method::kRaw, Method::kRollout, Method::kFlow, Method::kIntegratedGradients,
                             Method::kBlankOut};
  report.scores = {
      {.method = Method::kIntegratedGradients,
       .values = Tensor<double>({1, 4}, {0.125, -1.0 / 3.0, 2.5, 0.0}),
       .sums = {{.parts = {{"biases", -0.25}, {"feed-forward layer 1", 1e-3}}, .total = 2.0}}},
      {.method = Method::kBlankOut, .values = Tensor<double>({1, 4}, {0.0, -1.5, 4.25, -0.75}), .sums = {{}}}};
  report.check = ReportCheck{
      .quantity = "logit difference",
      .value = 3.2,
      .reliability = 0.81,
      .left_out = 1,
      .irreplaceable = {0, 3},
      .tokens = {{.token = 1, .drop = 5.2, .spread = 0.25, .replacements = {{"A", 0.5, -2.5}, {"This", 0.25, -1.0}}},
                 {.token = 2, .drop = 4.3, .spread = 0.5, .replacements = {{"dogs", 0.75, -1.1}}}},
      .maps = {{.method = Method::kRollout,
                .layer = 2,
                .rank_correlation = 0.7,
                .compared = 7,
                .first_token = 2,
                .decisive_token = 1},
               {.method = Method::kBlankOut, .compared = 7, .first_token = 2}}};
  return report;
}

void expect_scores(const Report& read, const Report& written, double tolerance) {
  ASSERT_EQ(read.scores.size(), written.scores.size());
  for (std::size_t s = 0; s < written.scores.size(); ++s) {
    const MethodScores& a = read.scores[s];
    const MethodScores& b = written.scores[s];
    EXPECT_EQ(a.method, b.method);
    ASSERT_EQ(a.values.shape(), b.values.shape());
    for (std::size_t j = 0; j < b.values.size(); ++j) {
      EXPECT_NEAR(a.values.data()[j], b.values.data()[j], tolerance * std::abs(b.values.data()[j]));
    }
    ASSERT_EQ(a.sums.size(), b.sums.size());
    for (std::size_t t = 0; t < b.sums.size(); ++t) {
      EXPECT_EQ(a.sums[t].total, b.sums[t].total);
      EXPECT_TRUE(std::ranges::equal(a.sums[t].parts, b.sums[t].parts, [](const auto& p, const auto& q) {
        return p.name == q.name && p.value == q.value;
      }));
    }
  }
  ASSERT_TRUE(read.check.has_value());
  const auto whole = [](const ReportCheck& a) {
    return std::tie(a.quantity, a.value, a.blank, a.reliability, a.left_out, a.irreplaceable);
  };
  EXPECT_EQ(whole(*read.check), whole(*written.check));
  const auto same_replacement = [](const TriedReplacement& a, const TriedReplacement& b) {
    return std::tie(a.text, a.fit, a.value) == std::tie(b.text, b.fit, b.value);
  };
  EXPECT_TRUE(std::ranges::equal(read.check->tokens, written.check->tokens, [&](const auto& a, const auto& b) {
    return std::tie(a.token, a.drop, a.spread) == std::tie(b.token, b.drop, b.spread) &&
           std::ranges::equal(a.replacements, b.replacements, same_replacement);
  }));
  const auto fields = [](const MapCheck& m) {
    return std::tie(m.method, m.layer, m.rank_correlation, m.compared, m.first_token, m.decisive_token,
                    m.unchecked_token);
  };
  EXPECT_TRUE(std::ranges::equal(read.check->maps, written.check->maps,
                                 [&](const auto& a, const auto& b) { return fields(a) == fields(b); }));
}

TEST(ReportScores, ErrorIsWhatIsMissing) {
  const Report report = scored_report();
  EXPECT_NEAR(report.scores[0].error(0), 2.0 - (0.125 - 1.0 / 3.0 + 2.5 - 0.25 + 1e-3), 1e-15);
  EXPECT_EQ(report.scores[1].error(0), 0.0);  // promises nothing
}

TEST(ReportScores, ComeBackFromJsonToTheBit) {
  Report report = scored_report();
  report.check->maps[0].unchecked_token = 3;
  const std::string text = report_to_json(report);
  const Report read = report_from_json(text);
  expect_scores(read, report, 0.0);
  EXPECT_EQ(report_to_json(read), text);
  EXPECT_EQ(read.raw, report.raw);
  EXPECT_EQ(methods_present(read), (std::vector<Method>{Method::kRaw, Method::kRollout, Method::kFlow}));
  EXPECT_NE(method_scores(read, Method::kBlankOut), nullptr);
  EXPECT_EQ(method_scores(read, Method::kAttnLrp), nullptr);
}

TEST(ReportScores, KeepTheirSignsInCompactDocumentsOfAnySize) {
  Report report = scored_report();
  expect_scores(report_from_json(compact_report_json(report)), report, 1e-7);
  CompactOptions small;
  small.bytes = small.exact_bytes = small.max_bytes = 1;
  expect_scores(report_from_json(compact_report_json(report, small)), report, 1e-7);
}

TEST(ReportScores, AreArraysOfFiles) {
  const std::vector<NamedArray> arrays = report_arrays(scored_report());
  const auto found = std::find_if(arrays.begin(), arrays.end(),
                                  [](const NamedArray& named) { return named.name == "integrated_gradients"; });
  ASSERT_NE(found, arrays.end());
  const Tensor<double> values = found->array.to_double("scores");
  EXPECT_EQ(values.shape(), (Shape{1, 4}));
  EXPECT_EQ(values(0, 2), 2.5);
  const auto check = [&](const char* name) {
    const auto one = std::find_if(arrays.begin(), arrays.end(), [&](const auto& named) { return named.name == name; });
    return one == arrays.end() ? Tensor<double>() : one->array.to_double(name);
  };
  const Tensor<double> drops = check("check");
  ASSERT_EQ(drops.shape(), (Shape{2}));
  EXPECT_EQ(drops(1), 4.3);
  EXPECT_EQ(check("check_spread")(0), 0.25);
  EXPECT_TRUE(std::ranges::any_of(arrays, [](const NamedArray& named) { return named.name == "check_tokens"; }));
}

TEST(ReportScores, AreCsvRowsOfNoLayer) {
  const Report report = scored_report();
  std::string text;
  report_to_csv(report, [&](std::string_view piece) { text += piece; });
  const test::Rows rows = test::parse_csv(text);
  ASSERT_EQ(rows.size(), 1U + 2 * 4 + 4);
  const std::size_t columns = rows[0].size();
  EXPECT_EQ(rows[0][columns - 4], "integrated_gradients");
  EXPECT_EQ(rows[0][columns - 3], "blank_out");
  for (const auto& row : rows) EXPECT_EQ(row.size(), columns);
  EXPECT_EQ(rows[1][columns - 3], "");
  const auto& row = rows[9 + 2];
  EXPECT_EQ(row[0], "");
  EXPECT_EQ(row[3], "2");
  EXPECT_EQ(row[4], "cats");
  EXPECT_EQ(row[6], "");  // raw
  EXPECT_EQ(row[columns - 4], "2.5");
  EXPECT_EQ(row[columns - 3], "4.25");
}

Report scored_generation() {
  Report report = test::small_generation();
  report.settings.methods.push_back(Method::kAttnLrp);
  MethodScores& scores = report.scores.emplace_back(MethodScores{.method = Method::kAttnLrp});
  scores.values = Tensor<double>({3, 5});
  scores.generated = Tensor<double>({3, 3});
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t j = 0; j < 5; ++j) {
      scores.values(t, j) = (j % 2 == 0 ? 0.5 : -0.25) * static_cast<double>(j + t);
    }
    for (std::size_t s = 0; s < t; ++s) scores.generated(t, s) = -2.0;
    scores.sums.push_back({.parts = {{"biases", 0.125}}, .total = static_cast<double>(t)});
  }
  return report;
}

TEST(ReportScores, OfAGenerationComeBackWithSumsAndEarlierTokens) {
  const Report report = scored_generation();
  // 1 + 0.125 less the row of values 0.5, -0.5, 1.5, -1, 2.5 and one generated token's -2.
  EXPECT_NEAR(report.scores[0].error(1), 1.0 - (3.0 - 2.0 + 0.125), 1e-15);
  const std::string text = report_to_json(report);
  const Report read = report_from_json(text);
  EXPECT_EQ(report_to_json(read), text);
  for (const Report& found : {read, report_from_json(compact_report_json(report))}) {
    ASSERT_EQ(found.scores.size(), 1U);
    EXPECT_EQ(found.scores[0].values, report.scores[0].values);
    EXPECT_EQ(found.scores[0].generated, report.scores[0].generated);
    ASSERT_EQ(found.scores[0].sums.size(), 3U);
    EXPECT_EQ(found.scores[0].sums[2].total, 2.0);
    EXPECT_EQ(found.scores[0].sums[2].parts.at(0).name, "biases");
  }
}

TEST(ReportScores, OfAGenerationAreCsvRowsAndATable) {
  const Report report = scored_generation();
  std::string text;
  report_to_csv(report, [&](std::string_view piece) { text += piece; });
  const test::Rows rows = test::parse_csv(text);
  ASSERT_EQ(rows.size(), 1U + 2 * 3 * 5 + 3 * 5);
  for (const auto& row : rows) EXPECT_EQ(row.size(), rows[0].size());
  const auto& row = rows[1 + 2 * 3 * 5 + 5 + 3];  // token 1, prompt token 3
  EXPECT_EQ(std::vector<std::string>(row.begin(), row.begin() + 7),
            (std::vector<std::string>{"", "1", ".", "3", ",", "0", "1"}));
  EXPECT_EQ(row.back(), "-1");
  EXPECT_EQ(rows[1].back(), "");
  const std::string table = terminal_table(report);
  test::expect_parts(
      table, {"against it), by\n  attnlrp.", " \u201cis\u201d 2.500, \u201csun\u201d 1.500, \u201cThe\u201d -0.500"});
}

TEST(ReportScores, CsvHasTheDropsOfTheExplainedToken) {
  const Report report = scored_report();
  std::string text;
  report_to_csv(report, [&](std::string_view piece) { text += piece; });
  const test::Rows rows = test::parse_csv(text);
  const auto last_two = [&](std::size_t row) {
    return std::vector<std::string>(rows.at(row).end() - 2, rows.at(row).end());
  };
  using Cells = std::vector<std::string>;
  EXPECT_EQ(last_two(0), (Cells{"drop", "drop_spread"}));
  const std::size_t scores = 1 + 2 * 4;  // after both layers of the output token
  ASSERT_EQ(rows.size(), scores + 4);
  for (const std::size_t first : {std::size_t{1}, std::size_t{1 + 4}, scores}) {
    EXPECT_EQ(last_two(first), (Cells{"", ""}));  // a special token is not checked
    EXPECT_EQ(last_two(first + 1), (Cells{"5.2", "0.25"}));
    EXPECT_EQ(last_two(first + 2), (Cells{"4.3", "0.5"}));
  }
  Report all = report;
  all.all_output_tokens = true;
  text.clear();
  report_to_csv(all, [&](std::string_view piece) { text += piece; });
  EXPECT_EQ(test::parse_csv(text).at(1 + 4 + 1).back(), "");  // of another output token

  Report generation = scored_generation();
  generation.generation->tokens[1].check = report.check;
  text.clear();
  report_to_csv(generation, [&](std::string_view piece) { text += piece; });
  const test::Rows generated = test::parse_csv(text);
  EXPECT_EQ(generated.at(1 + 1).back(), "");
  EXPECT_EQ(generated.at(1 + 5 + 1).back(), "0.25");
  EXPECT_EQ(generated.at(1 + 2 * 3 * 5 + 5 + 2).back(), "0.5");
}

TEST(ReportScores, ThatAreNamedAndNotHeldAreNotRanked) {
  for (const Report& whole : {scored_report(), scored_generation()}) {
    nlohmann::json document = nlohmann::json::parse(report_to_json(whole));
    for (const char* const array : {"integrated_gradients", "blank_out", "attnlrp"}) document["arrays"].erase(array);
    const Report report = report_from_json(document.dump());
    EXPECT_TRUE(report.scores.front().values.empty());
    EXPECT_TRUE(rank_input_tokens(report, report.scores.front().method, report.output_token, {}).empty());
    EXPECT_EQ(ranked_methods(report), methods_present(report));
    EXPECT_FALSE(terminal_table(report).empty());
  }
}

TEST(ReportScores, OfAGenerationNeedOneSumAToken) {
  json document = json::parse(report_to_json(scored_generation()));
  document["scores"][0]["sums"].erase(2);
  EXPECT_THROW(report_from_json(document.dump()), Error);
}

TEST(ReportScores, DocumentsThatAreNoneAreRefused) {
  const auto refused = [](auto change) {
    json document = json::parse(report_to_json(scored_report()));
    change(document);
    EXPECT_THROW(report_from_json(document.dump()), Error);
  };
  refused([](json& d) { d["scores"][0]["method"] = "rollout"; });
  refused([](json& d) { d["scores"][0]["method"] = "magic"; });
  refused([](json& d) { d["scores"][1]["method"] = "integrated-gradients"; });
  refused([](json& d) { d["scores"][0]["parts"][0].erase("value"); });
  refused([](json& d) { d["arrays"]["blank_out"]["shape"] = {2, 2}; });
  refused([](json& d) { d["check"]["maps"][0]["first_token"] = 4; });
  refused([](json& d) { d["check"]["maps"][0]["layer"] = 3; });
  refused([](json& d) { d["check"]["tokens"][0]["token"] = 4; });
  refused([](json& d) { d["check"]["tokens"][1]["token"] = 1; });
  refused([](json& d) { d["check"].erase("value"); });
}

// Before tokens were replaced by others, reports had two values of each map.
TEST(ReportScores, ReadsTheMapsOfReportsThatBlanked) {
  json document = json::parse(report_to_json(scored_report()));
  document.erase("check");
  document["agreement"] = {{"quantity", "logit difference"},
                           {"value", 3.2},
                           {"blank", "[UNK]"},
                           {"maps",
                            {{{"method", "rollout"},
                              {"layer", 2},
                              {"rank_correlation", 0.7},
                              {"first_token", 2},
                              {"blanked_value", -1.0},
                              {"decisive_token", 1},
                              {"decisive_value", -2.0}}}}};
  const Report read = report_from_json(document.dump());
  ASSERT_TRUE(read.check);
  EXPECT_EQ(read.check->blank, "[UNK]");
  ASSERT_EQ(read.check->tokens.size(), 2U);
  EXPECT_NEAR(read.check->find(1)->drop, 5.2, 1e-12);
  EXPECT_NEAR(read.check->find(2)->drop, 4.2, 1e-12);
  EXPECT_EQ(read.check->find(3), nullptr);
  ASSERT_EQ(read.check->maps.size(), 1U);
  EXPECT_EQ(read.check->maps[0].first_token, 2U);
  EXPECT_EQ(internal::check_words(read).rows[0].top, "right");
}

TEST(Scores, ADocumentHasTheWordsOfEachMap) {
  Report report = scored_report();
  report.target = ReportTarget{.kind = "class", .label = "positive", .index = 1, .logit = 3.2};
  MapCheck& map = report.check->maps.front();
  CheckedToken& first = report.check->tokens[1];
  const auto said = [&](const char* field) {
    return json::parse(report_to_json(report)).at("check").at("maps").at(0).at(field).get<std::string>();
  };
  EXPECT_EQ(said("level"), "strong");
  EXPECT_EQ(said("effect"),
            "The top-ranked token is right: without \u201ccats\u201d, the logit difference falls from 3.20 to "
            "\u22121.10 \u00b1 0.5; without \u201cThe\u201d, it falls to \u22122.00 \u00b1 0.25.");
  EXPECT_EQ(said("order"), "The order of the tokens agrees with the check (rank correlation 0.70).");
  // The check allows a correlation of 0.9: 0.5 of it is 0.45.
  map.rank_correlation = 0.53;
  EXPECT_EQ(said("order"), "The order of the tokens partly agrees with the check (rank correlation 0.53).");
  EXPECT_EQ(said("level"), "weak");
  EXPECT_EQ(said("top_level"), "strong");
  EXPECT_EQ(said("order_level"), "weak");
  map.rank_correlation = 0.55;
  EXPECT_EQ(said("level"), "strong");
  map.rank_correlation = 0.2;
  EXPECT_EQ(said("order"), "Don\u2019t rely on the order of the other tokens (rank correlation with the check 0.20).");
  map.rank_correlation = -0.4;
  EXPECT_EQ(said("order"),
            "The order of the tokens is nearly the opposite of the check\u2019s (rank correlation \u22120.40).");
  map.compared = 5;
  EXPECT_EQ(said("order"), "The order is not judged: 5 tokens are too few.");
  EXPECT_EQ(said("order_level"), "unknown");
  EXPECT_EQ(said("level"), "strong");
  map.compared = 7;
  report.check->reliability = 0.2;
  EXPECT_EQ(said("order"), "The order is not judged: the check does not agree with itself here (reliability 0.20).");
  map.rank_correlation.reset();
  EXPECT_EQ(said("order"), "How the order compares with the check is not known.");

  first.drop = 2.1;  // not half of 5.2, but perhaps within the spreads
  EXPECT_EQ(said("level"), "weak");
  EXPECT_EQ(said("effect"),
            "The top-ranked token may be right: without \u201ccats\u201d, the logit difference falls from 3.20 to 1.10 "
            "\u00b1 0.5; without \u201cThe\u201d, it falls to \u22122.00 \u00b1 0.25.");
  first.drop = 0.001;  // too little for the digits of the value
  report.check->tokens[0].drop = 0.001;
  report.check->tokens[0].spread = first.spread = 0.0001;
  EXPECT_TRUE(
      said("effect").starts_with("The top-ranked token is right: without \u201ccats\u201d, the logit difference "
                                 "falls from 3.20 by 0.00100 \u00b1 0.0001"))
      << said("effect");
  report.check->tokens[0].drop = 5.2;
  report.check->tokens[0].spread = 0.25;
  first.spread = 0.5;
  first.drop = -0.3;
  EXPECT_EQ(said("level"), "none");
  EXPECT_EQ(
      said("effect"),
      "Another token decides: without \u201cThe\u201d, the logit difference falls from 3.20 to \u22122.00 \u00b1 0.25; "
      "without \u201ccats\u201d, which this map ranks first, it rises to 3.50 \u00b1 0.5.");
  report.check->tokens[0].drop = 0.1;  // within its spread
  EXPECT_EQ(said("level"), "unknown");
  EXPECT_EQ(said("effect"),
            "No single token decides: the logit difference (3.20) does not clearly fall without any of them.");
  EXPECT_EQ(json::parse(report_to_json(report)).at("target").at("title"), "class \u201cpositive\u201d");
}

TEST(Scores, TheCheckIsATable) {
  Report report = scored_report();
  report.check->maps.pop_back();
  report.notes = {Note("Another.")};
  test::expect_parts(
      terminal_table(report),
      {"\nWithout each token, the logit difference (3.20) falls by: \u201cThe\u201d 5.20, \u201ccats\u201d\n"
       "  4.30.\n",
       "\nCheck: 2 of 5 tokens were replaced by 1 to 2 others; nothing fits in place of 2\n  of the others.\n"
       "                     ranks first  without it  top token  order\n"
       "rollout, layers 1-2  cats         falls 4.30  right      agrees (0.70)\n"
       "A map\u2019s top token is right if the logit difference falls at least half as far\n"
       "  without it as without any other; otherwise the token that decides is named.\n"
       "  The order agrees with the check from a rank correlation of 0.54, and partly\n"
       "  from 0.27 (the check\u2019s own reliability, 0.81, allows at most 0.90)",
       "\nNote: Another.\n"});

  const std::string markdown = markdown_table(report);
  test::expect_parts(
      markdown,
      {"\n## Check: 2 of 5 tokens were replaced by 1 to 2 others; nothing fits in place of 2 of the others.\n\n| "
       "map | ranks first | without it | top token | order |\n"
       "| --- | --- | --- | --- | --- |\n"
       "| rollout, layers 1-2 | cats | falls by 4.30 | right | agrees (0.70) |\n\nA map\u2019s top token "});

  report.input.text = "The incomprehensibilities";
  report.input.tokens[2].end = 25;
  test::expect_parts(terminal_table(report), {"rollout, layers 1-2  incomprehensibilities  falls 4.30  right"});
  test::expect_parts(terminal_table(report, {.width = 70}),
                     {"rollout, layers 1-2  incomprehe\u2026  falls 4.30  right"});
  test::expect_parts(terminal_table(report, {.width = 50}), {"ranks first"});
  report.check->quantity = "logit\x1b]0;x\x07";  // from an untrusted document
  test::expect_no_parts(terminal_table(report), {"\x1b]"});

  const auto key_has = [&](const char* words) {
    const std::string key = internal::check_words(report).key;
    EXPECT_NE(key.find(words), std::string::npos) << key;
  };
  report.check->reliability = 0.2;
  key_has("The order is not judged, because the check\u2019s own reliability is 0.20, below 0.3.");
  report.check->reliability.reset();
  key_has("The order agrees with the check from a rank correlation of 0.60, and partly from 0.30.");
  report.check->maps.front().compared = 5;
  key_has("named. The order is not judged with fewer than 6 tokens.");
  report.check->tokens[1].drop = -0.3;
  EXPECT_EQ(internal::sentence_of(internal::check_words(report).rows[0]),
            "By rollout, layers 1-2, \u201cincomprehensibilities\u201d ranks first (without it: rises by 0.300; "
            "\u201cThe\u201d decides); order: too few to judge.");

  report.check.reset();
  EXPECT_TRUE(internal::check_words(report).rows.empty());
}

}  // namespace
}  // namespace attnflow::report_scores_test
