#include "attnflow/model/distance_bucket.h"

#include <gtest/gtest.h>

#include <utility>

namespace attnflow::distance_bucket_test {
namespace {

// Where each bucket begins, as PyTorch says of the models that were trained with them.
TEST(DistanceBucket, BeginsWhereTransformersSays) {
  constexpr std::pair<int, int> kFirst[] = {{0, 0},   {1, 1},   {2, 2},   {3, 3},  {4, 4},   {5, 5},
                                            {6, 6},   {7, 7},   {8, 8},   {12, 9}, {16, 10}, {23, 11},
                                            {32, 12}, {46, 13}, {64, 14}, {91, 15}};
  const auto bucket_of = [&](int away) {
    int bucket = 0;
    for (const auto& [from, number] : kFirst) bucket = away >= from ? number : bucket;
    return bucket;
  };
  for (int away = 0; away < 600; ++away) {
    EXPECT_EQ(distance_bucket(-away), bucket_of(away)) << away;
    if (away == 0) continue;
    EXPECT_EQ(distance_bucket(away), 16 + bucket_of(away)) << away;
  }
}

TEST(DistanceBucket, IsAllForKeysBeforeTheQueryWhereNoneStandsBehind) {
  const DistanceBuckets buckets = {.count = 8, .farthest = 20, .causal = true};
  constexpr int kFirst[] = {0, 1, 2, 3, 4, 6, 9, 14};  // as T5Attention._relative_position_bucket says
  for (int away = 0; away < 60; ++away) {
    int bucket = 0;
    while (bucket < 7 && away >= kFirst[bucket + 1]) ++bucket;
    EXPECT_EQ(distance_bucket(-away, buckets), bucket) << away;
    EXPECT_EQ(distance_bucket(away, buckets), 0) << away;
  }
}

}  // namespace
}  // namespace attnflow::distance_bucket_test
