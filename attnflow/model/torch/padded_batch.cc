#include "attnflow/model/torch/padded_batch.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

PaddedBatch make_batch(const ModelConfig& config, std::span<const std::int64_t> ids,
                       std::span<const std::int64_t> type_ids, std::span<const std::size_t> lengths, std::size_t length,
                       at::Device device) {
  const std::size_t rows = lengths.size();
  std::vector<std::int64_t> positions(rows * length, 0);
  std::vector<float> mask(rows * length, 0.0F);
  bool padded = false;
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<std::int64_t> row = position_ids(config, ids.subspan(r * length, lengths[r]));
    std::copy(row.begin(), row.end(), positions.begin() + to_signed(r * length));
    if (lengths[r] == length) continue;
    padded = true;
    std::fill(mask.begin() + to_signed(r * length + lengths[r]), mask.begin() + to_signed((r + 1) * length),
              -std::numeric_limits<float>::infinity());
  }
  const std::vector<std::int64_t> shape = {to_signed(rows), to_signed(length)};
  const auto indices = [&](std::span<const std::int64_t> values) {
    return at::tensor(at::ArrayRef<std::int64_t>(values.data(), values.size()), at::TensorOptions(at::kLong))
        .view(shape)
        .to(device);
  };
  PaddedBatch batch;
  batch.ids = indices(ids);
  if (!type_ids.empty()) batch.type_ids = indices(type_ids);
  batch.position_ids = indices(positions);
  if (padded) batch.padding = at::tensor(mask).view({shape[0], 1, 1, 1, shape[1]}).to(device);
  return batch;
}

std::vector<std::vector<std::size_t>> group_by_length(std::span<const BatchItem> inputs, std::size_t max_tokens) {
  std::vector<std::size_t> order(inputs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto length = [&](std::size_t i) { return inputs[i].tokens; };
  const auto size = [&](std::size_t i) -> const Shape& { return inputs[i].size; };
  // Longest first, so that the largest batches do not come last; images of one size together.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return length(a) != length(b) ? length(a) > length(b) : size(a) > size(b);
  });
  std::vector<std::vector<std::size_t>> groups;
  for (const std::size_t i : order) {
    if (groups.empty() || (groups.back().size() + 1) * length(groups.back().front()) > max_tokens ||
        size(i) != size(groups.back().front())) {
      groups.emplace_back();
    }
    groups.back().push_back(i);
  }
  return groups;
}

}  // namespace attnflow::internal
