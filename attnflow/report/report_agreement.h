// Words for the agreement of a report's maps with blank-out (report_scores.h, BlankOutAgreement), in tables, figures
// and documents; internal.
#pragma once

#include <string>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow::internal {

// One map, as text that is safe to print on one line.
struct AgreementRow {
  std::string map;               // "rollout, layers 1-6"
  std::string token;             // the map's top token
  std::string blanked;           // the explained quantity with that token blanked: "2.93"
  std::string rank_correlation;  // between map and blank-out: "0.66", "none" if either orders nothing
  std::string verdict;           // "agrees", "agrees in part", "don't rely on this order", "" where nothing is ordered
};

struct AgreementWords {
  // "We removed each token in turn (not special tokens) and ran the model again. The logit difference is 3.20; without
  // 'her' it falls furthest, to -1.10."
  std::string summary;
  std::string blanked;  // title of the column of values: "logit difference without it"
  std::string key;      // how the verdicts are reached
  std::vector<AgreementRow> rows;
};

// One map, as in the document and on the page.
struct MapWords {
  std::string level;   // "strong", "weak", "none"; "unknown" where nothing is ordered
  std::string effect;  // "Blanking agrees: blanking its top token, “cats”, takes the ..."
  std::string order;   // "Agreement of the whole order with blank-out: strong (0.70)."
};
// `agreement`, which contains `map`, is the report's or a generated token's.
MapWords map_words(const Report& report, const BlankOutAgreement& agreement, const MapAgreement& map);

// "By rollout, layers 1-6, 'cats' ranks first: -1.10 without it; rank correlation with blank-out 0.70 (agrees)."
std::string sentence_of(const AgreementRow& row);

// Empty if the prediction was not blanked or no map was compared.
AgreementWords agreement_words(const Report& report);

// All notes except those that repeat agreement_words() map by map.
std::vector<Note> notes_beside_agreement(const Report& report);

// All notes for output without a table: agreement_words() as one paragraph, then the others.
std::vector<std::string> note_paragraphs(const Report& report);

}  // namespace attnflow::internal
