#include "attnflow/flow/neighbor_columns.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace attnflow::internal {
namespace neighbor_columns_test {
namespace {

std::vector<ArcBlock> random_layers(std::size_t layers, std::size_t nodes, std::mt19937_64& random) {
  std::vector<ArcBlock> blocks;
  for (std::size_t k = 1; k <= layers; ++k) {
    ArcBlock block = k == 1 ? ArcBlock(nodes, 3) : ArcBlock::causal(nodes);
    for (std::size_t p = 0; p < nodes; ++p) {
      for (std::int64_t& arc : block.row(p)) arc = static_cast<std::int64_t>(random() >> 4);
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

TEST(NeighborColumnsTest, AreTheArcsOfTheLayers) {
  std::mt19937_64 random(1);
  for (const std::size_t nodes : {1U, 2U, 7U, 8U, 9U, 40U}) {
    const std::vector<ArcBlock> blocks = random_layers(4, nodes, random);
    std::vector<const ArcBlock*> below;
    for (const ArcBlock& block : blocks) below.push_back(&block);
    NeighborColumns columns(below);
    // First in order, as input tokens come, and then at random; several layers for each.
    std::vector<std::size_t> positions;
    for (std::size_t to = 0; to < nodes; ++to) positions.push_back(to);
    for (int i = 0; i < 50; ++i) positions.push_back(random() % nodes);
    for (const std::size_t to : positions) {
      for (const std::size_t k : {4U, 2U, 3U}) {
        if (random() % 3 == 0) continue;
        const std::int64_t* into = columns.into(k, to);
        for (std::size_t p = to; p < nodes; ++p) ASSERT_EQ(into[p], blocks[k - 1](p, to)) << k << ", " << p;
        const std::int64_t* straight = columns.straight(k);
        for (std::size_t p = 0; p < nodes; ++p) ASSERT_EQ(straight[p], blocks[k - 1](p, p)) << k << ", " << p;
      }
    }
  }
}

}  // namespace
}  // namespace neighbor_columns_test
}  // namespace attnflow::internal
