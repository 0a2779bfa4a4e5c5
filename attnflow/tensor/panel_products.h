// Products of a few rows with a panel of a matrix that lies in the cache; internal.
//
// Problem. A BLAS packs its operands before it multiplies, which for a product of few rows with a panel used once takes
// as long as the product.
//
// Method. Tiles of sums stay in registers, and the panel is read in place, without packing: times() broadcasts its
// numbers over vectors of x, and panel_add() loads vectors from it. With x [n, in] and a
// panel W [rows, in], all row-major in float32:
//
//     PanelColumns::times    result[t, r] = sum_k x[t, k] W[r, k]
//     panel_add              sum[t, k] += sum_r g[t, r] W[r, k]
//
// n * rows * in multiply-adds each. Each sum adds its terms one at a time, in order, whatever the vector width (a
// machine with fused multiply-add rounds once per term instead of twice). Vector code is selected at run time
// (Highway).
#pragma once

#include <cstddef>
#include <vector>

namespace attnflow::internal {

struct PanelShape {
  std::size_t n = 0;
  std::size_t rows = 0;
  std::size_t in = 0;
};

// x, transposed and padded, so that vectors hold numbers of different rows.
class PanelColumns {
 public:
  PanelColumns(const float* x, std::size_t n, std::size_t in);

  // Several threads may multiply at once. `stride`: from one row of the result to the next.
  void times(const float* panel, std::size_t rows, float* result, std::size_t stride) const;

 private:
  std::size_t n_;
  std::size_t in_;
  std::size_t width_;
  std::vector<float> columns_;  // [in, width]
};

// `stride`: from one row of g to the next.
void panel_add(const float* g, std::size_t stride, const float* panel, const PanelShape& shape, float* sum);

}  // namespace attnflow::internal
