#include "attnflow/model/distance_bucket.h"

#include <gtest/gtest.h>

#include <utility>

namespace attnflow::distance_bucket_test {
namespace {

// The start of each bucket, from PyTorch for the models trained with them.
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
  constexpr int kFirst[] = {0, 1, 2, 3, 4, 6, 9, 14};  // according to T5Attention._relative_position_bucket
  for (int away = 0; away < 60; ++away) {
    int bucket = 0;
    while (bucket < 7 && away >= kFirst[bucket + 1]) ++bucket;
    EXPECT_EQ(distance_bucket(-away, buckets), bucket) << away;
    EXPECT_EQ(distance_bucket(away, buckets), 0) << away;
  }
}

// According to make_log_bucket_position() in PyTorch, whose sign is that of query - key.
TEST(SignedDistanceBucket, BeginsWhereTransformersSays) {
  const SignedBuckets buckets = {.span = 256, .farthest = 512, .grow = true};  // DeBERTa-v3's
  constexpr int kFrom = 126;  // all smaller distances have one bucket each
  constexpr int kFirst[] = {126, 127, 128, 129, 130, 131, 133, 134, 136, 137, 139, 140, 142, 143, 145,
                            146, 148, 150, 151, 153, 155, 156, 158, 160, 161, 163, 165, 167, 169, 170,
                            172, 174, 176, 178, 180, 182, 184, 186, 188, 190, 192, 194, 196, 198, 201,
                            203, 205, 207, 210, 212, 214, 216, 219, 221, 224, 226, 229, 231, 234, 236};
  for (int distance = 0; distance < 236; ++distance) {
    int bucket = distance;
    if (distance >= kFrom) {
      bucket = kFrom;
      while (kFirst[bucket + 1 - kFrom] <= distance) ++bucket;
    }
    EXPECT_EQ(signed_distance_bucket(distance, buckets), 256 + bucket) << distance;
    EXPECT_EQ(signed_distance_bucket(-distance, buckets), 256 - bucket) << distance;
  }
  EXPECT_EQ(signed_distance_bucket(5000, buckets), 511);
  EXPECT_EQ(signed_distance_bucket(-5000, buckets), 0);
}

TEST(SignedDistanceBucket, IsTheDistanceWhereBucketsDoNotGrow) {
  const SignedBuckets buckets = {.span = 9, .farthest = 9};
  for (int distance = -20; distance < 20; ++distance) {
    EXPECT_EQ(signed_distance_bucket(distance, buckets), std::clamp(distance + 9, 0, 17)) << distance;
  }
}

}  // namespace
}  // namespace attnflow::distance_bucket_test
