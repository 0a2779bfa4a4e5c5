#include "attnflow/rollout/incremental_rollout.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/rollout/matrix_product.h"

namespace attnflow {
namespace {

// Stored rows per product. Aligned to positions, so that the order of sums does not depend on chunks.
constexpr std::size_t kBlockRows = 64;
// New rows computed together: as many as the kernel of multiply() handles at once.
constexpr std::size_t kGroupRows = 4;

struct Workspace {
  std::vector<double> factor;   // [group, stored rows of a block]
  std::vector<double> product;  // [group, columns of the block]
};

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
        "rollout of a generation: expected no --discard, which drops the smallest weights of whole layers, but a "
        "generation adds one row at a time");
  }
  check_residual(mixing.residual);
  layers_.resize(options_.layers + 1);
  layers_.back().begin = options_.first_row;
}

std::size_t IncrementalRollout::seen_by(std::size_t position) const { return std::max(position + 1, options_.source); }

std::size_t IncrementalRollout::width_of(std::size_t position) const {
  return options_.columns == 0 ? seen_by(position) : std::min(options_.columns, seen_by(position));
}

double* IncrementalRollout::append_row(Layer& layer, std::size_t position) const {
  const std::size_t index = position - layer.begin;
  if (index / kBlockRows >= layer.blocks.size()) {
    Block block;
    block.width = width_of(position + kBlockRows - 1);
    block.values.resize(kBlockRows * block.width);
    layer.blocks.push_back(std::move(block));
  }
  Block& block = layer.blocks[index / kBlockRows];
  double* const row = block.values.data() + index % kBlockRows * block.width;
  // If a computation ran out of memory and is retried, the first attempt's values are still here.
  std::fill_n(row, width_of(position), 0.0);
  return row;
}

const double* IncrementalRollout::find_row(const Layer& layer, std::size_t position) const {
  const std::size_t index = position - layer.begin;
  const Block& block = layer.blocks[index / kBlockRows];
  return block.values.data() + index % kBlockRows * block.width;
}

std::span<const double> IncrementalRollout::row(std::size_t layer, std::size_t position) const {
  if (layer == 0 || layer >= layers_.size())
    fail_with(ErrorKind::kUsage, "rollout: expected a layer from 1 to {}, found {}", options_.layers, layer);
  const Layer& stored = layers_[layer];
  if (position < stored.begin || position >= stored.seen) {
    fail_with(ErrorKind::kUsage, "rollout: expected a position from {} to {} for layer {}, found {}", stored.begin,
              stored.seen, layer, position);
  }
  if (position >= stored.rows) compute_waiting();
  return {find_row(stored, position), width_of(position)};
}

void IncrementalRollout::layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) {
  fused_layer(layer, query_begin, fused_rows(attention, options_.mixing, query_begin).view());
}

void IncrementalRollout::fused_layer(std::size_t layer, std::size_t query_begin, TensorView<const double> weights) {
  const std::size_t queries = weights.extent(0);
  const std::size_t keys = weights.extent(1);
  const std::size_t end = query_begin + queries;
  const bool cuts_source = query_begin < options_.source && (query_begin != 0 || end < options_.source);
  if (layer == 0 || layer > options_.layers || layers_[layer].seen != query_begin || keys < end || cuts_source ||
      (layer == 1 && layers_.back().seen != query_begin) || (layer > 1 && layers_[layer - 1].seen != end)) {
    fail_with(ErrorKind::kOther,
              "rollout of a generation: expected the rows of each of {} layers in "
              "order, found rows {} to {} of layer {} with {} keys",
              options_.layers, query_begin, end, layer, keys);
  }
  const bool waits = queries < kBatchRows;
  // Waiting rows belong below the new ones, in every layer.
  if (!waits && layer == 1) compute_waiting();
  Layer& target = layers_[layer];
  std::vector<NewRow> rows;
  for (std::size_t position = std::max(query_begin, target.begin); position < end; ++position) {
    const double* const row = weights.data() + (position - query_begin) * keys;
    if (waits) {
      target.waiting.insert(target.waiting.end(), row, row + seen_by(position));
    } else {
      rows.push_back({position, row, append_row(target, position)});
    }
  }
  target.seen = end;
  if (!waits) {
    if (!rows.empty()) compute(layer, rows);
    target.rows = end;
  } else if (layer == options_.layers && target.seen - target.rows >= kBatchRows) {
    compute_waiting();
  }
}

void IncrementalRollout::compute_waiting() const {
  for (std::size_t layer = 1; layer <= options_.layers; ++layer) {
    Layer& target = layers_[layer];
    std::vector<NewRow> rows;
    const double* weights = target.waiting.data();
    for (std::size_t position = std::max(target.rows, target.begin); position < target.seen; ++position) {
      rows.push_back({position, weights, append_row(target, position)});
      weights += seen_by(position);
    }
    if (!rows.empty()) compute(layer, rows);
    target.waiting.clear();  // keeps the memory for later rows
    target.rows = target.seen;
  }
}

void IncrementalRollout::compute(std::size_t layer, const std::vector<NewRow>& rows) const {
  const Layer& below = layers_[layer - 1];
  const double rho = options_.mixing.residual;
  const auto identity_below = [&](const NewRow& row) {
    const std::size_t width = width_of(row.position);
    for (std::size_t j = 0; j < width; ++j) row.out[j] = (1.0 - rho) * row.weights[j];
    if (row.position < width) row.out[row.position] += rho;
  };
  if (layer == 1) {
    for (const NewRow& row : rows) identity_below(row);
    return;
  }
  // Adds the contribution of the stored rows [begin, begin + inner) to rows [first, first + count).
  const auto add_block = [&](std::size_t first, std::size_t count, std::size_t begin, Workspace& space) {
    const std::size_t inner = std::min(kBlockRows, seen_by(rows[first + count - 1].position) - begin);
    const Block& block = below.blocks[begin / kBlockRows];
    space.factor.assign(count * inner, 0.0);
    space.product.resize(std::max(space.product.size(), count * block.width));
    for (std::size_t r = 0; r < count; ++r) {
      const NewRow& row = rows[first + r];
      const std::size_t seen = seen_by(row.position);
      if (seen <= begin) continue;
      std::copy_n(row.weights + begin, std::min(inner, seen - begin), space.factor.data() + r * inner);
    }
    multiply({space.factor.data(), {count, inner}}, {block.values.data(), {inner, block.width}},
             {space.product.data(), {count, block.width}});
    for (std::size_t r = 0; r < count; ++r) {
      double* const out = rows[first + r].out;
      const std::size_t width = std::min(block.width, width_of(rows[first + r].position));
      for (std::size_t j = 0; j < width; ++j) out[j] += space.product[r * block.width + j];
    }
  };
  const ParallelOptions parallel{.threads = options_.threads};
  const std::size_t share = (rows.size() + resolve_threads(options_.threads) - 1) / resolve_threads(options_.threads);
  const std::size_t task_rows = std::min(kBatchRows, (share + kGroupRows - 1) / kGroupRows * kGroupRows);
  parallel_for((rows.size() + task_rows - 1) / task_rows, parallel, [&](std::size_t task, std::size_t) {
    const std::size_t task_begin = task * task_rows;
    const std::size_t task_end = std::min(rows.size(), task_begin + task_rows);
    Workspace space;
    // Takes all rows of the task per block, so that each block is loaded from memory once.
    for (std::size_t begin = 0; begin < seen_by(rows[task_end - 1].position); begin += kBlockRows) {
      for (std::size_t first = task_begin; first < task_end; first += kGroupRows) {
        const std::size_t count = std::min(kGroupRows, task_end - first);
        if (seen_by(rows[first + count - 1].position) > begin) add_block(first, count, begin, space);
      }
    }
    for (std::size_t r = task_begin; r < task_end; ++r) {
      const NewRow& row = rows[r];
      const double* const same = find_row(below, row.position);
      const std::size_t width = width_of(row.position);
      for (std::size_t j = 0; j < width; ++j) row.out[j] = (1.0 - rho) * row.out[j] + rho * same[j];
    }
  });
}

std::size_t IncrementalRollout::bytes(const IncrementalRolloutOptions& options, std::size_t prompt,
                                      std::size_t generated) {
  const std::size_t total = prompt + generated;
  const auto rows_from = [&](std::size_t begin) {
    std::size_t numbers = 0;
    for (std::size_t position = begin; position < total; position += kBlockRows) {
      const std::size_t last = std::max(position + kBlockRows, options.source);
      numbers += kBlockRows * (options.columns == 0 ? last : std::min(options.columns, last));
    }
    return numbers;
  };
  // Waiting rows are stored in vectors, which may have room for twice as many.
  const std::size_t waiting = 2 * options.layers * std::min(kBatchRows, generated) * total;
  return sizeof(double) * ((options.layers - 1) * rows_from(0) + rows_from(options.first_row) + waiting);
}

}  // namespace attnflow
