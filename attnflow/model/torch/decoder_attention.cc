#include "attnflow/model/torch/decoder_attention.h"

#include <algorithm>
#include <limits>

#include "attnflow/model/torch/split_work.h"
#include "attnflow/model/torch/tensor_source.h"

namespace attnflow::internal {

namespace {

// Queries of a tile: enough that a key is packed for the BLAS once in a while only, few enough that the scores of a
// long text stay in a core's cache.
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
  // One query: the heads that share keys make a matrix of their own.
  const std::int64_t shared = queries == 1 ? heads / key_heads : 1;
  for (std::int64_t head = 0; head < heads; head += shared) {
    for (std::int64_t query = 0; query < queries; query += kTile) {
      tiles.push_back({head, shared, query, std::min(kTile, queries - query)});
    }
  }
  return tiles;
}

}  // namespace

void apply_causal_mask(at::Tensor& scores, std::int64_t key_begin, std::int64_t query_begin, std::int64_t window) {
  const std::int64_t queries = scores.size(0);
  const std::int64_t columns = scores.size(1);
  constexpr float kHidden = -std::numeric_limits<float>::infinity();
  const at::Tensor later = at::full({queries, queries}, kHidden, scores.options()).triu_(1);
  scores.narrow(1, columns - queries, queries).add_(later);
  if (window == 0) return;
  const at::Tensor query = at::arange(query_begin, query_begin + queries).view({-1, 1});
  const at::Tensor key = at::arange(key_begin, key_begin + columns).view({1, -1});
  scores.masked_fill_(key <= query - window, kHidden);
}

KeyValueCache::KeyValueCache(const DecoderConfig& config)
    : heads_(to_signed(config.key_value_heads)),
      width_(to_signed(config.head_width)),
      most_(config.positions),
      keys_(config.layers),
      values_(config.layers) {}

void KeyValueCache::reserve(std::size_t positions, std::size_t used) {
  if (positions <= room_) return;
  const std::size_t grown = (std::max(positions, room_ + room_ / 2) + kRoomStep - 1) / kRoomStep * kRoomStep;
  const std::size_t room = std::max(positions, std::min(grown, most_));
  // One tensor at a time, so that old and new ones are never all there at once.
  for (std::vector<at::Tensor>* const all : {&keys_, &values_}) {
    for (at::Tensor& one : *all) {
      const at::Tensor larger = at::empty({heads_, to_signed(room), width_}, at::TensorOptions(at::kFloat));
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

AttentionTask::AttentionTask(const LayerForm& form)
    : key_heads(form.key_value_heads),
      width(form.head_width),
      window(form.window),
      slopes(form.slopes),
      score_cap(form.score_cap) {}

void attend(const AttentionTask& task, std::size_t threads) {
  const std::int64_t n = task.queries.size(0);
  const std::int64_t d = task.width;
  const std::int64_t heads = task.queries.size(1) / d;
  const std::int64_t group = heads / task.key_heads;
  const std::vector<Tile> tiles = cut(heads, task.key_heads, n);
  const bool causal = task.all_keys == 0;
  const std::int64_t work = 2 * heads * n * (causal ? task.begin + n : task.all_keys) * d;
  split_work(useful_threads(threads, work, kWorthOfAttention), to_signed(tiles.size()), [&](std::int64_t i) {
    const Tile& tile = tiles[static_cast<std::size_t>(i)];
    const std::int64_t first = task.begin + tile.query;
    const std::int64_t key_end = causal ? first + tile.queries : task.all_keys;
    const std::int64_t key_begin = task.window == 0 ? 0 : std::max<std::int64_t>(0, first - task.window + 1);
    const auto keys = [&](const at::Tensor& all) {  // [keys, d]
      return all.select(0, tile.head / group).narrow(0, key_begin, key_end - key_begin);
    };
    // Rows of a tile are its queries, or its heads where there is one query.
    const auto rows = [&](const at::Tensor& all) {  // [n, H d] to [rows, d]
      const at::Tensor part = all.narrow(0, tile.query, tile.queries).narrow(1, tile.head * d, tile.heads * d);
      return tile.heads == 1 ? part : part.view({tile.heads, d});
    };
    at::Tensor scores = at::mm(rows(task.queries), keys(task.keys).t());
    if (task.score_cap > 0.0) scores.div_(task.score_cap).tanh_().mul_(task.score_cap);
    if (task.slopes.defined()) {
      const at::Tensor positions = at::arange(key_begin, key_end, scores.options());
      scores.add_(task.slopes.narrow(0, tile.head, tile.heads).unsqueeze(1) * positions);
    }
    if (task.score_bias.defined()) {
      scores.add_(task.score_bias.narrow(0, tile.head, tile.heads)
                      .narrow(1, tile.query, tile.queries)
                      .narrow(2, key_begin, key_end - key_begin)
                      .reshape(scores.sizes()));
    }
    if (causal && tile.queries > 1) apply_causal_mask(scores, key_begin, first, task.window);
    const at::Tensor weights = at::softmax(scores, -1);
    if (task.values.defined()) {
      at::Tensor context = rows(task.context);
      at::mm_out(context, weights, keys(task.values));
    }
    if (!task.attention.defined()) return;
    const std::int64_t all_keys = task.attention.size(2);
    const at::Tensor place = task.attention.narrow(0, tile.head, tile.heads)
                                 .narrow(1, tile.query, tile.queries)
                                 .view({tile.heads * tile.queries, all_keys});
    place.narrow(1, 0, key_begin).zero_();
    place.narrow(1, key_begin, key_end - key_begin).copy_(weights);
    place.narrow(1, key_end, all_keys - key_end).zero_();
  });
}

}  // namespace attnflow::internal
