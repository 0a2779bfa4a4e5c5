#include "attnflow/model/torch/decoder_attention.h"

#include <algorithm>
#include <limits>

#include "attnflow/model/torch/split_work.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

namespace {

// Queries per tile: enough that keys are rarely packed for the BLAS, few enough that the scores of a long text fit a
// core's cache.
constexpr std::int64_t kTile = 64;
constexpr std::size_t kRoomStep = 64;

struct Tile {
  std::int64_t head = 0;   // the first of `heads`
  std::int64_t heads = 1;  // more than one only with a single query
  std::int64_t query = 0;
  std::int64_t queries = 1;
};

std::vector<Tile> cut(std::int64_t heads, std::int64_t key_heads, std::int64_t queries) {
  std::vector<Tile> tiles;
  // With one query, the heads that share keys form a matrix.
  const std::int64_t shared = queries == 1 ? heads / key_heads : 1;
  for (std::int64_t head = 0; head < heads; head += shared) {
    for (std::int64_t query = 0; query < queries; query += kTile) {
      tiles.push_back({head, shared, query, std::min(kTile, queries - query)});
    }
  }
  return tiles;
}

// A tile's queries as one matrix for each head with its own keys: [G of the tile, rows, d], heads before queries.
at::Tensor rows_of(const AttentionTask& task, const Tile& tile, std::int64_t key_heads) {
  const std::int64_t d = task.form.head_width;
  const at::Tensor part = task.queries.narrow(0, tile.query, tile.queries).narrow(1, tile.head * d, tile.heads * d);
  const std::int64_t shared = tile.heads / key_heads;
  if (shared == 1 && key_heads == 1) return part.unsqueeze(0);
  return part.view({tile.queries, key_heads, shared, d}).permute({1, 2, 0, 3}).reshape({key_heads, -1, d});
}

void attend_tile(const AttentionTask& task, const Tile& tile) {
  const LayerForm& form = task.form;
  const std::int64_t d = form.head_width;
  const std::int64_t group = task.queries.size(1) / d / form.key_value_heads;
  const std::int64_t key_heads = std::max<std::int64_t>(1, tile.heads / group);
  const bool causal = task.all_keys == 0;
  const std::int64_t first = task.begin + tile.query;
  const std::int64_t key_end = causal ? first + tile.queries : task.all_keys;
  const std::int64_t key_begin = form.window == 0 ? 0 : std::max<std::int64_t>(0, first - form.window + 1);
  const std::int64_t seen = key_end - key_begin;
  const auto keys = [&](const at::Tensor& all) {  // [G of the tile, keys, d]
    return all.narrow(0, tile.head / group, key_heads).narrow(1, key_begin, seen);
  };
  const at::Tensor products = at::bmm(rows_of(task, tile, key_heads), keys(task.keys).transpose(1, 2));
  at::Tensor scores = products.view({tile.heads, tile.queries, seen});
  if (form.score_cap > 0.0) scores.div_(form.score_cap).tanh_().mul_(form.score_cap);
  if (form.slopes.defined()) {
    scores.add_(form.slopes(at::arange(key_begin, key_end, scores.options()), tile.head, tile.heads));
  }
  if (task.score_bias.defined()) {
    scores.add_(task.score_bias.narrow(0, tile.head, tile.heads)
                    .narrow(1, tile.query, tile.queries)
                    .narrow(2, key_begin, seen));
  }
  if (causal && tile.queries > 1) apply_causal_mask(scores, key_begin, first, form.window);
  const at::Tensor sinks =
      form.sinks.defined() ? form.sinks.narrow(0, tile.head, tile.heads).view({tile.heads, 1, 1}) : form.sinks;
  const at::Tensor weights = softmax_beside(scores, sinks);
  if (task.values.defined()) {
    const at::Tensor mixed = at::bmm(weights.view(products.sizes()), keys(task.values));
    task.context.narrow(0, tile.query, tile.queries)
        .narrow(1, tile.head * d, tile.heads * d)
        .view({tile.queries, tile.heads, d})
        .copy_(mixed.view({tile.heads, tile.queries, d}).transpose(0, 1));
  }
  if (!task.attention.defined()) return;
  const std::int64_t all_keys = task.attention.size(2);
  const at::Tensor place = task.attention.narrow(0, tile.head, tile.heads).narrow(1, tile.query, tile.queries);
  place.narrow(2, 0, key_begin).zero_();
  place.narrow(2, key_begin, seen).copy_(weights);
  place.narrow(2, key_end, all_keys - key_end).zero_();
}

}  // namespace

void apply_causal_mask(at::Tensor& scores, std::int64_t key_begin, std::int64_t query_begin, std::int64_t window) {
  const std::int64_t queries = scores.size(-2);
  const std::int64_t columns = scores.size(-1);
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const at::Tensor later = at::full({queries, queries}, kHidden, scores.options()).triu_(1);
  scores.narrow(-1, columns - queries, queries).add_(later);
  if (window == 0) return;
  const at::TensorOptions options = scores.options().dtype(at::kLong);
  const at::Tensor query = at::arange(query_begin, query_begin + queries, options).view({-1, 1});
  const at::Tensor key = at::arange(key_begin, key_begin + columns, options).view({1, -1});
  scores.masked_fill_(key <= query - window, kHidden);
}

at::Tensor softmax_beside(const at::Tensor& scores, const at::Tensor& sinks) {
  if (!sinks.defined()) return at::softmax(scores, -1);
  std::vector<std::int64_t> column = scores.sizes().vec();
  column.back() = 1;
  const at::Tensor weights = at::softmax(at::cat({scores, sinks.expand(column)}, -1), -1);
  return weights.narrow(-1, 0, scores.size(-1)).contiguous();
}

KeyValueCache::KeyValueCache(const ModelConfig& config, at::Device device)
    : heads_(to_signed(config.key_value_heads)),
      width_(to_signed(config.head_width)),
      most_(config.positions),
      device_(device),
      keys_(config.layers),
      values_(config.layers) {}

void KeyValueCache::reserve(std::size_t positions, std::size_t used) {
  if (positions <= room_) return;
  const std::size_t grown = (std::max(positions, room_ + room_ / 2) + kRoomStep - 1) / kRoomStep * kRoomStep;
  const std::size_t room = std::max(positions, std::min(grown, most_));
  // One tensor at a time, so that the old and the new cache never both exist in full.
  for (std::vector<at::Tensor>* const all : {&keys_, &values_}) {
    for (at::Tensor& one : *all) {
      const at::TensorOptions options = at::TensorOptions(at::kFloat).device(device_);
      const at::Tensor larger = at::empty({heads_, to_signed(room), width_}, options);
      if (used != 0) larger.narrow(1, 0, to_signed(used)).copy_(one.narrow(1, 0, to_signed(used)));
      one = larger;
    }
  }
  room_ = room;
}

void KeyValueCache::write(std::size_t layer, std::size_t begin, const at::Tensor& keys, const at::Tensor& values) {
  const std::int64_t n = keys.size(0);
  const auto store = [&](at::Tensor& to, const at::Tensor& from) {
    to.narrow(1, to_signed(begin), n).copy_(from.view({n, heads_, width_}).transpose(0, 1));
  };
  store(keys_[layer], keys);
  store(values_[layer], values);
}

void attend(const AttentionTask& task, std::size_t threads) {
  const std::int64_t n = task.queries.size(0);
  const std::int64_t heads = task.queries.size(1) / task.form.head_width;
  if (!task.queries.is_cpu()) {
    attend_tile(task, {0, heads, 0, n});
    return;
  }
  const std::vector<Tile> tiles = cut(heads, task.form.key_value_heads, n);
  const std::int64_t keys = task.all_keys == 0 ? task.begin + n : task.all_keys;
  const std::int64_t work = 2 * heads * n * keys * task.form.head_width;
  split_work(useful_threads(threads, work, kWorthOfAttention), to_signed(tiles.size()),
             [&](std::int64_t i) { attend_tile(task, tiles[static_cast<std::size_t>(i)]); });
}

}  // namespace attnflow::internal
