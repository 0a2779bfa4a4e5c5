#include "attnflow/flow/meeting_flow.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <vector>

#include "attnflow/flow/flow_bounds.h"
#include "attnflow/flow/layered_dinic_for_test.h"
#include "attnflow/flow/sink_problem_for_test.h"
#include "attnflow/flow/vector_targets_for_test.h"

namespace attnflow::internal {
namespace meeting_flow_test {
namespace {

std::size_t first_arc(const UnitBlock& lowest, std::size_t input) {
  std::size_t p = 0;
  while (p + 1 < lowest.extent(0) && lowest(p, input) == 0) ++p;
  return p;
}

// The amount of `held` that can reach each input token through the lowest k layers.
std::vector<std::int64_t> most(const std::vector<UnitBlock>& blocks, std::size_t k,
                               const std::vector<std::int64_t>& held) {
  return dinic_row(held, {blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(k)});
}

struct Meeting {
  explicit Meeting(const std::vector<UnitBlock>& blocks) : arcs(arc_blocks(blocks)), pointers(pointers_to(arcs)) {}
  MeetingFlow* operator->() { return &flow; }

  std::vector<ArcBlock> arcs;
  std::vector<const ArcBlock*> pointers;
  NeighborColumns columns{pointers};
  MeetingFlow flow{pointers, columns};
};

TEST(MeetingFlowTest, NeverFindsMoreThanThereIs) {
  std::mt19937_64 random(20261126);
  const auto pick = [&random](std::initializer_list<double> values) {
    return values.begin()[std::uniform_int_distribution<std::size_t>(0, values.size() - 1)(random)];
  };
  double found = 0.0, there = 0.0;
  for (int trial = 0; trial < 300; ++trial) {
    const UnitStackKind kind{
        .residual = pick({0.0, 0.5, 0.5, 0.9}), .density = pick({0.3, 1.0, 1.0}), .peak = pick({0.0, 1.0, 9.0})};
    const auto n = static_cast<std::size_t>(pick({1, 2, 9, 24}));
    const std::vector<UnitBlock> blocks = random_unit_stack(random, 7, n, kind);
    Meeting meeting(blocks);
    std::vector<std::int64_t> held(n);
    for (std::int64_t& units : held) units = static_cast<std::int64_t>(random() >> 5U) / static_cast<std::int64_t>(n);
    std::map<std::size_t, std::vector<std::int64_t>> most_of;  // by k
    for (const std::size_t k : {2U, 3U, 4U, 7U}) most_of[k] = most(blocks, k, held);
    for (std::size_t input = 0; input < n; ++input) {
      SCOPED_TRACE(testing::Message() << "trial " << trial << ", n " << n << ", input " << input);
      meeting->start(input, first_arc(blocks[0], input));
      for (const auto& [k, flows] : most_of) {
        const std::int64_t all = flows[input];
        const std::int64_t some = meeting->value(k, held, kManyUnits);
        EXPECT_LE(some, all);
        EXPECT_GE(some, 0);
        found += static_cast<double>(some);
        there += static_cast<double>(all);
      }
      meeting->start(input, first_arc(blocks[0], input));
      EXPECT_LE(meeting->value(3, held, 1000), 1000);
    }
  }
  EXPECT_GT(found / there, 0.9);
}

TEST(MeetingFlowTest, EvenLayersPassOnEverything) {
  std::mt19937_64 random(4);
  const std::size_t n = 40;
  const std::vector<UnitBlock> blocks = random_unit_stack(random, 4, n, {});
  Meeting meeting(blocks);
  std::vector<std::int64_t> held(n, 0);
  for (std::size_t p = 10; p < n; ++p) held[p] = (std::int64_t{1} << 53) + static_cast<std::int64_t>(p);
  std::int64_t all = 0;
  for (const std::int64_t units : held) all += units;
  for (const std::size_t k : {3U, 4U}) {
    meeting->start(5, 5);
    EXPECT_EQ(meeting->value(k, held, kManyUnits), all) << k;
    EXPECT_EQ(most(blocks, k, held)[5], all);
  }
}

TEST(MeetingFlowTest, ColumnsOfTheLowestLayerNeedNotBePositions) {
  std::mt19937_64 random(9);
  std::vector<UnitBlock> blocks = random_unit_stack(random, 3, 12, {});
  UnitBlock merged({12, 4});
  for (std::size_t p = 0; p < 12; ++p) {
    for (std::size_t q = 0; q < 12; ++q) merged(p, q / 3) += blocks[0](p, q);
  }
  blocks[0] = merged;
  Meeting meeting(blocks);
  std::vector<std::int64_t> held(12, std::int64_t{1} << 54);
  for (std::size_t input = 0; input < 4; ++input) {
    meeting->start(input, first_arc(blocks[0], input));
    const std::int64_t some = meeting->value(3, held, kManyUnits);
    EXPECT_LE(some, most(blocks, 3, held)[input]);
    EXPECT_GT(some, 0);
  }
}

TEST(MeetingFlowTest, EveryVectorWidthAgreesWithTheDefinition) {
  std::mt19937_64 random(5);
  for_each_vector_target([&] {
    for (std::size_t count : {0U, 1U, 2U, 7U, 8U, 9U, 33U}) {
      std::vector<std::int64_t> row(count), left(count);
      std::vector<double> part(count);
      for (std::size_t e = 0; e < count; ++e) {
        row[e] = static_cast<std::int64_t>(random() >> 9U) * (random() % 4 != 0);
        left[e] = static_cast<std::int64_t>(random() >> 9U) * (random() % 4 != 0);
        part[e] = (static_cast<double>(random() >> 11U) * 0x1p-53) * (1.0 - 0x1p-32);
      }
      std::int64_t sum = 0;
      for (std::size_t e = 0; e < count; ++e) {
        sum += static_cast<std::int64_t>(static_cast<double>(row[e]) * part[e]);
      }
      EXPECT_EQ(sum_of_parts(row.data(), part.data(), count), sum);

      std::int64_t could = 0;
      for (std::size_t e = 0; e < count; ++e) could += std::min(row[e], left[e]);
      for (const std::int64_t wanted : {std::int64_t{0}, could / 3, could - could / 1000, could, could + 5}) {
        std::vector<std::int64_t> after = left;
        const std::int64_t taken = take_parts(row.data(), count, wanted, after.data());
        EXPECT_EQ(taken, std::min(could, wanted));
        std::int64_t gone = 0;
        for (std::size_t e = 0; e < count; ++e) {
          EXPECT_GE(after[e], 0);
          EXPECT_LE(left[e] - after[e], row[e]);
          EXPECT_GE(left[e] - after[e], 0);
          gone += left[e] - after[e];
        }
        EXPECT_EQ(gone, taken);
      }
    }
  });
}

}  // namespace
}  // namespace meeting_flow_test
}  // namespace attnflow::internal
