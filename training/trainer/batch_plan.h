// Groups sequences into the shards of training steps.
//
// An epoch goes through all sequences once, in random order. Sequences of similar length share a shard, to save
// padding; a step is a fixed number of shards. Everything follows from the lengths, the options, the seed and the
// epoch's number, so an interrupted run can resume without a stored order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attnflow {

struct BatchPlanOptions {
  std::uint64_t seed = 1;
  std::size_t shard_tokens = 1024;  // maximum of rows times padded length (a single longer sequence may exceed it)
  std::size_t shards_per_step = 8;
};

using Shard = std::vector<std::size_t>;  // indices of sequences
using StepShards = std::vector<Shard>;

// Returns the steps of epoch `epoch`. The last shards are left out if they do not fill a step: another epoch draws
// others. There is at least one step, however few sequences there are. Method: shuffle; cut into pools of about 32
// steps; sort a pool by length; pack shards from it; shuffle them. O(n log n). Asserts that there are sequences, none
// of length 0.
std::vector<StepShards> plan_epoch(std::span<const std::size_t> lengths, std::size_t epoch,
                                   const BatchPlanOptions& options);

}  // namespace attnflow
