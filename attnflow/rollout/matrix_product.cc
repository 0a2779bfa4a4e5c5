#include "attnflow/rollout/matrix_product.h"

#include <algorithm>
#include <vector>

#include "attnflow/base/parallel_for.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnflow/rollout/matrix_product.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attnflow {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Computes rows [row_begin, row_begin + kRows) of C. `inner` may exclude zeros at the end of A's rows.
template <std::size_t kRows>
void multiply_rows(const double* a, std::size_t a_stride, const double* b, std::size_t columns, double* c,
                   std::size_t inner) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t j = 0;
  for (; j + 2 * lanes <= columns; j += 2 * lanes) {
    // Sums stay in registers over the whole inner loop; a row of B is read once per kRows rows of A.
    decltype(hn::Zero(d)) low[kRows];
    decltype(hn::Zero(d)) high[kRows];
    for (std::size_t r = 0; r < kRows; ++r) low[r] = high[r] = hn::Zero(d);
    for (std::size_t k = 0; k < inner; ++k) {
      const auto b_low = hn::LoadU(d, b + k * columns + j);
      const auto b_high = hn::LoadU(d, b + k * columns + j + lanes);
      for (std::size_t r = 0; r < kRows; ++r) {
        const auto weight = hn::Set(d, a[r * a_stride + k]);
        low[r] = hn::MulAdd(weight, b_low, low[r]);
        high[r] = hn::MulAdd(weight, b_high, high[r]);
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      hn::StoreU(low[r], d, c + r * columns + j);
      hn::StoreU(high[r], d, c + r * columns + j + lanes);
    }
  }
  // The last columns, one at a time, with the same rounding as the vectors.
  const hn::CappedTag<double, 1> one;
  for (; j < columns; ++j) {
    for (std::size_t r = 0; r < kRows; ++r) {
      auto sum = hn::Zero(one);
      for (std::size_t k = 0; k < inner; ++k) {
        sum = hn::MulAdd(hn::Set(one, a[r * a_stride + k]), hn::Set(one, b[k * columns + j]), sum);
      }
      c[r * columns + j] = hn::GetLane(sum);
    }
  }
}

void multiply_block(const double* a, std::size_t a_stride, const double* b, std::size_t columns, double* c,
                    std::size_t inner, std::size_t rows) {
  switch (rows) {
    case 4:
      return multiply_rows<4>(a, a_stride, b, columns, c, inner);
    case 3:
      return multiply_rows<3>(a, a_stride, b, columns, c, inner);
    case 2:
      return multiply_rows<2>(a, a_stride, b, columns, c, inner);
    default:
      return multiply_rows<1>(a, a_stride, b, columns, c, inner);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attnflow
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnflow {
namespace {

HWY_EXPORT(multiply_block);

constexpr std::size_t kBlock = 4;

// Returns one more than the index of the last nonzero in the first `rows` rows.
std::size_t used_length(const double* a, std::size_t stride, std::size_t rows) {
  std::size_t used = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const double* row = a + r * stride;
    std::size_t k = stride;
    while (k > used && row[k - 1] == 0.0) --k;
    used = k;
  }
  return used;
}

}  // namespace

void multiply(TensorView<const double> a, TensorView<const double> b, TensorView<double> c, std::size_t threads) {
  const std::size_t rows = a.extent(0);
  const std::size_t inner = a.extent(1);
  const std::size_t columns = b.extent(1);
  assert(b.extent(0) == inner && c.extent(0) == rows && c.extent(1) == columns);
  if (rows == 0 || columns == 0) return;
  const auto kernel = HWY_DYNAMIC_DISPATCH(multiply_block);
  const std::size_t blocks = (rows + kBlock - 1) / kBlock;
  // Below about a million operations, a thread costs more than it saves.
  const std::size_t useful = std::max<std::size_t>(1, rows * columns * inner / 1'000'000);
  parallel_for(blocks, {.threads = std::min(resolve_threads(threads), useful)}, [&](std::size_t block, std::size_t) {
    const std::size_t begin = block * kBlock;
    const std::size_t count = std::min(kBlock, rows - begin);
    const double* block_a = a.data() + begin * inner;
    kernel(block_a, inner, b.data(), columns, c.data() + begin * columns, used_length(block_a, inner, count), count);
  });
}

}  // namespace attnflow
#endif  // HWY_ONCE
