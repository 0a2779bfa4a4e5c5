// The answer of a report: the part that every surface gives first, in the same words.
//
// Tables, figures, the page and the notebook's cell begin alike:
//
//   1. the headline: what was predicted rather than what, with its probability;
//   2. the text colored by the best map, and below it the check's drops (report/report_scores.h);
//   3. the verdicts: is the map's top token right, and is its order;
//   4. the paper's attention as a second line, where the report has it.
//
// Everything else follows. This module decides what these parts are; the surfaces lay them out.
//
// The best map. Maps of one prediction disagree, and the check says which of them the model agrees with. The best is
// the checked map with the best verdict (strong, weak, unknown, none; last, one that ranks nothing), of equal ones that
// with the highest rank correlation where the order is judged, then the one that leads without a check: flow over
// relevance, otherwise rollout (leading_method(), report/report.h).
//
// In a generation all of this is about the token chosen at Report::output_token.
//
// Example:
//
//     const ReportAnswer answer = report_answer(report);
//     std::printf("%s\n%s\n", answer.headline.c_str(), answer.map.c_str());  // “her”, 63%, rather than “his”
//     for (const AnswerVerdict& verdict : answer.verdicts) std::printf("%s\n", verdict.text.c_str());
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/option_names.h"
#include "attnflow/report/report.h"

namespace attnflow {

struct AnswerVerdict {
  std::string question;  // "top": is the top token right? "order": is the order?
  std::string level;     // "strong", "weak", "none"; "unknown" where it is not judged
  std::string text;      // a sentence
};

struct ReportAnswer {
  std::string headline;                 // “Angie”, 63%, rather than “the”, “her”, “a” and 7 others
  std::optional<Method> method = {};    // the best map's; absent if the report holds no values
  std::string map = {};                 // "flow over relevance"
  std::vector<AnswerVerdict> verdicts;  // on that map, "top" then "order"; none if it was not checked
};

// All texts are on one line and safe to print, and long names are cut. Names of tokens stand in “ ”, so that surfaces
// can isolate those that run from right to left.
// `map`: the one to judge; absent: the best.
ReportAnswer report_answer(const Report& report, std::optional<Method> map = std::nullopt);

std::optional<Method> best_map(const Report& report);
// "flow over relevance", "rollout over attention, layers 3-6", "raw attention, layer 6", "attnlrp".
std::string map_title(const Report& report, Method method);

// One value for each input token.
struct AnswerRow {
  std::string title;
  std::vector<double> values;
  bool first_aside = false;  // rankings set aside the first token, an attention sink
  bool of_flow = false;      // may lie close together far above 0
  bool has_signs = false;
};
// A map's values for the output token, at the layers that its check is about. Empty if the report lacks that row.
AnswerRow answer_row(const Report& report, Method method);
// The paper's rollout over attention, unless the best map is over attention itself; nothing if the report has none.
std::optional<AnswerRow> attention_row(const Report& report);

// Whether an attention sink leaves less than 0.001 to every other token, so that shades would show nothing.
bool holds_nearly_all(const AnswerRow& row);
// "; “The”, an attention sink, holds 0.98", or "": why a row's first token is set aside.
std::string sink_words(const Report& report, const AnswerRow& row);
// "flow over relevance: “Angie” 0.42, “the” 0.11, ...": the row's largest values; special tokens and zeros are left
// out, and an attention sink is named after them, or alone where it holds nearly all.
std::string top_tokens_line(const Report& report, const AnswerRow& row);

// The check that the answer is about; null if there is none.
const ReportCheck* answer_check(const Report& report);
// Whether something is predicted at the output token, so that the answer is about a prediction.
bool answers_prediction(const Report& report);

// The answer for output without pictures: the headline, the best map's top tokens, the check's drops, the verdicts.
std::vector<std::string> answer_sentences(const Report& report);
// All notes for output without a table, after the check and the verdicts as one paragraph.
std::vector<std::string> note_paragraphs(const Report& report, OptionNames names = OptionNames::kShell);

}  // namespace attnflow
