// Pseudo-random numbers that are the same on every machine.
//
// The standard library's distributions differ between implementations, so a seed would not identify a result. This
// generator is fully specified here. Not for secrets.
//
// Generator: xoshiro256** (Blackman and Vigna 2021): 256 bits of state, period 2^256 - 1. SplitMix64 (Steele, Lea and
// Flood 2014) expands the seed to four words, as its authors recommend: similar seeds give unrelated states.
//
// State: the four words of state() and nothing else (normal() keeps no spare value), so a computation that saves and
// restores them continues exactly where it stopped.
//
// Determinism: next(), below(), uniform() and shuffle() use integer arithmetic and one exact product. normal() returns
// a quotient of doubles by correctly rounded operations; about 1% of attempts call std::log, only to compare.
//
// References:
//   D. Blackman and S. Vigna, Scrambled Linear Pseudorandom Number Generators, ACM TOMS 47, 2021:
//     https://arxiv.org/abs/1805.01407
//   G. L. Steele, D. Lea and C. H. Flood, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014:
//     https://doi.org/10.1145/2660193.2660195
//
// Example:
//
//     std::vector<int> order = {0, 1, 2, 3};
//     Random(1).shuffle(order);  // the same on every machine
//     Random first(stream_seed(/*seed=*/1, /*stream=*/0)), again(stream_seed(1, 0));
//     assert(first.uniform() == again.uniform() && first.below(6) < 6);
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/base/error.h"

namespace attnflow {

// One step of SplitMix64: advances `state` and returns the next of its 2^64 distinct outputs.
constexpr std::uint64_t splitmix64(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// The seed of stream number `stream` of a computation seeded with `seed`. Work that is split over threads seeds one
// generator per unit of work, so that the result does not depend on the threads.
constexpr std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t stream) {
  std::uint64_t state = seed;
  state = splitmix64(state) ^ stream;
  return splitmix64(state);
}

// Hash of a text: FNV-1a, 64 bits.
constexpr std::uint64_t name_hash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

// The seed of the stream for a named purpose: draws for one purpose do not depend on the number of draws for another.
constexpr std::uint64_t stream_seed(std::uint64_t seed, std::string_view purpose) {
  return stream_seed(seed, name_hash(purpose));
}

class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (std::uint64_t& word : state_) word = splitmix64(seed);
  }

  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // A uniformly distributed integer in [0, n). n must not be 0. Computed as the remainder of 64 random bits, redrawn if
  // they fall into the last block of n numbers, which is cut short by 2^64.
  std::uint64_t below(std::uint64_t n) {
    assert(n > 0);
    std::uint64_t bits = next();
    std::uint64_t result = bits % n;
    while (bits - result > 0 - n) {  // the block that starts at bits - result would end beyond 2^64
      bits = next();
      result = bits % n;
    }
    return result;
  }

  // A uniformly distributed multiple of 2^-53 in [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Standard normal: mean 0, variance 1. Ratio of uniforms (Kinderman and Monahan, ACM TOMS 1977) with the quadratic
  // bounds of Leva (ACM TOMS 1992), which decide nearly every attempt without a logarithm. Draws a varying number.
  double normal() {
    while (true) {
      const double u = 1 - uniform();               // (0, 1]
      const double v = 1.7156 * (uniform() - 0.5);  // 1.7156 > 2 sqrt(2 / e), the width of the region
      const double x = u - 0.449871;
      const double y = std::abs(v) + 0.386595;
      const double q = x * x + y * (0.19600 * y - 0.25472 * x);
      if (q < 0.27597) return v / u;
      if (q <= 0.27846 && v * v <= -4 * u * u * std::log(u)) return v / u;
    }
  }

  // Puts the values into a random order, all orders being equally likely (Fisher and Yates).
  template <typename T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t left = values.size(); left > 1; --left) {
      using std::swap;
      swap(values[left - 1], values[static_cast<std::size_t>(below(left))]);
    }
  }

  std::array<std::uint64_t, 4> state() const { return state_; }

  // Throws Error (kUsage) for four zeros, the one state that the generator cannot leave.
  void set_state(const std::array<std::uint64_t, 4>& state) {
    if (state == std::array<std::uint64_t, 4>{}) {
      throw Error(ErrorKind::kUsage, "the state of a random generator must not be all zeros; found four zero words");
    }
    state_ = state;
  }

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace attnflow
