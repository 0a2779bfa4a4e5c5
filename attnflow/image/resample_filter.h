#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attnflow/image/resize.h"

namespace attnflow::internal {

inline constexpr int kWeightBits = 22;  // 32 bits less 8 of a sample less 2 for overshoot

// For each output sample of a window, the input samples that it uses and the weight of each.
struct ResampleWeights {
  struct Span {
    std::size_t first = 0;  // input sample
    std::size_t count = 0;
    std::size_t offset = 0;  // of its weights
  };
  std::vector<Span> outputs;
  std::vector<std::int32_t> weights;  // in units of 2^-kWeightBits

  std::size_t first() const { return outputs.front().first; }
  std::size_t end() const { return outputs.back().first + outputs.back().count; }
};

// Computes the weights of outputs begin .. begin + count when a row of `from` samples is resized to `to`. Not for
// kNearest.
ResampleWeights resample_weights(Resampling resampling, std::size_t from, std::size_t to, std::size_t begin,
                                 std::size_t count);

// For kNearest: the input sample of each output, or `from` for none (an output beyond the last sample by rounding).
std::vector<std::size_t> nearest_samples(std::size_t from, std::size_t to, std::size_t begin, std::size_t count);

}  // namespace attnflow::internal
