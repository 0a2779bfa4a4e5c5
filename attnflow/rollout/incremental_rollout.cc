#include "attnflow/rollout/incremental_rollout.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/rollout/matrix_product.h"

namespace attnflow {
namespace {

// Stored rows that one product takes. Aligned to positions, so the order of sums does not depend on chunks.
constexpr std::size_t kBlockRows = 64;
// New rows that are computed together: what the kernel of multiply() takes at once.
constexpr std::size_t kGroupRows = 4;

}  // namespace

IncrementalRollout::IncrementalRollout(IncrementalRolloutOptions options) : options_(std::move(options)) {
  const auto refuse = [](const char* what) { throw Error(ErrorKind::kUsage, what); };
  const MixingOptions& mixing = options_.mixing;
  if (options_.layers == 0) refuse("rollout: expected at least one layer, found none");
  if (mixing.heads == HeadFusion::kSingle) {
    refuse(
        "rollout of a generation: expected heads fused by mean, max or min, found a single head, whose layers below "
        "the top one are fused differently; use --heads mean, max or min");
  }
  if (mixing.discard > 0.0) {
    refuse(
        "rollout of a generation: expected no --discard, whose smallest weights are those of a whole layer, while a "
        "generation adds row after row");
  }
  if (!(mixing.residual >= 0.0 && mixing.residual <= 1.0)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("residual: expected a weight from 0 to 1, found {}", options_.mixing.residual));
  }
  layers_.resize(options_.layers + 1);
  layers_.back().begin = options_.first_row;
}

std::size_t IncrementalRollout::width_of(std::size_t position) const {
  return options_.columns == 0 ? position + 1 : std::min(options_.columns, position + 1);
}

double* IncrementalRollout::append_row(Layer& layer, std::size_t position) {
  const std::size_t index = position - layer.begin;
  if (index % kBlockRows == 0) {
    Block block;
    block.width = width_of(position + kBlockRows - 1);
    block.values.resize(kBlockRows * block.width);
    layer.blocks.push_back(std::move(block));
  }
  Block& block = layer.blocks.back();
  return block.values.data() + index % kBlockRows * block.width;
}

const double* IncrementalRollout::find_row(const Layer& layer, std::size_t position) const {
  const std::size_t index = position - layer.begin;
  const Block& block = layer.blocks[index / kBlockRows];
  return block.values.data() + index % kBlockRows * block.width;
}

std::span<const double> IncrementalRollout::row(std::size_t layer, std::size_t position) const {
  if (layer == 0 || layer >= layers_.size()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("rollout: expected a layer from 1 to {}, found {}", options_.layers, layer));
  }
  const Layer& stored = layers_[layer];
  if (position < stored.begin || position >= stored.rows) {
    throw Error(ErrorKind::kUsage, fmt::format("rollout: expected a position from {} to {} for layer {}, found {}",
                                               stored.begin, stored.rows, layer, position));
  }
  return {find_row(stored, position), width_of(position)};
}

void IncrementalRollout::layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) {
  fused_layer(layer, query_begin, fused_rows(attention, options_.mixing).view());
}

void IncrementalRollout::fused_layer(std::size_t layer, std::size_t query_begin, TensorView<const double> weights) {
  const std::size_t queries = weights.extent(0);
  const std::size_t keys = weights.extent(1);
  const std::size_t end = query_begin + queries;
  if (layer == 0 || layer > options_.layers || layers_[layer].rows != query_begin || keys < end ||
      (layer > 1 && layers_[layer - 1].rows != end)) {
    throw Error(ErrorKind::kOther, fmt::format("rollout of a generation: expected the rows of each of {} layers in "
                                               "order, found rows {} to {} of layer {} with {} keys",
                                               options_.layers, query_begin, end, layer, keys));
  }
  Layer& target = layers_[layer];
  const Layer& below = layers_[layer - 1];
  std::vector<std::pair<std::size_t, double*>> rows;  // position and where its row goes
  for (std::size_t position = std::max(query_begin, target.begin); position < end; ++position) {
    rows.emplace_back(position, append_row(target, position));
  }

  const double rho = options_.mixing.residual;
  const auto identity_below = [&](std::size_t position, double* out) {
    const double* row = weights.data() + (position - query_begin) * keys;
    const std::size_t width = width_of(position);
    for (std::size_t j = 0; j < width; ++j) out[j] = (1.0 - rho) * row[j];
    if (position < width) out[position] += rho;
  };
  const auto group = [&](std::size_t first, std::size_t count) {
    std::vector<double> factor(count * kBlockRows);
    std::vector<double> product(count * width_of(rows[first + count - 1].first));
    const std::size_t seen = rows[first + count - 1].first + 1;  // keys that the last row of the group sees
    for (std::size_t b = 0; b * kBlockRows < seen; ++b) {
      const std::size_t inner = std::min(kBlockRows, seen - b * kBlockRows);
      for (std::size_t r = 0; r < count; ++r) {
        const double* row = weights.data() + (rows[first + r].first - query_begin) * keys + b * kBlockRows;
        std::copy_n(row, inner, factor.data() + r * inner);
      }
      const Block& block = below.blocks[b];
      product.resize(std::max(product.size(), count * block.width));
      multiply({factor.data(), {count, inner}}, {block.values.data(), {inner, block.width}},
               {product.data(), {count, block.width}});
      for (std::size_t r = 0; r < count; ++r) {
        double* out = rows[first + r].second;
        const std::size_t width = std::min(block.width, width_of(rows[first + r].first));
        for (std::size_t j = 0; j < width; ++j) out[j] += product[r * block.width + j];
      }
    }
    for (std::size_t r = 0; r < count; ++r) {
      const auto [position, out] = rows[first + r];
      const double* same = find_row(below, position);
      const std::size_t width = width_of(position);
      for (std::size_t j = 0; j < width; ++j) out[j] = (1.0 - rho) * out[j] + rho * same[j];
    }
  };
  if (layer == 1) {
    for (const auto& [position, out] : rows) identity_below(position, out);
  } else {
    ParallelOptions parallel;
    parallel.threads = options_.threads;
    const std::size_t groups = (rows.size() + kGroupRows - 1) / kGroupRows;
    parallel_for(groups, parallel, [&](std::size_t g, std::size_t) {
      const std::size_t first = g * kGroupRows;
      group(first, std::min(kGroupRows, rows.size() - first));
    });
  }
  target.rows = end;
}

std::size_t IncrementalRollout::bytes(const IncrementalRolloutOptions& options, std::size_t prompt,
                                      std::size_t generated) {
  const std::size_t total = prompt + generated;
  const auto rows_from = [&](std::size_t begin) {
    std::size_t numbers = 0;
    for (std::size_t position = begin; position < total; position += kBlockRows) {
      const std::size_t last = position + kBlockRows;
      numbers += kBlockRows * (options.columns == 0 ? last : std::min(options.columns, last));
    }
    return numbers;
  };
  return sizeof(double) * ((options.layers - 1) * rows_from(0) + rows_from(options.first_row));
}

}  // namespace attnflow
