// How the attention of an encoder depends on where tokens stand, beside what its embeddings say.
#ifndef ATTNFLOW_MODEL_TORCH_ENCODER_POSITIONS_H_
#define ATTNFLOW_MODEL_TORCH_ENCODER_POSITIONS_H_

#include <ATen/ATen.h>

#include <cstdint>

#include "attnflow/model/distance_bucket.h"
#include "attnflow/model/torch/encoder_tensors.h"
#include "attnflow/model/torch/transformer_layer.h"

namespace attnflow::internal {

// What is added to scores by how far the key stands from the query: [H, query, key], of so many queries from
// `query_begin` on and of the keys from 0 on. `bias`: [buckets, H].
at::Tensor distance_scores_of(const at::Tensor& bias, const DistanceBuckets& buckets, std::int64_t query_begin,
                              std::int64_t queries, std::int64_t keys);

// Of pictures of rows x columns patches, with a class token before them: where each pair of tokens finds its number in
// a table of the distances of R x S patches, those of the training pictures. A query's patch y rows below and x columns
// right of the key's is at (y + R - 1) (2 S - 1) + x + S - 1; behind these are three numbers more, of the class token
// as query, as key, and as both. For another grid the table is resampled (bilinear, corners not aligned).
// (BEiT: Bao et al., ICLR 2022, https://arxiv.org/abs/2106.08254.)
struct PatchDistances {
  // What is added to scores, [H, query, key], of a table [(2 R - 1) (2 S - 1) + 3, H].
  at::Tensor operator()(const at::Tensor& table) const;

  std::int64_t trained_rows = 0;
  std::int64_t trained_columns = 0;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

// What a model has not is undefined.
struct TokenPlaces {
  TokenPlaces() = default;
  // Of a text of so many tokens.
  TokenPlaces(const EncoderTensors& tensors, std::int64_t tokens);
  // Of a picture of rows x columns patches. A patch whose middle is at y and x, both from -1 to 1 across the picture,
  // is turned by the angles 2 pi y f_i and then 2 pi x f_i, with f_i = theta^(-4 i / d) for i below d / 4; the tokens
  // before the patches are not turned. (DINOv3: Simeoni et al., 2025, https://arxiv.org/abs/2508.10104.)
  TokenPlaces(const EncoderTensors& tensors, std::int64_t rows, std::int64_t columns);

  OccurringBuckets distance_buckets;  // of what DistanceTerms are of
  PatchDistances patch_distances;     // of a picture

  // In layers whose tokens see all others.
  Rotation rotation;
  at::Tensor distance_scores;  // [H, query, key]: added to scores by how far the key stands from the query

  // In those whose tokens see the ones near them.
  Rotation local_rotation;
  at::Tensor window;  // [1, query, key]: 0 where the key is seen, else a number below all scores
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_MODEL_TORCH_ENCODER_POSITIONS_H_
