#include "attnflow/model/torch/decoder_products.h"

#include <algorithm>
#include <cstdint>

#include "attnflow/model/torch/split_work.h"

namespace attnflow::internal {

namespace {

// The multiply-adds that are worth a thread and a block of their own. A product with one row waits for memory, a number
// for each multiply-add, so that fewer of them take as long.
constexpr std::int64_t kWorthOfProduct = 8'000'000;
constexpr std::int64_t kWorthOfVector = 1'000'000;
constexpr std::int64_t kRows = 128;
constexpr std::int64_t kFewestColumns = 256;

struct Range {
  std::int64_t begin = 0;
  std::int64_t size = 0;
};

struct Block {
  std::size_t map = 0;
  Range rows;     // of x and of the result
  Range columns;  // of the result: rows of the weight
};

std::int64_t worth(std::int64_t rows) { return rows == 1 ? kWorthOfVector : kWorthOfProduct; }

// Blocks of the products of x [n, in] with maps to `outs` numbers.
std::vector<Block> cut_product(const at::Tensor& x, const std::vector<std::int64_t>& outs) {
  const std::int64_t in = x.size(1);
  const Blocks rows(x.size(0), kRows);
  std::vector<Block> blocks;
  for (std::size_t map = 0; map < outs.size(); ++map) {
    const std::int64_t each = std::max<std::int64_t>(1, rows.size(0) * in);  // multiply-adds of one column
    const Blocks columns(outs[map], std::max(kFewestColumns, worth(x.size(0)) / each));
    for (std::int64_t row = 0; row < rows.count(); ++row) {
      for (std::int64_t column = 0; column < columns.count(); ++column) {
        blocks.push_back({map, {rows.begin(row), rows.size(row)}, {columns.begin(column), columns.size(column)}});
      }
    }
  }
  return blocks;
}

std::size_t useful_threads(const at::Tensor& x, const std::vector<std::int64_t>& outs, std::size_t threads) {
  std::int64_t work = 0;
  for (const std::int64_t out : outs) work += x.numel() * out;
  return std::min(threads, static_cast<std::size_t>(std::max<std::int64_t>(1, work / worth(x.size(0)))));
}

at::Tensor some_rows(const at::Tensor& t, const Range& range) { return t.narrow(0, range.begin, range.size); }

at::Tensor some_block(const at::Tensor& t, const Block& block) {
  return some_rows(t, block.rows).narrow(1, block.columns.begin, block.columns.size);
}

// The block of x W^T + b, written to `result`, which is that block of the whole.
void multiply(const Projection& map, const at::Tensor& x, const Block& block, at::Tensor result) {
  const at::Tensor weight = some_rows(map.weight, block.columns);
  const at::Tensor part = some_rows(x, block.rows);
  if (block.rows.size == 1) {
    at::Tensor row = result.select(0, 0);
    if (map.bias.defined()) {
      at::addmv_out(row, some_rows(map.bias, block.columns), weight, part.select(0, 0));
    } else {
      at::mv_out(row, weight, part.select(0, 0));
    }
  } else if (map.bias.defined()) {
    at::addmm_out(result, some_rows(map.bias, block.columns), part, weight.t());
  } else {
    at::mm_out(result, part, weight.t());
  }
}

}  // namespace

std::vector<at::Tensor> project(const std::vector<const Projection*>& maps, const at::Tensor& x, std::size_t threads) {
  std::vector<std::int64_t> outs;
  std::vector<at::Tensor> results;
  for (const Projection* map : maps) {
    outs.push_back(map->weight.size(0));
    results.push_back(at::empty({x.size(0), outs.back()}, x.options()));
  }
  const std::vector<Block> blocks = cut_product(x, outs);
  split_work(useful_threads(x, outs, threads), to_signed(blocks.size()), [&](std::int64_t i) {
    const Block& block = blocks[static_cast<std::size_t>(i)];
    multiply(*maps[block.map], x, block, some_block(results[block.map], block));
  });
  return results;
}

at::Tensor project(const Projection& map, const at::Tensor& x, std::size_t threads) {
  return project(std::vector<const Projection*>{&map}, x, threads).front();
}

at::Tensor feed_forward_inside(const Projection& gate, const Projection& in, const at::Tensor& x, Activation activation,
                               std::size_t threads) {
  const bool gated = gate.weight.defined();
  const std::int64_t out = in.weight.size(0);
  const at::Tensor result = at::empty({x.size(0), out}, x.options());
  const std::vector<Block> blocks = cut_product(x, {out});
  const std::size_t useful = useful_threads(x, gated ? std::vector{out, out} : std::vector{out}, threads);
  split_work(useful, to_signed(blocks.size()), [&](std::int64_t i) {
    const Block& block = blocks[static_cast<std::size_t>(i)];
    // Activations are faster on numbers without gaps between rows.
    const at::Tensor inside = at::empty({block.rows.size, block.columns.size}, x.options());
    at::Tensor part = some_block(result, block);
    multiply(gated ? gate : in, x, block, inside);
    if (!gated) {
      part.copy_(activate(inside, activation));
      return;
    }
    multiply(in, x, block, part);
    part.mul_(activate(inside, activation));
  });
  return result;
}

}  // namespace attnflow::internal
