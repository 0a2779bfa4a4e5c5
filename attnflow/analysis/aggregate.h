// From the graph to the numbers of a report: aggregation, words, normalisation, notes.
#ifndef ATTNFLOW_ANALYSIS_AGGREGATE_H_
#define ATTNFLOW_ANALYSIS_AGGREGATE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/analysis/explain.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/report/report.h"

namespace attnflow {

// The pieces of each word stand together; a token without a word stands alone. In order, every token once.
TokenGroups word_groups(const std::vector<ReportToken>& tokens);

// The token that stands for the pieces of one word (as word_groups gives them): the user's characters where the report
// has them, else the pieces joined.
ReportToken merge_tokens(const Report& report, const std::vector<std::size_t>& pieces);

// Makes the report's tokens words, and the positions of predictions and referents, and `output`, those of words.
// Returns the pieces of each word.
TokenGroups merge_words(Report& report, std::size_t& output);

// What a report says of values that receptive-field normalisation set to 0.
std::string flagged_note(std::size_t flagged);

// Fills arrays, layers and output tokens of `report`, whose settings, model and tokens are set. With settings.words the
// tokens become words, and the positions of predictions and referents those of words. Throws Error(kUsage) for options
// that do not fit the input. A graph of ResidualRule::kAdded gives rollout as published; its rows are divided by their
// sums for flow and certificates.
void aggregate(Report& report, AttentionGraph graph, const ExplainOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_AGGREGATE_H_
