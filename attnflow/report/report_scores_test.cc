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
  report.check = {.quantity = "logit difference",
                  .value = 3.2,
                  .blank = "[UNK]",
                  .maps = {{.method = Method::kRollout,
                            .layer = 2,
                            .rank_correlation = 0.7,
                            .first_token = 2,
                            .blanked_value = -1.1,
                            .decisive_token = 1,
                            .decisive_value = -2.0},
                           {.method = Method::kBlankOut, .first_token = 2, .blanked_value = -1.05}}};
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
  const auto whole = [](const ReportCheck& a) { return std::tie(a.quantity, a.value, a.blank); };
  EXPECT_EQ(whole(*read.check), whole(*written.check));
  ASSERT_EQ(read.check->maps.size(), written.check->maps.size());
  const auto fields = [](const MapCheck& m) {
    return std::tie(m.method, m.layer, m.rank_correlation, m.first_token, m.blanked_value, m.decisive_token,
                    m.decisive_value);
  };
  for (std::size_t m = 0; m < written.check->maps.size(); ++m) {
    EXPECT_EQ(fields(read.check->maps[m]), fields(written.check->maps[m]));
  }
}

TEST(ReportScores, ErrorIsWhatIsMissing) {
  const Report report = scored_report();
  EXPECT_NEAR(report.scores[0].error(0), 2.0 - (0.125 - 1.0 / 3.0 + 2.5 - 0.25 + 1e-3), 1e-15);
  EXPECT_EQ(report.scores[1].error(0), 0.0);  // promises nothing
}

TEST(ReportScores, ComeBackFromJsonToTheBit) {
  const Report report = scored_report();
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
}

TEST(ReportScores, AreCsvRowsOfNoLayer) {
  const Report report = scored_report();
  std::string text;
  report_to_csv(report, [&](std::string_view piece) { text += piece; });
  const test::Rows rows = test::parse_csv(text);
  ASSERT_EQ(rows.size(), 1U + 2 * 4 + 4);
  const std::size_t columns = rows[0].size();
  EXPECT_EQ(rows[0][columns - 2], "integrated_gradients");
  EXPECT_EQ(rows[0].back(), "blank_out");
  for (const auto& row : rows) EXPECT_EQ(row.size(), columns);
  EXPECT_EQ(rows[1].back(), "");
  const auto& row = rows[9 + 2];
  EXPECT_EQ(row[0], "");
  EXPECT_EQ(row[3], "2");
  EXPECT_EQ(row[4], "cats");
  EXPECT_EQ(row[6], "");  // raw
  EXPECT_EQ(row[columns - 2], "2.5");
  EXPECT_EQ(row.back(), "4.25");
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
  test::expect_parts(table, {"against it), by\n  attnlrp.", " is 2.500, sun 1.500, The -0.500"});
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
  refused([](json& d) { d["agreement"]["maps"][0]["first_token"] = 4; });
  refused([](json& d) { d["agreement"]["maps"][0]["layer"] = 3; });
  refused([](json& d) { d["agreement"].erase("value"); });
}

TEST(Scores, ADocumentHasTheWordsOfEachMap) {
  Report report = scored_report();
  report.target = ReportTarget{.kind = "class", .label = "positive", .index = 1, .logit = 3.2};
  const auto words = [&](std::optional<double> rank_correlation, double blanked,
                         std::optional<std::size_t> decisive = {}, double least = 0.0) {
    MapCheck& map = report.check->maps.front();
    map.rank_correlation = rank_correlation;
    map.blanked_value = blanked;
    map.decisive_token = decisive;
    map.decisive_value = least;
    const json said = json::parse(report_to_json(report)).at("agreement").at("maps").at(0);
    return std::vector<std::string>{said.at("level"), said.at("effect"), said.at("order")};
  };
  using Words = std::vector<std::string>;
  const std::string top = "blanking its top token, \u201ccats\u201d, ";
  const std::string order = "Agreement of the whole order with blank-out: ";
  EXPECT_EQ(
      words(0.82, -1.3),
      (Words{"strong",
             "Blanking agrees: " + top + "flips the prediction: it takes the logit difference from 3.20 to \u22121.30.",
             order + "strong (0.82)."}));
  EXPECT_EQ(words(0.1, 3.204),
            (Words{"none", "Don\u2019t rely on this order: " + top + "leaves the logit difference at 3.20.",
                   order + "none (0.10)."}));
  // One step lower if another token decides; the order is unchanged.
  EXPECT_EQ(words(0.7, 3.0, 1, -1.3),
            (Words{"weak",
                   "Blanking agrees in part: " + top +
                       "takes the logit difference from 3.20 to 3.00; blanking \u201cThe\u201d "
                       "takes it to \u22121.30.",
                   order + "strong (0.70)."}));
  EXPECT_EQ(words(-0.4, 3.0)[2], order + "opposite (\u22120.40).");
  EXPECT_EQ(
      words({}, 3.0),
      (Words{"unknown", "Only its top token was checked: " + top + "takes the logit difference from 3.20 to 3.00.",
             "How the whole order compares with blank-out is not known."}));
  EXPECT_EQ(json::parse(report_to_json(report)).at("target").at("title"), "class \u201cpositive\u201d");
}

TEST(Scores, AgreementIsATableBesideWhichItsNotesAreNotRepeated) {
  Report report = scored_report();
  report.check->maps.pop_back();
  report.notes = {Note(NoteCode::kReportCheck, {{"method", "rollout"},
                                                {"token", "cats"},
                                                {"quantity", "logit difference"},
                                                {"before", 3.2},
                                                {"after", -1.1}}),
                  Note("Another.")};
  const std::string table = terminal_table(report);
  test::expect_parts(table, {"\nWe removed each token in turn (not special tokens) and ran the model again. The\n"
                             "  logit difference is 3.20; without 'The' it falls furthest, to -2.00.\n"
                             "                     ranks first  without  rank corr.  verdict\n"
                             "rollout, layers 1-2  cats           -1.10        0.70  agrees\n"
                             "verdict: \"agrees\" from a rank correlation with blank-out of 0.6, \"agrees in\n"
                             "  part\" from 0.3; one step lower where another token matters much more than the\n"
                             "  one ranked first\n"
                             "\nNote: Another.\n"});
  test::expect_no_parts(table, {"Note: Blanking"});

  const std::string markdown = markdown_table(report);
  test::expect_parts(markdown, {"\n| map | ranks first | logit difference without it | rank correlation | verdict |\n"
                                "| --- | --- | ---: | ---: | --- |\n"
                                "| rollout, layers 1-2 | cats | -1.10 | 0.70 | agrees |\n\nverdict: "});

  const std::vector<std::string> paragraphs = internal::note_paragraphs(report);
  ASSERT_EQ(paragraphs.size(), 2U);
  EXPECT_TRUE(
      paragraphs[0].ends_with("By rollout, layers 1-2, 'cats' ranks first (without it: -1.10); the rank correlation "
                              "with blank-out is 0.70 (agrees)."));
  EXPECT_EQ(paragraphs[1], "Another.");

  report.input.text = "The incomprehensibilities";
  report.input.tokens[2].end = 25;
  report.check->maps.push_back(report.check->maps.front());
  report.check->maps.back().method = Method::kIntegratedGradients;
  report.check->maps.back().layer.reset();
  report.check->maps.back().rank_correlation = 0.1;
  test::expect_parts(terminal_table(report),
                     {"\nintegrated-gradients  incomprehe\u2026    -1.10        0.10  don't rely on this order\n"});
  test::expect_parts(terminal_table(report, {.width = 60}), {"rank correlation with"});
  report.check->maps.pop_back();
  report.input.text = "The cats";
  report.input.tokens[2].end = 8;

  MapCheck& map = report.check->maps.front();
  const auto verdict = [&](double rank_correlation, double decisive_value) {
    map.rank_correlation = rank_correlation;
    map.decisive_value = decisive_value;
    return internal::check_words(report).rows.front().verdict;
  };
  EXPECT_EQ(verdict(0.6, -1.1), "agrees");
  EXPECT_EQ(verdict(0.6, -5.4), "agrees");  // half of the fall
  EXPECT_EQ(verdict(0.6, -5.5), "agrees in part");
  EXPECT_EQ(verdict(0.59, -1.1), "agrees in part");
  EXPECT_EQ(verdict(0.3, -9.0), "don't rely on this order");
  EXPECT_EQ(verdict(0.29, -1.1), "don't rely on this order");
  report.check->quantity = "logit\x1b]0;x\x07";  // from an untrusted document
  test::expect_no_parts(terminal_table(report), {"\x1b]"});
  report.check->quantity = "logit difference";
  map.rank_correlation.reset();
  map.decisive_value = 3.2;  // nothing lowers it
  const internal::CheckWords words = internal::check_words(report);
  EXPECT_TRUE(words.summary.ends_with("The logit difference is 3.20."));
  EXPECT_EQ(words.rows.front().rank_correlation, "none");
  EXPECT_EQ(words.rows.front().verdict, "");

  report.check.reset();  // a document that says it in notes alone
  EXPECT_TRUE(internal::check_words(report).rows.empty());
  test::expect_parts(terminal_table(report), {"Note: Blanking"});
  EXPECT_EQ(internal::note_paragraphs(report).size(), 2U);
}

}  // namespace
}  // namespace attnflow::report_scores_test
