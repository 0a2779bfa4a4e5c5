#include "attnflow/graph/norm_contributions.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attnflow/base/parallel_for.h"
#include "attnflow/graph/contribution_kernels.h"
#include "attnflow/graph/contribution_tiles.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kFormQueries = 8;  // processed by a thread at a time

struct NormWorkspace {
  std::vector<float> vectors;    // [key of the tile, heads + 1, length]
  std::vector<float> own;        // [length]
  std::vector<double> products;  // [key of the tile, pair]
};

// The beginning of a position's Gram matrix, whose numbers are kFormBlock apart.
double* gram_of(GramBlocks& grams, std::size_t position) {
  return grams[position / kFormBlock].data() + position % kFormBlock;
}

// Adds the Gram matrices of the chunk's positions [first, first + count), and |F_ii|^2 of each.
void add_tile(const ContributionLayer& layer, std::size_t first, std::size_t count, NormWorkspace& work,
              GramBlocks& grams, double* squares) {
  const std::size_t pairs = layer.heads * (layer.heads + 1) / 2;
  const std::size_t longest = PairTiles::slice_length(layer);
  work.vectors.resize(kTileKeys * (layer.heads + 1) * longest);
  work.own.resize(longest);
  work.products.assign(kTileKeys * pairs, 0.0);
  std::vector<float> weights(layer.heads + 1, 1.0F);
  const std::vector<float> zeros(longest, 0.0F);
  for (std::size_t begin = 0; begin < layer.stride; begin += longest) {
    const Slice slice = {begin, std::min(longest, layer.stride - begin)};
    project_keys(layer, first, count, slice, work.vectors.data());
    for (std::size_t k = 0; k < count; ++k) {
      const float* vectors = work.vectors.data() + k * (layer.heads + 1) * slice.length;
      add_inner_products(vectors, slice.length, layer.heads, slice.length, work.products.data() + k * pairs);
      const std::size_t position = first + k;
      const std::size_t query = position - layer.query_begin;
      for (std::size_t h = 0; h < layer.heads; ++h) {
        weights[h] = position < layer.keys ? layer.attention_row(h, query)[position] : 0.0F;
      }
      subtract_sum(zeros.data(), vectors, slice.length, layer.heads + 1, weights.data(), slice.length, work.own.data());
      squares[query] = std::accumulate(
          work.own.begin(), work.own.begin() + static_cast<std::ptrdiff_t>(slice.length), squares[query],
          [](double sum, float v) { return sum + static_cast<double>(v) * static_cast<double>(v); });
    }
  }
  for (std::size_t k = 0; k < count; ++k) {
    double* gram = gram_of(grams, first + k);
    const double* product = work.products.data() + k * pairs;
    for (std::size_t m = 0; m < layer.heads; ++m) {
      for (std::size_t other = 0; other <= m; ++other, ++product, gram += kFormBlock) {
        *gram = other == m ? *product : 2.0 * *product;
      }
    }
  }
}

void lengths_of_query(const ContributionLayer& layer, std::size_t query, const GramBlocks& grams,
                      std::vector<double>& attention, double* out) {
  attention.resize(layer.heads * kFormBlock);
  double forms[kFormBlock];
  for (std::size_t first = 0; first < layer.used_keys[query]; first += kFormBlock) {
    const std::size_t count = std::min(kFormBlock, layer.used_keys[query] - first);
    std::fill(attention.begin(), attention.end(), 0.0);
    for (std::size_t h = 0; h < layer.heads; ++h) {
      std::copy_n(layer.attention_row(h, query) + first, count,
                  attention.begin() + static_cast<std::ptrdiff_t>(h * kFormBlock));
    }
    quadratic_forms(attention.data(), grams[first / kFormBlock].data(), layer.heads, forms);
    // Negative only by rounding.
    for (std::size_t k = 0; k < count; ++k) out[first + k] = std::sqrt(std::max(0.0, forms[k]));
  }
}

}  // namespace

Tensor<double> norm_contributions(const ContributionLayer& layer, GramBlocks& grams) {
  const std::size_t pairs = layer.heads * (layer.heads + 1) / 2;
  while (grams.size() * kFormBlock < layer.positions) grams.emplace_back(pairs * kFormBlock);
  const ParallelOptions parallel{.threads = layer.threads};
  std::vector<double> squares(layer.queries, 0.0);
  std::vector<NormWorkspace> workspaces(layer.threads);
  parallel_for((layer.queries + kTileKeys - 1) / kTileKeys, parallel, [&](std::size_t tile, std::size_t worker) {
    const std::size_t first = tile * kTileKeys;
    add_tile(layer, layer.query_begin + first, std::min(kTileKeys, layer.queries - first), workspaces[worker], grams,
             squares.data());
  });
  Tensor<double> result({layer.queries, layer.positions});
  std::vector<std::vector<double>> attention(layer.threads);
  parallel_for((layer.queries + kFormQueries - 1) / kFormQueries, parallel, [&](std::size_t block, std::size_t worker) {
    const std::size_t end = std::min(layer.queries, (block + 1) * kFormQueries);
    for (std::size_t q = block * kFormQueries; q < end; ++q) {
      double* row = result.data() + q * layer.positions;
      lengths_of_query(layer, q, grams, attention[worker], row);
      row[layer.query_begin + q] = std::sqrt(squares[q]);
    }
  });
  return result;
}

}  // namespace attnflow::internal
