// Assigns the distance between two tokens to one of a few buckets, whose widths grow with the distance.
//
// Definition. Half of the buckets are for keys at or before the query, the other half for keys after it. In each half
// of b buckets the first b / 2 hold the distances below b / 2, one each; the others grow in proportion up to the
// farthest distance, and larger distances are in the last bucket. If no key comes after its query, all buckets form one
// half. (Raffel et al., JMLR 2020: T5's relative position bias.)
//
// DeBERTa's buckets are on either side of 0, negative for keys after the query: with m = span / 2, a distance of at
// most m is its own bucket, and one of r > m is in bucket
//   m + ceil((m - 1) log(r / m) / log((farthest - 1) / m))
// (He et al., DeBERTa, ICLR 2021, https://arxiv.org/abs/2006.03654; make_log_bucket_position in its code.)
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace attnflow {

inline constexpr std::size_t kDistanceBuckets = 32;

struct DistanceBuckets {
  std::size_t count = kDistanceBuckets;
  std::size_t farthest = 128;  // above a quarter of the count; causal: above half of it
  bool causal = false;         // no key comes after its query
};

// Returns the bucket, from 0, of a key that comes `distance` tokens after its query.
inline std::int64_t distance_bucket(std::int64_t distance, const DistanceBuckets& buckets = {}) {
  const auto half = static_cast<std::int64_t>(buckets.causal ? buckets.count : buckets.count / 2);
  const std::int64_t exact = half / 2;
  const std::int64_t away = distance < 0 ? -distance : buckets.causal ? 0 : distance;
  const std::int64_t first = distance > 0 && !buckets.causal ? half : 0;
  if (away < exact) return first + away;
  // Uses float32, as in training: at bucket edges the last bit matters.
  const auto width = static_cast<float>(exact);
  const auto steps = static_cast<float>(std::log(static_cast<double>(buckets.farthest) / static_cast<double>(exact)));
  const float place = std::log(static_cast<float>(away) / width) / steps * static_cast<float>(half - exact);
  return first + std::min(exact + static_cast<std::int64_t>(place), half - 1);
}

struct SignedBuckets {
  std::size_t span = 0;      // on either side
  std::size_t farthest = 0;  // if buckets grow, above span / 2 + 1
  bool grow = false;         // buckets widen with the distance; otherwise each distance is a bucket
};

// Returns the bucket, from 0 to 2 span - 1, of a key that comes `distance` tokens before its query (after it: below 0).
inline std::int64_t signed_distance_bucket(std::int64_t distance, const SignedBuckets& buckets) {
  const auto span = static_cast<std::int64_t>(buckets.span);
  const std::int64_t exact = span / 2;
  const std::int64_t away = std::abs(distance);
  std::int64_t bucket = away;
  if (buckets.grow && away > exact) {
    const auto width = static_cast<double>(exact);
    const float all = std::log(static_cast<float>(static_cast<double>(buckets.farthest - 1) / width));
    const float steps = std::log(static_cast<float>(away) / static_cast<float>(exact)) / all;
    bucket = exact + static_cast<std::int64_t>(std::ceil(steps * static_cast<float>(exact - 1)));
  }
  return std::clamp((distance < 0 ? -bucket : bucket) + span, std::int64_t{0}, 2 * span - 1);
}

}  // namespace attnflow
