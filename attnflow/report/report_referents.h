// The weights of one output token on the words of Report::referents, layer by layer.
//
// Problem: which of several words does an output token draw on? Abnar & Zuidema (2020), figure 4, ask it of a masked
// pronoun and the nouns it may refer to, beside the probabilities that the model gives the pronouns.
//
// Definition: a referent r is a set of positions T_r; its weight in layer l is the sum of values[l, i, j] over j in T_r
// for output token i, its share that weight over the sum of the weights of all referents. Raw attention and rollout
// distribute mass, so the weight of a word is the sum of its pieces'. Flow does not: the flows to two pieces compete
// for the same arcs, and the flow to a word is a maximum flow of its own (settings.words computes it), so flow has no
// weights when a referent consists of several positions.
//
// Cost: O(layers x positions of the referents). Nothing is thrown for a report that report_from_json() accepts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/report/report.h"

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

// Of the methods that hold a row of the output token, in the order of settings.methods. Empty without referents.
std::vector<ReferentWeights> referent_weights(const Report& report, std::size_t output_token);

// What each referent is called: its text, with its position where two have the same.
std::vector<std::string> referent_names(const Report& report);

// The prediction whose candidates belong to the output token (the mask there), or nothing.
const ReportPrediction* candidates_at(const Report& report, std::size_t output_token);

// Each candidate's probability over the sum of all candidates'; empty when that sum is not a positive number.
std::vector<double> candidate_shares(const ReportPrediction& prediction);

// 'Weights of "[MASK]" (position 7) on the referents', on one line, safe to print.
std::string referents_title(const Report& report, std::string_view ellipsis);

// "Among the candidates: his 62.0%, her 38.0%"; "" without candidates at the report's output token.
std::string candidate_shares_line(const Report& report);

// What referent_lines() puts beside a value.
struct ReferentMarks {
  std::string_view ellipsis;
  std::string_view degenerate;  // one cell wide
};

// The weights of report.output_token for a terminal: a line for each of settings.layers, and for each method and
// referent the weight and the share in percent ("-" when there is none). Methods stand side by side as far as `width`
// cells allow (at least 40), the others below. Lines are clean (display_width.h) and at most `width` cells wide; empty
// ones stand between parts.
std::vector<std::string> referent_lines(const Report& report, std::size_t width, const ReferentMarks& marks);

}  // namespace attnflow::internal
