#include "attnflow/model/torch/encoder_positions.h"

#include <algorithm>
#include <numbers>
#include <vector>

#include "attnflow/model/distance_bucket.h"
#include "attnflow/model/model_config.h"

namespace attnflow::internal {

namespace {

// Distances from queries to keys, [query, key].
at::Tensor distances(std::int64_t tokens, const at::TensorOptions& options) {
  const at::Tensor positions = at::arange(tokens, options.dtype(at::kLong));
  return positions.unsqueeze(0) - positions.unsqueeze(1);
}

// Not infinite: padding is, and a batch row whose window holds nothing else would become NaN.
at::Tensor window_of(std::size_t window, std::int64_t tokens, const at::TensorOptions& options) {
  constexpr double kBelowAllScores = -1e30;
  const at::Tensor unseen = distances(tokens, options).abs() >= to_signed(window);
  return at::zeros({1, tokens, tokens}, options).masked_fill_(unseen, kBelowAllScores);
}

OccurringBuckets signed_buckets_of(const SignedBuckets& buckets, std::int64_t tokens,
                                   const at::TensorOptions& options) {
  std::vector<std::int64_t> numbers;  // bucket numbers, from the distance of the first query to the last key on
  for (std::int64_t distance = 1 - tokens; distance < tokens; ++distance) {
    numbers.push_back(signed_distance_bucket(distance, buckets));
  }
  const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
  OccurringBuckets found;
  found.first = *least;
  found.count = *most - *least + 1;
  for (std::int64_t& number : numbers) number -= found.first;
  const at::Tensor of_distance = at::tensor(numbers, at::TensorOptions(at::kLong)).to(options.device());
  found.places = of_distance.index({-distances(tokens, options) + tokens - 1});
  return found;
}

// Centers of `count` patches in a row, from -1 to 1.
at::Tensor middles(std::int64_t count) {
  return (at::arange(count, at::TensorOptions(at::kFloat)) + 0.5) / static_cast<double>(count) * 2.0 - 1.0;
}

}  // namespace

at::Tensor distance_scores_of(const at::Tensor& bias, const DistanceBuckets& buckets, std::int64_t query_begin,
                              std::int64_t queries, std::int64_t keys) {
  const std::int64_t nearest = -(query_begin + queries - 1);
  std::vector<std::int64_t> numbers;  // bucket numbers, from distance `nearest` on
  for (std::int64_t distance = nearest; distance < keys - query_begin; ++distance) {
    numbers.push_back(distance_bucket(distance, buckets));
  }
  const at::Tensor of_distance = at::tensor(numbers, at::TensorOptions(at::kLong)).to(bias.device());
  const at::Tensor values = at::embedding(bias, of_distance);  // [distance, H]
  const at::TensorOptions options = bias.options().dtype(at::kLong);
  const at::Tensor places = at::arange(keys, options).unsqueeze(0) -
                            at::arange(query_begin, query_begin + queries, options).unsqueeze(1) - nearest;
  return at::embedding(values, places).permute({2, 0, 1}).contiguous();
}

at::Tensor PatchDistances::operator()(const at::Tensor& table) const {
  const std::int64_t heads = table.size(1);
  const std::int64_t high = 2 * rows - 1;
  const std::int64_t wide = 2 * columns - 1;
  const std::int64_t apart = (2 * trained_rows - 1) * (2 * trained_columns - 1);
  at::Tensor grid = table.narrow(0, 0, apart).t().reshape({1, heads, 2 * trained_rows - 1, 2 * trained_columns - 1});
  if (rows != trained_rows || columns != trained_columns) {
    const std::vector<std::int64_t> size = {high, wide};
    grid = at::upsample_bilinear2d(grid, at::IntArrayRef(size), /*align_corners=*/false);
  }
  const auto differences = [&](std::int64_t count) {  // [query, key], from 0
    const at::Tensor all = at::arange(count, table.options().dtype(at::kLong));
    return all.unsqueeze(1) - all + count - 1;
  };
  const at::Tensor places =
      differences(rows).view({rows, 1, rows, 1}) * wide + differences(columns).view({1, columns, 1, columns});
  const std::int64_t patches = rows * columns;
  const at::Tensor between =
      grid.reshape({heads, high * wide}).index_select(1, places.flatten()).view({heads, patches, patches});
  const at::Tensor of_class = table.narrow(0, apart, 3).t().unsqueeze(-1);  // [H, 3, 1]
  const at::Tensor first = at::cat({of_class.narrow(1, 2, 1), of_class.narrow(1, 0, 1).expand({heads, 1, patches})}, 2);
  return at::cat({first, at::cat({of_class.narrow(1, 1, 1).expand({heads, patches, 1}), between}, 2)}, 1);
}

Rotation rotation_of_patches(const ModelTensors& tensors, std::int64_t rows, std::int64_t columns) {
  if (!tensors.frequencies.defined()) return {};
  constexpr double kTurn = 2.0 * std::numbers::pi;
  const at::Tensor frequencies = tensors.frequencies.to(at::kCPU);
  const std::int64_t each = frequencies.size(0);
  const auto spread = [&](const at::Tensor& angles) { return angles.expand({rows, columns, each}); };
  const at::Tensor down = spread((kTurn * middles(rows)).view({-1, 1, 1}) * frequencies);
  const at::Tensor across = spread((kTurn * middles(columns)).view({1, -1, 1}) * frequencies);
  const at::Tensor patches = at::cat({down, across}, -1).reshape({rows * columns, 1, 2 * each});
  const at::Tensor unturned = at::zeros({to_signed(tensors.config.image->leading.size()), 1, 2 * each});
  const at::Tensor angles = at::cat({unturned, patches});
  return {at::cos(angles).to(tensors.device), at::sin(angles).to(tensors.device)};
}

TokenPlaces::TokenPlaces(const ModelTensors& tensors, std::int64_t rows, std::int64_t columns) {
  const ImageInfo& image = *tensors.config.image;
  patch_distances = {to_signed(image.rows()), to_signed(image.columns()), rows, columns};
}

TokenPlaces::TokenPlaces(const ModelTensors& tensors, std::int64_t tokens) {
  const ModelConfig& config = tensors.config;
  const at::TensorOptions options = at::TensorOptions(at::kFloat).device(tensors.device);
  if (config.buckets) distance_scores = distance_scores_of(tensors.distance_bias, *config.buckets, 0, tokens, tokens);
  if (config.distances.span > 0) distance_buckets = signed_buckets_of(config.distances, tokens, options);
  const auto near = std::max_element(config.windows.begin(), config.windows.end());
  if (*near != 0) window = window_of(*near, tokens, options);
}

}  // namespace attnflow::internal
