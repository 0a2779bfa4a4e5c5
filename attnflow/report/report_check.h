// Words for the check of a report's maps (report_scores.h, ReportCheck), in tables, figures and documents; internal.
//
// Two questions, two answers:
//
//   top token   right    its drop is at least half of the largest
//               unsure   not, but it may be, within the spread of both
//               wrong    another token decides
//   order       strong   the rank correlation with the drops is at least 0.6 of what the check's reliability allows,
//               weak     0.3,
//               none     less. Not judged with fewer than six tokens, or where the check does not agree with itself.
//
// A map that an attention sink holds nearly all of, or that is all 0, ranks nothing, and neither question is asked of
// it.
//
// The correlation with a measurement of reliability r is at most sqrt(r), so a correlation c counts as c / sqrt(r)
// (C. Spearman, The Proof and Measurement of Association between Two Things, American Journal of Psychology 15, 1904).
#pragma once

#include <string>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow::internal {

// "token", "word" or "patch": what a map ranks and the check replaces.
const char* unit_of(const Report& report);

// One map, as text that is safe to print on one line.
struct CheckRow {
  std::string map;     // "rollout, layers 1-6"
  std::string token;   // the map's top token
  std::string quoted;  // the same within a sentence
  std::string verb;    // what the explained quantity does without it: "falls", "rises", "stays"; "" if not known
  std::string size;    // by how much: "2.93"; "" if it stays
  std::string top;     // "right", "maybe “cats”", "“cats” decides", which names the token that decides
  std::string order;   // "agrees (0.66)"

  // "falls by 2.93", or "stays"
  std::string change() const { return size.empty() ? verb : verb + " by " + size; }
};

struct CheckWords {
  std::string summary;  // "Check: each token was replaced by 8 others."
  std::string key;      // how the verdicts are reached
  std::vector<CheckRow> rows;
};

// One map, as in the document and on the page.
struct MapWords {
  bool ranks_nothing = false;  // then `effect` says why, and nothing is judged
  std::string level;           // of both answers: "strong", "weak", "none"; "unknown" where nothing is ordered
  std::string top_level;       // likewise for the top token
  std::string order_level;     // and for the order
  std::string effect;          // "The top-ranked token is right: without “cats”, ..."
  std::string order;  // "The order of the tokens agrees with the check (rank correlation 0.70)."; "" if not asked
};
// `check`, which contains `map`, is the report's or a generated token's, which `output_token` explains.
MapWords map_words(const Report& report, const ReportCheck& check, const MapCheck& map, std::size_t output_token);

// "By rollout, layers 1-6, “cats” ranks first (without it: falls by 4.30; right); order: agrees (0.70)."
std::string sentence_of(const CheckRow& row);

// Empty if no map was checked.
CheckWords check_words(const Report& report);

// "how far the logit difference (3.20) falls without each token"
std::string drops_title(const Report& report, const ReportCheck& check);
// "Without each token, the logit difference (3.20) falls by: “her” 4.30, “key” 1.20; it rises by: “a” 0.30.", the
// largest falls first, then the largest rises, of which one at least has room.
std::string drops_line(const Report& report, const ReportCheck& check);

}  // namespace attnflow::internal
