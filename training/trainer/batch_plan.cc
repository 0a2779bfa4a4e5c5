#include "training/trainer/batch_plan.h"

#include <algorithm>
#include <cassert>
#include <numeric>

#include "attnflow/base/random.h"

namespace attnflow {

namespace {

std::vector<Shard> pack(std::span<const std::size_t> sorted, std::span<const std::size_t> lengths,
                        std::size_t shard_tokens) {
  std::vector<Shard> shards;
  for (const std::size_t i : sorted) {
    // Lengths increase: all others in a shard are padded to the newest.
    if (shards.empty() || (shards.back().size() + 1) * lengths[i] > shard_tokens) shards.emplace_back();
    shards.back().push_back(i);
  }
  return shards;
}

}  // namespace

std::vector<StepShards> plan_epoch(std::span<const std::size_t> lengths, std::size_t epoch,
                                   const BatchPlanOptions& options) {
  assert(!lengths.empty());
  constexpr std::size_t kPoolSteps = 32;
  Random random(stream_seed(options.seed, epoch));
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.shuffle(order);

  std::vector<Shard> shards;
  for (std::size_t begin = 0; begin < order.size();) {
    std::size_t end = begin;
    for (std::size_t tokens = 0;
         end < order.size() && tokens < kPoolSteps * options.shards_per_step * options.shard_tokens; ++end) {
      assert(lengths[order[end]] > 0);
      tokens += lengths[order[end]];
    }
    const std::span<std::size_t> pool(order.data() + begin, end - begin);
    std::stable_sort(pool.begin(), pool.end(), [&](std::size_t a, std::size_t b) { return lengths[a] < lengths[b]; });
    std::vector<Shard> packed = pack(pool, lengths, options.shard_tokens);
    random.shuffle(packed);
    std::move(packed.begin(), packed.end(), std::back_inserter(shards));
    begin = end;
  }

  std::vector<StepShards> steps;
  for (std::size_t s = 0; s < shards.size(); ++s) {
    if (s % options.shards_per_step == 0) steps.emplace_back();
    steps.back().push_back(std::move(shards[s]));
  }
  if (steps.size() > 1 && steps.back().size() < options.shards_per_step) steps.pop_back();
  return steps;
}

}  // namespace attnflow
