#include "attnflow/analysis/generate/relevance_sources.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "attnflow/analysis/explain/target_graph.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/explain/explain_edges.h"

namespace attnflow::internal {

std::vector<std::shared_ptr<AttentionSource>> relevance_sources(
    ModelOf<TextInput>& model, const std::vector<std::int64_t>& ids, const std::vector<ReportTarget>& targets,
    const ResolvedMixing& mixing, std::size_t threads, const std::stop_token& stop_token, std::vector<Note>& notes) {
  std::vector<std::shared_ptr<AttentionSource>> sources(targets.size());
  std::vector<std::optional<double>> shares(targets.size());
  gradients_of(model);  // made once, by this thread
  ParallelOptions parallel;
  // The engine's threads are others: no more of ours than there are processors.
  parallel.threads = std::min(resolve_threads(threads), resolve_threads(0));
  parallel.stop_token = stop_token;
  parallel_for(targets.size(), parallel, [&](std::size_t t, std::size_t) {
    const std::size_t seen = targets[t].position.value_or(0) + 1;
    TextInput input;
    input.ids.assign(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(seen));
    ResolvedMixing own = mixing;
    std::erase_if(own.mixing.mask_columns, [seen](std::size_t column) { return column >= seen; });
    TargetGraph found = target_graph(model, input, targets[t], own, stop_token);
    shares[t] = found.negative_share;
    sources[t] = std::make_shared<GraphSource>(std::move(found.graph), /*causal=*/true);
  });
  // Of all tokens the mean: either all have a share or none.
  std::optional<double> mean;
  for (const std::optional<double>& share : shares) {
    if (share) mean = mean.value_or(0.0) + *share / static_cast<double>(shares.size());
  }
  note_negative_share(notes, mean);
  return sources;
}

}  // namespace attnflow::internal
