// How far apart two tokens stand, in steps that grow with the distance.
//
// Definition. Half of the buckets are for keys at or before the query, the other half for keys behind it. In each half
// of b buckets the first b / 2 hold the distances below b / 2, one each, and the others hold the rest in steps that
// grow in proportion, up to the farthest distance; what lies farther is in the last. Where no key stands behind its
// query, all buckets are one such half. (Raffel et al., JMLR 2020: T5's relative position bias.)
#ifndef ATTNFLOW_MODEL_DISTANCE_BUCKET_H_
#define ATTNFLOW_MODEL_DISTANCE_BUCKET_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace attnflow {

inline constexpr std::size_t kDistanceBuckets = 32;

struct DistanceBuckets {
  std::size_t count = kDistanceBuckets;
  std::size_t farthest = 128;  // above a quarter of the count; causal: above half of it
  bool causal = false;         // no key stands behind its query
};

// The bucket, from 0, of a key that stands `distance` behind its query.
inline std::int64_t distance_bucket(std::int64_t distance, const DistanceBuckets& buckets = {}) {
  const auto half = static_cast<std::int64_t>(buckets.causal ? buckets.count : buckets.count / 2);
  const std::int64_t exact = half / 2;
  const std::int64_t away = distance < 0 ? -distance : buckets.causal ? 0 : distance;
  const std::int64_t first = distance > 0 && !buckets.causal ? half : 0;
  if (away < exact) return first + away;
  // In float32, as models were trained: at the edges of buckets the last bit counts.
  const auto width = static_cast<float>(exact);
  const auto steps = static_cast<float>(std::log(static_cast<double>(buckets.farthest) / static_cast<double>(exact)));
  const float place = std::log(static_cast<float>(away) / width) / steps * static_cast<float>(half - exact);
  return first + std::min(exact + static_cast<std::int64_t>(place), half - 1);
}

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_DISTANCE_BUCKET_H_
