// explain_attention() for edges made elsewhere: contributions, or relevance for one prediction, made while a model ran;
// or contributions or their terms as arrays.
#pragma once

#include <optional>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/relevance_mixing.h"

namespace attnflow {

// Throws as contribution_graph() and relevance_graph() do, and Error(kUsage) for --keep-attention without attention.
Report explain_edges(AttentionInput input, const ExplainOptions& options);

// Throws as graph_of_arrays() does, and Error(kUsage) for --keep-attention with a file that has no attention.
Report explain_contributions(AttentionInput input, const ExplainOptions& options);

// Consumes the layers. Throws as contribution_graph() does.
AttentionGraph contribution_graph(std::vector<PositiveRelevance> layers, const ContributionOptions& options);

// Adds a note on the share of relevance that argues against the target and is not shown, if it was measured.
void note_negative_share(std::vector<Note>& notes, const std::optional<double>& share,
                         const std::optional<ReportTarget>& target);

}  // namespace attnflow
