#include "attnflow/report/report_answer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnflow/base/text_for_test.h"
#include "attnflow/report/compact_json.h"
#include "attnflow/report/report_check.h"
#include "attnflow/report/report_for_test.h"
#include "attnflow/report/report_generation_for_test.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/report/report_table.h"

namespace attnflow::report_answer_test {
namespace {

using test::small_report;

std::string headline(const Report& report) { return report_answer(report).headline; }

ReportAgainst several(const std::vector<std::string>& labels) {
  ReportAgainst against;
  for (const std::string& label : labels) against.others.push_back({.label = label, .index = 1, .logit = 0.0});
  return against;
}

// A prediction of the word that follows, at the output token.
Report next_report() {
  Report report = small_report();
  report.output_token = 2;
  report.predictions = {{"next", 2, {{"Angie", 0.634}, {"the", 0.1}, {"her", 0.05}, {"a", 0.01}, {"an", 0.004}}, {}}};
  report.target = ReportTarget{.kind = "next", .label = "Angie", .index = 7, .logit = 3.0, .position = 2};
  return report;
}

// Rollout and flow were checked.
Report checked_report() {
  Report report = next_report();
  report.settings.mixing = Mixing::kRelevance;
  report.check = ReportCheck{.quantity = "logit difference",
                             .value = 3.2,
                             .tokens = {{.token = 1, .drop = -0.25}, {.token = 2, .drop = 4.3, .spread = 0.5}},
                             .maps = {{.method = Method::kRollout,
                                       .layer = 2,
                                       .rank_correlation = 0.7,
                                       .compared = 7,
                                       .first_token = 1,
                                       .decisive_token = 2},
                                      {.method = Method::kFlow,
                                       .layer = 2,
                                       .rank_correlation = 0.2,
                                       .compared = 7,
                                       .first_token = 2,
                                       .decisive_token = 2}}};
  return report;
}

TEST(Headline, NamesTheContrastOfAWord) {
  Report report = next_report();
  const std::string angie = "\u201cAngie\u201d, 63%";
  EXPECT_EQ(headline(report), angie);
  report.target->against = several({"the", "her", "a", "b", "c", "d", "e", "f", "g", "h"});
  EXPECT_EQ(headline(report), angie + ", rather than \u201cthe\u201d, \u201cher\u201d, \u201ca\u201d and 7 others");
  report.target->against = several({"the", "her", "a", "b"});
  EXPECT_EQ(headline(report),
            angie + ", rather than \u201cthe\u201d, \u201cher\u201d, \u201ca\u201d and \u201cb\u201d");
  report.target->against = ReportAgainst{.label = "the", .index = 3};
  EXPECT_EQ(headline(report), angie + ", rather than \u201cthe\u201d");
  report.target->against = ReportAgainst{};
  EXPECT_EQ(headline(report).substr(angie.size(), 14), ", rather than ");
  report.target->label = "Yvette";  // asked for, and not among the choices
  report.target->against.reset();
  EXPECT_EQ(headline(report), "\u201cYvette\u201d");
  report.predictions[0].candidates = {{"Yvette", 0.0004}};
  EXPECT_EQ(headline(report), "\u201cYvette\u201d, 0.04%");
  report.target.reset();  // a map of attention
  EXPECT_EQ(headline(report), angie + ", rather than \u201cthe\u201d, \u201cher\u201d, \u201ca\u201d and others");
  report.output_token = 1;  // nothing is predicted there
  EXPECT_EQ(headline(report), "Output token 1, \u201cThe\u201d");
  EXPECT_FALSE(answers_prediction(report));
}

TEST(Headline, HasAFormForEveryKindOfPrediction) {
  Report report = small_report();
  EXPECT_EQ(headline(report), "Output token 0, \u201c[CLS]\u201d");
  report.input.tokens[0].text.clear();
  EXPECT_EQ(headline(report), "Output token 0");

  report.predictions = {{"classification", {}, {{"positive", 0.982}, {"negative", 0.018}}, {}}};
  EXPECT_EQ(headline(report), "positive, 98%, rather than negative");
  report.predictions[0].choices = {{"tabby, tabby cat", 0.9996}, {"dog", 0.0002}, {"fox", 0.0001}};
  EXPECT_EQ(headline(report), "\u201ctabby, tabby cat\u201d, over 99.9%, rather than dog and fox");
  report.settings.top_k = 3;  // there may be others
  EXPECT_EQ(headline(report), "\u201ctabby, tabby cat\u201d, over 99.9%, rather than dog, fox and others");

  report.predictions = {{"token-class", 2, {{"PER", 0.991}, {"O", 0.005}, {"LOC", 0.004}, {"ORG", 0.0}}, {}}};
  report.output_token = 2;
  EXPECT_EQ(headline(report), "\u201ccats\u201d: PER, 99.1%, rather than O, LOC and ORG");
  report.target = ReportTarget{.kind = "class", .label = "LOC", .index = 2, .logit = 1.0, .position = 2};
  report.target->against.emplace();
  EXPECT_EQ(headline(report), "\u201ccats\u201d: LOC, 0.4%, rather than PER, O and ORG");

  report.target.reset();
  report.predictions = {{"masked", 2, {{"his", 0.5}, {"her", 0.4}}, {}}};
  EXPECT_EQ(headline(report), "\u201chis\u201d, 50%, rather than \u201cher\u201d and others");

  report.predictions = {{"answer", 2, {{"in Paris", 0.71}, {"Paris", 0.2}}, {}}};
  report.target = ReportTarget{.kind = "answer", .label = "in", .index = 2, .logit = 1.0};
  report.target->against.emplace();
  EXPECT_EQ(headline(report), "Answer: \u201cin Paris\u201d, 71%, rather than other answers");
  report.target->index = 1;
  EXPECT_EQ(headline(report), "An answer that begins with \u201cin\u201d, rather than all others");

  report.target.reset();
  report.predictions = {{"embedding", {}, {}, {}}};
  EXPECT_EQ(headline(report), "The embedding of the text");
  report.predictions.clear();
  report.input.tokens[2] = {"3,4", {}, {}, false, {}, 0, false, "patch"};
  EXPECT_EQ(headline(report), "The patch in row 4, column 5");
}

TEST(Headline, IsOneSafeLineInAnyScript) {
  Report report = next_report();
  report.target->label = "a\nb\x1b[31m";
  EXPECT_EQ(headline(report), "\u201ca\u240Ab\u241B[31m\u201d");
  report.target->label = "\u0645\u0631\u062D\u0628\u0627";
  EXPECT_EQ(headline(report), "\u201c\u0645\u0631\u062D\u0628\u0627\u201d");
  report.target->label = "\U0001F468\u200D\U0001F469\u200D\U0001F467";
  EXPECT_EQ(headline(report), "\u201c\U0001F468\u200D\U0001F469\u200D\U0001F467\u201d");
  report.target->label = std::string(300, 'x');
  EXPECT_EQ(headline(report), "\u201c" + std::string(47, 'x') + "\u2026\u201d");
}

TEST(Headline, OfAGenerationIsAboutTheChosenToken) {
  Report report = test::small_generation();
  EXPECT_EQ(headline(report), "\u201chot\u201d, 62%, rather than \u201c a\u201d and others");
  report.output_token = 5;
  report.generation->tokens[1].target = ReportTarget{.kind = "next", .label = ".", .index = 12, .logit = 1.0};
  report.generation->tokens[1].target->against = several({"!", "?"});
  EXPECT_EQ(headline(report), "\u201c.\u201d, 25%, rather than \u201c!\u201d and \u201c?\u201d");
  EXPECT_EQ(answer_check(report), nullptr);
  report.generation->tokens[1].check.emplace();
  EXPECT_EQ(answer_check(report), &*report.generation->tokens[1].check);
}

TEST(BestMap, IsTheOneThatTheCheckAgreesWith) {
  Report report = checked_report();
  ASSERT_TRUE(report.check);
  std::vector<MapCheck>& maps = report.check->maps;
  EXPECT_EQ(best_map(report), Method::kFlow);  // its top token is right
  maps[0].first_token = 2;
  EXPECT_EQ(best_map(report), Method::kRollout);  // so is that of rollout, and its order
  maps[0].rank_correlation = maps[1].rank_correlation;
  EXPECT_EQ(best_map(report), Method::kFlow);  // leads over relevance
  report.settings.mixing = Mixing::kAttention;
  EXPECT_EQ(best_map(report), Method::kRollout);
  report.check.reset();
  EXPECT_EQ(best_map(report), Method::kRollout);
  report.raw = report.rollout = report.flow = {};
  EXPECT_EQ(best_map(report), std::nullopt);
  EXPECT_EQ(report_answer(report).map, "");
}

TEST(BestMap, IsNamedWithItsLayersUnlessItSpansTheModel) {
  Report report = small_report();
  EXPECT_EQ(map_title(report, Method::kFlow), "flow over attention");
  EXPECT_EQ(map_title(report, Method::kRaw), "raw attention, layer 2");
  EXPECT_EQ(map_title(report, Method::kBlankOut), "blank-out");
  report.settings.start_layer = 1;
  EXPECT_EQ(map_title(report, Method::kRollout), "rollout over attention, layer 2");
  report.settings.start_layer = 0;
  report.model.layers = 3;
  EXPECT_EQ(map_title(report, Method::kRollout), "rollout over attention, layers 1-2");
}

TEST(Answer, HasTwoVerdictsOnTheBestMap) {
  Report report = checked_report();
  const ReportAnswer answer = report_answer(report);
  EXPECT_EQ(answer.map, "flow over relevance");
  ASSERT_EQ(answer.verdicts.size(), 2U);
  EXPECT_EQ(answer.verdicts[0].question, "top");
  EXPECT_EQ(answer.verdicts[0].level, "strong");
  EXPECT_EQ(
      answer.verdicts[0].text,
      "The top-ranked token is right: without \u201ccats\u201d, the logit difference falls from 3.20 to \u22121.10 "
      "\u00b1 0.5.");
  EXPECT_EQ(answer.verdicts[1].question, "order");
  EXPECT_EQ(answer.verdicts[1].level, "none");
  report.check->maps[1].compared = 3;
  EXPECT_EQ(report_answer(report).verdicts[1].level, "unknown");
  report.check->maps[1].compared = 7;
  report.check->maps[1].rank_correlation = 0.4;
  EXPECT_EQ(report_answer(report).verdicts[1].level, "weak");
}

TEST(Answer, IsInDocumentsAndReadAgain) {
  Report report = checked_report();
  report.attention_rollout = Tensor<double>({1, 4}, {0.5, 0.25, 0.125, 0.125});
  const ReportAnswer answer = report_answer(report);
  for (const std::string& text : {report_to_json(report), compact_report_json(report, {.exact_bytes = 0})}) {
    const nlohmann::json document = nlohmann::json::parse(text);
    EXPECT_EQ(document.at("answer").at("headline"), answer.headline);
    EXPECT_EQ(document.at("answer").at("method"), "flow");
    EXPECT_EQ(document.at("answer").at("map"), "flow over relevance");
    ASSERT_EQ(document.at("answer").at("verdicts").size(), 2U);
    for (std::size_t v = 0; v < 2; ++v) {
      const nlohmann::json& verdict = document.at("answer").at("verdicts").at(v);
      EXPECT_EQ(verdict.at("question"), answer.verdicts[v].question);
      EXPECT_EQ(verdict.at("level"), answer.verdicts[v].level);
      EXPECT_EQ(verdict.at("text"), answer.verdicts[v].text);
    }
    const Report read = report_from_json(text);
    EXPECT_EQ(report_answer(read).headline, answer.headline);
    EXPECT_EQ(read.attention_rollout, report.attention_rollout);
  }
  test::expect_field_refused(report, "/arrays/attention_rollout/shape", {4}, "attention_rollout");
}

TEST(Answer, SharesOfFeedForwardNetsAreInDocumentsAndReadAgain) {
  Report report = checked_report();
  EXPECT_TRUE(report_from_json(report_to_json(report)).feed_forward.empty());
  report.feed_forward = Tensor<double>({2, 4}, {0.0, 0.25, 0.5, 1.0, 0.125, 0.0, 0.75, 0.9});
  EXPECT_EQ(report_from_json(report_to_json(report)).feed_forward, report.feed_forward);
  const Report compact = report_from_json(compact_report_json(report, {.exact_bytes = 0}));
  ASSERT_EQ(compact.feed_forward.shape(), report.feed_forward.shape());
  for (std::size_t k = 0; k < report.feed_forward.size(); ++k) {
    EXPECT_NEAR(compact.feed_forward.data()[k], report.feed_forward.data()[k], 0.02) << k;
  }
  test::expect_field_refused(report, "/arrays/feed_forward/shape", {4, 2}, "feed_forward");
}

TEST(Answer, OpensTablesWithoutBeingRepeatedInTheirNotes) {
  Report report = checked_report();
  report.notes = {Note("Another.")};
  const std::string lead =
      "\u201cAngie\u201d, 63%\n"
      "\n"
      "flow over relevance: \u201ccats\u201d 0.33, \u201cThe\u201d 0.305\n"
      "Without each token, the logit difference (3.20) falls by: \u201ccats\u201d 4.30; it rises\n"
      "  by: \u201cThe\u201d 0.250.\n"
      "The top-ranked token is right: without \u201ccats\u201d, the logit difference falls from\n"
      "  3.20 to \u22121.10 \u00b1 0.5.\n"
      "Don\u2019t rely on the order of the other tokens (rank correlation with the check\n"
      "  0.20).\n"
      "\n"
      "tiny (bert, ";
  const std::string table = terminal_table(report);
  EXPECT_EQ(table.substr(0, lead.size()), lead);
  EXPECT_EQ(table.find("falls by 4.30", lead.size()), std::string::npos);

  report.attention_rollout = Tensor<double>({1, 4}, {0.5, 0.25, 0.125, 0.125});
  test::expect_parts(terminal_table(report),
                     {"0.20).\n\nrollout over attention: \u201cThe\u201d 0.25, \u201ccats\u201d 0.125\n\ntiny"});
  test::expect_parts(markdown_table(report),
                     {"# \u201cAngie\u201d, 63%\n\n> The cats\n\nflow over relevance: \u201ccats\u201d 0.33",
                      "\n\nThe top-ranked token is right: ", "\n\nrollout over attention: "});
  const std::vector<std::string> paragraphs = note_paragraphs(report);
  ASSERT_EQ(paragraphs.size(), 2U);
  EXPECT_TRUE(paragraphs[0].starts_with(
      "Check: each token was blanked. By flow over relevance: The top-ranked token is right: "));
}

TEST(Answer, AMapWhoseSinkHoldsNearlyAllIsNotJudged) {
  Report report = checked_report();
  report.model.causal = true;
  report.settings.mixing = Mixing::kAttention;
  const std::size_t row = *row_index(report.output_tokens, report.output_token);
  for (const double rest : {0.0004, 0.2}) {
    for (std::size_t j = 0; j < 4; ++j) report.rollout(1, row, j) = j == 0 ? 1.0 - 3.0 * rest : rest;
    report.check->maps = {
        {.method = Method::kRollout, .layer = 2, .compared = 7, .first_token = 2, .decisive_token = 2}};
    const ReportAnswer answer = report_answer(report, Method::kRollout);
    if (rest > 0.1) {
      EXPECT_EQ(answer.verdicts.at(0).level, "strong");
      continue;
    }
    ASSERT_EQ(answer.verdicts.size(), 1U);
    EXPECT_EQ(answer.verdicts[0].level, "unknown");
    EXPECT_EQ(
        answer.verdicts[0].text,
        "This map ranks nothing, so it is not judged: \u201c[CLS]\u201d, an attention sink, holds nearly all of it.");
    const internal::CheckRow said = internal::check_words(report).rows.at(0);
    EXPECT_EQ(said.top, "not judged");
    EXPECT_EQ(said.order, "not judged");
  }
}

TEST(Answer, AMapOfZerosIsNotJudgedAndIsNotTheBest) {
  Report report = checked_report();
  report.check->maps[0].first_token = 1;  // rollout is wrong
  ASSERT_EQ(best_map(report), Method::kFlow);
  for (std::size_t j = 0; j < 4; ++j) report.flow(1, 1, j) = 0.0;
  EXPECT_EQ(best_map(report), Method::kRollout);
  const ReportAnswer answer = report_answer(report, Method::kFlow);
  ASSERT_EQ(answer.verdicts.size(), 1U);
  EXPECT_EQ(answer.verdicts[0].text, "This map ranks nothing, so it is not judged: all of its values are 0.");
  EXPECT_TRUE(internal::check_words(report).key.ends_with(
      "A map is not judged where an attention sink holds nearly all of it, or where all of its values are 0."));
}

TEST(Answer, ScoresOfZeroAreNotJudged) {
  Report report = checked_report();
  report.settings.methods.push_back(Method::kAttnLrp);
  report.scores = {{.method = Method::kAttnLrp, .values = Tensor<double>({1, 4}, {0.0, 0.5, 0.0, 0.0}), .sums = {{}}}};
  const std::vector<MapCheck> maps = {{.method = Method::kAttnLrp, .compared = 7, .first_token = 2}};
  report.check->maps = maps;
  const auto effect = [&] {
    return internal::map_words(report, *report.check, report.check->maps[0], report.output_token).effect;
  };
  EXPECT_FALSE(effect().starts_with("This map ranks nothing")) << effect();
  report.scores[0].values(0, 1) = 0.0;
  EXPECT_EQ(effect(), "This map ranks nothing, so it is not judged: all of its values are 0.");
}

TEST(Answer, AGenerationsMapOfZerosOnThePromptIsNotJudged) {
  Report report = test::small_generation();
  const std::size_t output = report.output_tokens.at(0);
  EXPECT_EQ(why_nothing_ranked(report, Method::kRollout, output, {report.settings.layers.back()}), "");
  for (std::size_t j = 0; j < report.input.tokens.size(); ++j) {
    report.rollout(report.settings.layers.size() - 1, 0, j) = 0.0;
  }
  EXPECT_EQ(why_nothing_ranked(report, Method::kRollout, output, {report.settings.layers.back()}),
            "all of its values on the prompt are 0");
}

TEST(Answer, SpeaksOfWordsWhereWordsWereReplaced) {
  Report report = checked_report();
  report.settings.words = true;
  EXPECT_TRUE(report_answer(report, Method::kFlow).verdicts.at(0).text.starts_with("The top-ranked word is right"));
  const internal::CheckWords words = internal::check_words(report);
  EXPECT_EQ((words.summary + words.key).find("token"), std::string::npos) << words.summary << words.key;
}

TEST(SinkHoldsAll, ByTheShareOfAllOthers) {
  EXPECT_TRUE(sink_holds_all({0.9995, 0.0003, 0.0002}));
  EXPECT_FALSE(sink_holds_all({0.98, 0.01, 0.01}));
  std::vector<double> spread(2001, 0.5 / 2000.0);  // each below 0.001, together half
  spread[0] = 0.5;
  EXPECT_FALSE(sink_holds_all(spread));
  EXPECT_FALSE(sink_holds_all({3e-4, 1e-4, 5e-5}));  // a small row, like those of gradients
  EXPECT_TRUE(sink_holds_all({3e-4, 1e-6, 0.0}));
}

TEST(DropsLine, LeavesOutZerosAndKeepsRoomForTheLargestRise) {
  Report report = checked_report();
  report.input.tokens.resize(12, report.input.tokens[1]);
  ReportCheck check{.quantity = "logit", .value = 1.0};
  check.tokens = {{.token = 1, .drop = 0.0}, {.token = 2, .drop = 0.5}};
  const std::string line = internal::drops_line(report, check);
  EXPECT_TRUE(line.ends_with(" falls by: \u201ccats\u201d 0.500.")) << line;
  for (std::size_t j = 3; j < 12; ++j) check.tokens.push_back({.token = j, .drop = 0.1 * static_cast<double>(j)});
  check.tokens.push_back({.token = 0, .drop = -0.001});
  const std::string full = internal::drops_line(report, check);
  EXPECT_TRUE(full.ends_with("; it rises by: \u201c[CLS]\u201d 0.00100, ...")) << full;
  EXPECT_EQ(std::ranges::count(full, ','), 8) << full;  // after "token", between seven falls, and before "..."
  EXPECT_EQ(internal::drops_line(report, {.quantity = "logit", .value = 1.0, .tokens = {{.token = 1}}}),
            "Without each token, the logit (1.00) stays.");
}

TEST(Answer, AMapWhoseFirstTokenCouldNotBeCheckedMayBeRight) {
  Report report = checked_report();
  report.input.tokens[3].special = false;
  const auto top = [&] { return report_answer(report, Method::kFlow).verdicts.at(0); };
  EXPECT_EQ(top().level, "strong");
  report.check->irreplaceable = {3};
  EXPECT_EQ(top().level, "strong");
  MapCheck& map = *std::ranges::find(report.check->maps, Method::kFlow, &MapCheck::method);
  map.unchecked_token = 3;
  EXPECT_EQ(top().level, "weak");
  EXPECT_EQ(top().text,
            "The top-ranked token may be right: without \u201ccats\u201d, the logit difference falls from 3.20 to "
            "\u22121.10 \u00b1 0.5. The map ranks \u201c[SEP]\u201d above \u201ccats\u201d; nothing fits in its "
            "place, so it was not checked.");
  report.settings.top_k = 1;
  EXPECT_EQ(top().level, "weak");
}

TEST(Answer, NumbersWordsThatTheTextRepeats) {
  Report report = checked_report();
  report.input.text = "cat cat cat";
  for (std::size_t j = 1; j < 4; ++j) {
    report.input.tokens[j] = {"cat", 4 * (j - 1), 4 * (j - 1) + 3, false, j - 1, 0, false};
  }
  EXPECT_EQ(quoted_token(report, 1), "\u201ccat\u201d");
  EXPECT_EQ(quoted_token(report, 2), "\u201ccat\u201d (2)");
  EXPECT_EQ(numbered_token(report, 3), "cat (3)");
  EXPECT_EQ(quoted_token(report, 3, 2), "\u201cc\u2026\u201d (3)");
  test::expect_parts(terminal_table(report),
                     {"falls by: \u201ccat\u201d (2) 4.30; it\n  rises by: \u201ccat\u201d 0.250."});
}

TEST(Answer, SaysWhereAWordIsExplainedByItsFirstToken) {
  Report report = checked_report();
  report.target->label = "G";
  report.notes.push_back({NoteCode::kTargetFirstToken,
                          {{"option", std::string("target")},
                           {"word", std::string(" Gargantua")},
                           {"tokens", std::size_t{4}},
                           {"token", std::string("G")}}});
  EXPECT_TRUE(headline(report).starts_with("\u201cG\u201d (the first token of \u201cGargantua\u201d)"))
      << headline(report);
  report.notes.back().values["option"] = std::string("against");
  EXPECT_EQ(headline(report), "\u201cG\u201d");
  report.target->against = ReportAgainst{.label = "G", .index = 7};
  report.target->label = "Angie";
  EXPECT_TRUE(headline(report).ends_with("rather than \u201cG\u201d (the first token of \u201cGargantua\u201d)"))
      << headline(report);
}

TEST(Answer, KeepsSourceAndTargetApart) {
  Report report = checked_report();
  report.input.tokens.back().segment = report.input.tokens[2].segment = 1;
  const AnswerRow row{.title = "rollout", .values = {0.1, 0.4, 0.3, 0.2}};
  EXPECT_EQ(top_tokens_line(report, row).find("source"), std::string::npos);
  report.notes.push_back(
      {NoteCode::kJointLayers,
       {{"source_tokens", std::size_t{2}}, {"encoder_layers", std::size_t{1}}, {"decoder_layers", std::size_t{1}}}});
  EXPECT_TRUE(top_tokens_line(report, row)
                  .starts_with("rollout: in the source, \u201cThe\u201d 0.4; in the target, \u201c##cats\u201d 0.3"))
      << top_tokens_line(report, row);
  test::expect_parts(terminal_table(report, {.width = 120, .color = true}), {"\n\x1b["});
}

TEST(AttentionRow, IsSaidWhereItsSinkHoldsNearlyAll) {
  Report report = checked_report();
  report.model.causal = true;
  report.attention_rollout = Tensor<double>({1, 4}, {0.9995, 0.0003, 0.0002, 0.0});
  const std::optional<AnswerRow> row = attention_row(report);
  ASSERT_TRUE(row && holds_nearly_all(*row));
  const std::string line = top_tokens_line(report, *row);
  EXPECT_EQ(line,
            "rollout over attention says little here: \u201c[CLS]\u201d, an attention sink, holds nearly all of it.");
  test::expect_parts(terminal_table(report, {.width = 200, .color = true}), {line});
  report.attention_rollout = Tensor<double>({1, 4}, {0.98, 0.019, 0.001, 0.0});
  EXPECT_FALSE(holds_nearly_all(*attention_row(report)));
}

TEST(AttentionRow, SetsASinkAside) {
  Report report = checked_report();
  EXPECT_FALSE(attention_row(report));
  report.attention_rollout = Tensor<double>({1, 4}, {0.6, 0.2, 0.1, 0.1});
  EXPECT_FALSE(attention_row(report)->first_aside);
  report.model.causal = true;
  EXPECT_TRUE(attention_row(report)->first_aside);
  const AnswerRow row = *attention_row(report);
  EXPECT_EQ(top_tokens_line(report, row),
            "rollout over attention: \u201cThe\u201d 0.2, \u201ccats\u201d 0.1; \u201c[CLS]\u201d, an attention sink, "
            "holds 0.6");
  test::expect_parts(terminal_table(report, {.width = 120, .color = true}),
                     {"rollout over attention; \u201c[CLS]\u201d, an attention sink, holds 0.6:"});
  report.attention_rollout(0, 0) = 0.4;  // no more than twice the next
  EXPECT_FALSE(attention_row(report)->first_aside);
}

}  // namespace
}  // namespace attnflow::report_answer_test
