// Position-dependent parts of an encoder's attention, apart from its embeddings.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>

#include "attnflow/model/distance_bucket.h"
#include "attnflow/model/torch/model_tensors.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// Returns the terms added to scores for the distance from query to key, [H, query, key], for `queries` queries from
// `query_begin` on and the keys from 0 on. `bias`: [buckets, H].
at::Tensor distance_scores_of(const at::Tensor& bias, const DistanceBuckets& buckets, std::int64_t query_begin,
                              std::int64_t queries, std::int64_t keys);

// Maps each pair of tokens in images of rows x columns patches, after a class token, to an entry in a table of the
// distances between the R x S patches of the training images. For a query's patch y rows below and x columns to the
// right of the key's, the entry is at (y + R - 1) (2 S - 1) + x + S - 1; three more follow, for the class token as
// query, as key, and as both. Another grid's table is resampled (bilinear, corners not aligned). (BEiT: Bao et al.,
// ICLR 2022, https://arxiv.org/abs/2106.08254.)
struct PatchDistances {
  // Returns the terms added to scores, [H, query, key], from a table [(2 R - 1) (2 S - 1) + 3, H].
  at::Tensor operator()(const at::Tensor& table) const;

  std::int64_t trained_rows = 0;
  std::int64_t trained_columns = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// A patch whose center is at y and x, both from -1 to 1 across the image, is rotated by the angles 2 pi y f_i and then
// 2 pi x f_i, with f_i = theta^(-4 i / d) for i below d / 4; the tokens before the patches are not rotated. (DINOv3:
// Simeoni et al., 2025, https://arxiv.org/abs/2508.10104.)
Rotation rotation_of_patches(const ModelTensors& tensors, std::int64_t rows, std::int64_t columns);

// Members that a model does not use are undefined.
struct TokenPlaces {
  TokenPlaces() = default;
  TokenPlaces(const ModelTensors& tensors, std::int64_t tokens);
  TokenPlaces(const ModelTensors& tensors, std::int64_t rows, std::int64_t columns);

  OccurringBuckets distance_buckets;  // for DistanceTerms
  PatchDistances patch_distances;     // for an image
  at::Tensor distance_scores;         // [H, query, key]: added to scores for the distance from query to key
  at::Tensor window;                  // [1, query, key]: 0 if the key is near enough, else a number below all scores
};

}  // namespace attnflow::internal
