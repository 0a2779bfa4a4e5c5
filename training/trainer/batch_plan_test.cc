#include "training/trainer/batch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "attnflow/base/random.h"

namespace attnflow::batch_plan_test {
namespace {

std::vector<std::size_t> random_lengths(std::size_t count) {
  Random random(1);
  std::vector<std::size_t> lengths;
  for (std::size_t i = 0; i < count; ++i) lengths.push_back(1 + random.below(60));
  return lengths;
}

BatchPlanOptions options_of(std::size_t shard_tokens, std::size_t shards_per_step) {
  BatchPlanOptions options;
  options.shard_tokens = shard_tokens;
  options.shards_per_step = shards_per_step;
  return options;
}

TEST(BatchPlan, EachSequenceOnceAndShardsWithinTheirSize) {
  const std::vector<std::size_t> lengths = random_lengths(5000);
  const BatchPlanOptions options = options_of(256, 4);
  std::vector<std::size_t> seen(lengths.size(), 0);
  for (const StepShards& step : plan_epoch(lengths, 3, options)) {
    EXPECT_EQ(step.size(), 4U);
    for (const Shard& shard : step) {
      std::size_t longest = 0;
      for (const std::size_t i : shard) {
        ++seen[i];
        longest = std::max(longest, lengths[i]);
      }
      EXPECT_LE(longest * shard.size(), 256U);
    }
  }
  EXPECT_LE(*std::max_element(seen.begin(), seen.end()), 1U);
  EXPECT_GE(std::accumulate(seen.begin(), seen.end(), std::size_t{0}), 4900U);
}

TEST(BatchPlan, LittlePadding) {
  const std::vector<std::size_t> lengths = random_lengths(20000);
  std::size_t tokens = 0;
  std::size_t padded = 0;
  for (const StepShards& step : plan_epoch(lengths, 0, options_of(1024, 4))) {
    for (const Shard& shard : step) {
      std::size_t longest = 0;
      for (const std::size_t i : shard) {
        tokens += lengths[i];
        longest = std::max(longest, lengths[i]);
      }
      padded += longest * shard.size();
    }
  }
  EXPECT_LT(static_cast<double>(padded), 1.03 * static_cast<double>(tokens));
}

TEST(BatchPlan, FollowsFromSeedAndEpoch) {
  const std::vector<std::size_t> lengths = random_lengths(1000);
  BatchPlanOptions options = options_of(200, 2);
  const auto plan = plan_epoch(lengths, 1, options);
  EXPECT_EQ(plan, plan_epoch(lengths, 1, options));
  EXPECT_NE(plan, plan_epoch(lengths, 2, options));
  options.seed = 2;
  EXPECT_NE(plan, plan_epoch(lengths, 1, options));
}

TEST(BatchPlan, FewSequencesMakeOneStep) {
  const std::vector<std::size_t> lengths = {7, 300};
  const auto plan = plan_epoch(lengths, 0, options_of(100, 8));
  ASSERT_EQ(plan.size(), 1U);
  EXPECT_EQ(plan[0].size(), 2U);  // the long one is alone, however small the shards are
}

}  // namespace
}  // namespace attnflow::batch_plan_test
