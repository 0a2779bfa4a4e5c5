// explain_attention() for edges that were made elsewhere: layer by layer while a model ran, contributions or relevance
// for one prediction; or contributions, or what they are made of, as arrays.
#pragma once

#include <optional>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/relevance_mixing.h"

namespace attnflow {

// Throws as contribution_graph() and relevance_graph(), and Error(kUsage) for --keep-attention without attention.
Report explain_edges(AttentionInput input, const ExplainOptions& options);

// Throws as graph_of_arrays(), and Error(kUsage) for --keep-attention of a file that holds none.
Report explain_contributions(AttentionInput input, const ExplainOptions& options);

// The graph of such layers, which are used up. Throws as contribution_graph().
AttentionGraph contribution_graph(std::vector<PositiveRelevance> layers, const ContributionOptions& options);

// Notes which share of the relevance argues against the target and is not shown; adds no note where it was not
// measured.
void note_negative_share(std::vector<Note>& notes, const std::optional<double>& share,
                         const std::optional<ReportTarget>& target);

}  // namespace attnflow
