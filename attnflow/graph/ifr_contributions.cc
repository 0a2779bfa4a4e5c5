#include "attnflow/graph/ifr_contributions.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "attnflow/base/parallel_for.h"
#include "attnflow/graph/contribution_tiles.h"

namespace attnflow::internal {
namespace {

struct IfrWorkspace {
  PairTiles tiles;
  std::vector<double> gains;  // [key of the tile, query, heads + 1]
};

}  // namespace

Tensor<double> ifr_contributions(const ContributionLayer& layer) {
  Tensor<double> result({layer.queries, layer.positions});
  const OutputSigns outputs(layer);
  const std::size_t parts = layer.heads + 1;
  std::vector<std::optional<IfrWorkspace>> workspaces(layer.threads);
  parallel_for(PairTiles::tiles(layer), {.threads = layer.threads}, [&](std::size_t tile, std::size_t worker) {
    if (!workspaces[worker]) {
      workspaces[worker].emplace(
          IfrWorkspace{PairTiles(layer), std::vector<double>(kTileKeys * layer.queries * parts)});
    }
    std::vector<double>& gains = workspaces[worker]->gains;
    std::fill(gains.begin(), gains.end(), 0.0);
    workspaces[worker]->tiles.for_each_group(tile, [&](const QueryGroup& group, const Slice& slice) {
      const GroupOutputs slices = outputs.of(group, slice);
      for (std::size_t h = 0; h < (group.is_diagonal ? parts : layer.heads); ++h) {
        std::array<double*, kGroup> sums = {};
        std::array<float, kGroup> weights = {};
        for (std::size_t g = 0; g < group.count; ++g) {
          sums[g] = &gains[(group.tile_key * layer.queries + group.queries[g]) * parts + h];
          weights[g] = group.weights[g][h];
        }
        add_gains_of_one(slices, group.vectors + h * slice.length, weights, slice.length, sums);
      }
    });
    const std::size_t first = tile * kTileKeys;
    for (std::size_t k = 0; k < std::min(kTileKeys, layer.positions - first); ++k) {
      for (std::size_t q = 0; q < layer.queries; ++q) {
        const double* of_heads = &gains[(k * layer.queries + q) * parts];
        double sum = 0.0;
        for (std::size_t h = 0; h < parts; ++h) sum += std::max(0.0, of_heads[h]);
        result(q, first + k) = sum;
      }
    }
  });
  return result;
}

}  // namespace attnflow::internal
