#include "attnflow/graph/contribution_tiles.h"

#include <cmath>

namespace attnflow::internal {

void project_keys(const ContributionLayer& layer, std::size_t first, std::size_t count, const Slice& slice,
                  float* vectors) {
  const std::size_t key_stride = (layer.heads + 1) * slice.length;
  for (std::size_t h = 0; h < layer.heads; ++h) {
    project_values({.values = layer.value(first, h),
                    .value_stride = layer.key_heads * layer.width,
                    .rows = count,
                    .width = layer.width,
                    .projection = layer.projection.data() + (h * layer.stride + slice.begin) * layer.width,
                    .length = slice.length,
                    .out = vectors + h * slice.length,
                    .out_stride = key_stride});
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (first + k < layer.query_begin) continue;
    std::copy_n(layer.residual + (first + k - layer.query_begin) * layer.stride + slice.begin, slice.length,
                vectors + k * key_stride + layer.heads * slice.length);
  }
}

OutputSigns::OutputSigns(const ContributionLayer& layer)
    : stride_(layer.stride), twice_(layer.queries * layer.stride), signs_(layer.queries * layer.stride) {
  for (std::size_t e = 0; e < twice_.size(); ++e) {
    twice_[e] = 2.0F * std::abs(layer.output[e]);
    signs_[e] = std::copysign(0.0F, layer.output[e]);
  }
}

GroupOutputs OutputSigns::of(const QueryGroup& group, const Slice& slice) const {
  GroupOutputs outputs{.count = group.count};
  for (std::size_t g = 0; g < group.count; ++g) {
    outputs.twice[g] = twice_.data() + group.queries[g] * stride_ + slice.begin;
    outputs.signs[g] = signs_.data() + group.queries[g] * stride_ + slice.begin;
  }
  return outputs;
}

}  // namespace attnflow::internal
