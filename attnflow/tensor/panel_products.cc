#include "attnflow/tensor/panel_products.h"

#include <algorithm>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnflow/tensor/panel_products.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attnflow::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// At most 16 numbers, so that the padding of few rows is the same for every processor.
constexpr std::size_t kPadded = 16;
using Vectors = hn::CappedTag<float, kPadded>;
// A tile of 6 x 2 vectors of sums leaves room in the 16 registers that every processor has.
constexpr std::size_t kTile = 6;
// Columns at a time, so that those of x, transposed, stay in the first cache.
constexpr std::size_t kPart = 256;

// Adds kR rows of the panel times x, transposed: kV vectors of each of `length` columns.
template <std::size_t kR, std::size_t kV>
HWY_INLINE void times_tile(const float* columns, std::size_t width, const float* panel, std::size_t in,
                           std::size_t length, float* sums) {
  const Vectors d;
  const std::size_t lanes = hn::Lanes(d);
  decltype(hn::Zero(d)) tile[kR][kV];
  for (std::size_t r = 0; r < kR; ++r) {
    for (std::size_t v = 0; v < kV; ++v) tile[r][v] = hn::LoadU(d, sums + r * width + v * lanes);
  }
  for (std::size_t k = 0; k < length; ++k) {
    decltype(hn::Zero(d)) x[kV];
    for (std::size_t v = 0; v < kV; ++v) x[v] = hn::LoadU(d, columns + k * width + v * lanes);
    for (std::size_t r = 0; r < kR; ++r) {
      const auto weight = hn::Set(d, panel[r * in + k]);
      for (std::size_t v = 0; v < kV; ++v) tile[r][v] = hn::MulAdd(weight, x[v], tile[r][v]);
    }
  }
  for (std::size_t r = 0; r < kR; ++r) {
    for (std::size_t v = 0; v < kV; ++v) hn::StoreU(tile[r][v], d, sums + r * width + v * lanes);
  }
}

template <std::size_t kR>
HWY_INLINE void times_rows(const float* columns, std::size_t width, const float* panel, std::size_t in,
                           std::size_t length, float* sums) {
  const std::size_t lanes = hn::Lanes(Vectors());
  std::size_t v = 0;
  for (; v + 2 * lanes <= width; v += 2 * lanes) times_tile<kR, 2>(columns + v, width, panel, in, length, sums + v);
  for (; v < width; v += lanes) times_tile<kR, 1>(columns + v, width, panel, in, length, sums + v);
}

void times(const float* columns, std::size_t width, const float* panel, std::size_t rows, std::size_t in, float* sums) {
  for (std::size_t begin = 0; begin < in; begin += kPart) {
    const std::size_t length = std::min(kPart, in - begin);
    std::size_t r = 0;
    for (; r + kTile <= rows; r += kTile) {
      times_rows<kTile>(columns + begin * width, width, panel + r * in + begin, in, length, sums + r * width);
    }
    for (; r < rows; ++r) {
      times_rows<1>(columns + begin * width, width, panel + r * in + begin, in, length, sums + r * width);
    }
  }
}

// Adds to sum[t, k] for kN rows of sums and kV vectors of numbers. `factors`: g, transposed, with kTile for each row of
// the panel.
template <std::size_t kN, std::size_t kV>
HWY_INLINE void add_tile(const float* factors, const float* panel, std::size_t rows, std::size_t in, float* sum) {
  const Vectors d;
  const std::size_t lanes = hn::Lanes(d);
  decltype(hn::Zero(d)) tile[kN][kV];
  for (std::size_t t = 0; t < kN; ++t) {
    for (std::size_t v = 0; v < kV; ++v) tile[t][v] = hn::LoadU(d, sum + t * in + v * lanes);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    decltype(hn::Zero(d)) weights[kV];
    for (std::size_t v = 0; v < kV; ++v) weights[v] = hn::LoadU(d, panel + r * in + v * lanes);
    for (std::size_t t = 0; t < kN; ++t) {
      const auto factor = hn::Set(d, factors[r * kTile + t]);
      for (std::size_t v = 0; v < kV; ++v) tile[t][v] = hn::MulAdd(factor, weights[v], tile[t][v]);
    }
  }
  for (std::size_t t = 0; t < kN; ++t) {
    for (std::size_t v = 0; v < kV; ++v) hn::StoreU(tile[t][v], d, sum + t * in + v * lanes);
  }
}

template <std::size_t kN>
void add_rows(const float* factors, const float* panel, std::size_t rows, std::size_t in, float* sum) {
  const std::size_t lanes = hn::Lanes(Vectors());
  std::size_t k = 0;
  for (; k + 2 * lanes <= in; k += 2 * lanes) add_tile<kN, 2>(factors, panel + k, rows, in, sum + k);
  for (; k + lanes <= in; k += lanes) add_tile<kN, 1>(factors, panel + k, rows, in, sum + k);
  for (; k < in; ++k) {
    for (std::size_t t = 0; t < kN; ++t) {
      for (std::size_t r = 0; r < rows; ++r) sum[t * in + k] += factors[r * kTile + t] * panel[r * in + k];
    }
  }
}

// Adds up to kTile rows of sums.
void add(const float* factors, const float* panel, std::size_t count, std::size_t rows, std::size_t in, float* sum) {
  switch (count) {
    case 6:
      return add_rows<6>(factors, panel, rows, in, sum);
    case 5:
      return add_rows<5>(factors, panel, rows, in, sum);
    case 4:
      return add_rows<4>(factors, panel, rows, in, sum);
    case 3:
      return add_rows<3>(factors, panel, rows, in, sum);
    case 2:
      return add_rows<2>(factors, panel, rows, in, sum);
    default:
      return add_rows<1>(factors, panel, rows, in, sum);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attnflow::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnflow::internal {
namespace {

HWY_EXPORT(times);
HWY_EXPORT(add);

constexpr std::size_t kTileRows = 6;
constexpr std::size_t kPadding = 16;

}  // namespace

PanelColumns::PanelColumns(const float* x, std::size_t n, std::size_t in)
    : n_(n), in_(in), width_((n + kPadding - 1) / kPadding * kPadding), columns_(in * width_) {
  for (std::size_t t = 0; t < n; ++t) {
    for (std::size_t k = 0; k < in; ++k) columns_[k * width_ + t] = x[t * in + k];
  }
}

void PanelColumns::times(const float* panel, std::size_t rows, float* result, std::size_t stride) const {
  std::vector<float> sums(rows * width_);
  HWY_DYNAMIC_DISPATCH(times)(columns_.data(), width_, panel, rows, in_, sums.data());
  for (std::size_t t = 0; t < n_; ++t) {
    for (std::size_t r = 0; r < rows; ++r) result[t * stride + r] = sums[r * width_ + t];
  }
}

void panel_add(const float* g, std::size_t stride, const float* panel, const PanelShape& shape, float* sum) {
  std::vector<float> factors(shape.rows * kTileRows);
  for (std::size_t t = 0; t < shape.n; t += kTileRows) {
    const std::size_t count = std::min(kTileRows, shape.n - t);
    for (std::size_t r = 0; r < shape.rows; ++r) {
      for (std::size_t i = 0; i < count; ++i) factors[r * kTileRows + i] = g[(t + i) * stride + r];
    }
    HWY_DYNAMIC_DISPATCH(add)(factors.data(), panel, count, shape.rows, shape.in, sum + t * shape.in);
  }
}

}  // namespace attnflow::internal
#endif  // HWY_ONCE
