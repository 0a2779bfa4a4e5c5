// From the graph to the numbers of a report: aggregation, words, normalisation, notes.
#ifndef ATTNFLOW_ANALYSIS_AGGREGATE_H_
#define ATTNFLOW_ANALYSIS_AGGREGATE_H_

#include "attnflow/analysis/explain.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Fills arrays, layers and output tokens of `report`, whose settings, model and tokens are set. With settings.words the
// tokens become words. Throws Error(kUsage) for options that do not fit the input.
void aggregate(Report& report, AttentionGraph graph, const ExplainOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_AGGREGATE_H_
