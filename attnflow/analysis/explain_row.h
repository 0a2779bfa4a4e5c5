// The row of one output token over a text that is too long for matrices.
//
// Whole reports hold [layer, output token, input token]: for 30 layers and 4,096 tokens 4 GB an array. What one output
// token drew on is a row, and a decoder that keeps queries and keys gives it in O(L n d) memory
// (rollout/replay_rollout.h).
#ifndef ATTNFLOW_ANALYSIS_EXPLAIN_ROW_H_
#define ATTNFLOW_ANALYSIS_EXPLAIN_ROW_H_

#include "attnflow/analysis/explain.h"
#include "attnflow/graph/attention_replay.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Throws Error(kUsage) for a model that is no decoder, and for options that need more than one row: flow,
// certificates, discard, kept attention, all output tokens.
void check_row_options(const ExplainOptions& options, const ModelInfo& info);

// Fills raw and rollout of `report`, [layer, 1, input token], whose settings, model, tokens and predictions are set;
// without layers asked for, of the last one: each costs a pass over the layers below it. The graph stays empty.
void aggregate_row(Report& report, AttentionReplay& attention, const MixingOptions& mixing,
                   const ExplainOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EXPLAIN_ROW_H_
