#include "attnflow/analysis/explain/target_graph.h"

#include "attnflow/graph/relevance_mixing.h"

namespace attnflow {

std::unique_ptr<GraphOfGradientsSink> gradients_sink(std::size_t layers, const ResolvedMixing& mixing) {
  if (mixing.kind == Mixing::kRelevance) return std::make_unique<RelevanceGraphSink>(layers, mixing.removal());
  return std::make_unique<GradientGraphSink>(layers,
                                             GradientMixingOptions{mixing_info(mixing.kind).rule, mixing.removal()});
}

BackwardRule backward_rule(Mixing mixing) {
  return mixing == Mixing::kRelevance ? BackwardRule::kAttnLrp : BackwardRule::kGradient;
}

void note_negative_share(std::vector<Note>& notes, const std::optional<double>& share) {
  if (share) notes.push_back({NoteCode::kNegativeRelevance, {{"share", *share}}});
}

}  // namespace attnflow
