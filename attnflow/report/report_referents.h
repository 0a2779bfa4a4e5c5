// The weights of one output token on the words of Report::referents, layer by layer.
//
// Problem: which of several words does an output token draw on? Abnar & Zuidema (2020), figure 4, ask this for a masked
// pronoun and the nouns it may refer to, next to the model's probabilities for the pronouns.
//
// Definition: a referent r is a set of positions T_r; its weight in layer l is the sum of values[l, i, j] over j in T_r
// for output token i, its share that weight over the sum of all referents' weights. Raw attention and rollout
// distribute mass, so a word's weight is the sum of its pieces'. Flows to two pieces compete for the same arcs, and the
// flow to a word is its own maximum flow (settings.words computes it), so flow has no weights if a referent has several
// positions.
//
// Cost: O(layers x positions of the referents). Throws nothing for a report that report_from_json() accepts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/report/report.h"
#include "attnflow/words/text_table.h"

namespace attnflow::internal {

struct ReferentWeight {
  double value = 0.0;
  std::optional<double> share;  // absent when the sum of the referents' weights is not a positive number
  std::uint8_t degenerate = 0;  // flow: 1 the first layer's column, 2 the top row
};

// One method's weights: [position in settings.layers][referent].
struct ReferentWeights {
  Method method;
  std::vector<std::vector<ReferentWeight>> layers;
};

// For the methods with a row for the output token, in the order of settings.methods. Empty without referents.
std::vector<ReferentWeights> referent_weights(const Report& report, std::size_t output_token);

// Each referent's text, with its position if two texts are equal.
std::vector<std::string> referent_names(const Report& report);

// The prediction whose candidates belong to the output token (the mask there), or nothing.
const ReportPrediction* candidates_at(const Report& report, std::size_t output_token);

// Each candidate's share of the candidates' total probability; empty if that is not a positive number.
std::vector<double> candidate_shares(const ReportPrediction& prediction);

// 'Weights of "[MASK]" (position 7) on the referents', on one line, safe to print.
std::string referents_title(const Report& report, std::string_view ellipsis);

// "Among the candidates: his 62.0%, her 38.0%"; "" without candidates at the report's output token.
std::string candidate_shares_line(const Report& report);

struct ReferentMarks {
  std::string_view ellipsis;
  std::string_view degenerate;  // one cell wide
  bool isolates = false;        // names that run from right to left, from the numbers beside them
};

// The weights of report.output_token: a row for each of settings.layers, a column for each method and referent, with
// the share in percent, if any.
TextTable referent_table(const Report& report, const ReferentMarks& marks);
// Says what its cells are, in a line.
std::string referents_legend(const Report& report, const ReferentMarks& marks);

}  // namespace attnflow::internal
