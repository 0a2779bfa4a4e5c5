#include "attnflow/graph/alti_contributions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "attnflow/base/parallel_for.h"
#include "attnflow/graph/contribution_tiles.h"

namespace attnflow::internal {

Tensor<double> alti_contributions(const ContributionLayer& layer) {
  Tensor<double> result({layer.queries, layer.positions});
  const OutputSigns outputs(layer);
  std::vector<std::optional<PairTiles>> workspaces(layer.threads);
  parallel_for(PairTiles::tiles(layer), {.threads = layer.threads}, [&](std::size_t tile, std::size_t worker) {
    if (!workspaces[worker]) workspaces[worker].emplace(layer);
    workspaces[worker]->for_each_group(tile, [&](const QueryGroup& group, const Slice& slice) {
      std::array<double*, kGroup> sums = {};
      for (std::size_t g = 0; g < group.count; ++g) sums[g] = &result(group.queries[g], group.key);
      add_gains(outputs.of(group, slice), group.vectors, slice.length, layer.heads + (group.is_diagonal ? 1 : 0),
                group.weights, slice.length, sums);
    });
  });
  for (double& gain : result.span()) gain = std::max(0.0, gain);
  return result;
}

}  // namespace attnflow::internal
