// Resampling that matches PIL to the last bit.
//
// Vision models are trained on pictures that PIL scaled down, so its filters, rounding and borders are part of the
// model.
//
// Definition. A row of n samples x becomes a row of m. With s = n / m, and a filter f of support r that is widened by t
// = max(s, 1) if the row shrinks (antialiasing), output i is centered at c = (i + 1/2) s and is
//
//   y_i = round( sum_j w_ij x_j ),   w_ij = f((j + 1/2 - c) / t) / sum_j f((j + 1/2 - c) / t),
//
// over the samples from floor(c - r t + 1/2) up to floor(c + r t + 1/2), cut at the borders of the picture. A picture
// is resampled along its rows, rounded to 8 bits, and then resampled along its columns. The columns come first if the
// height shrinks by more than twice as many pixels as the width (a width that grows shrinks by less than 0). Because of
// the intermediate rounding, the order matters to the last bit. A direction whose size does not change is left as it
// is. Weights are rounded to multiples of 2^-22, sums are integers, and results are clamped to 0 .. 255.
//
//   filter     support   f(x) within it
//   kBox       1/2       1
//   kBilinear  1         1 - |x|
//   kHamming   1         sinc(x) (0.54 + 0.46 cos(pi x))
//   kBicubic   2         Keys' cubic with a = -1/2 (IEEE Trans. ASSP 29, 1981)
//   kLanczos   3         sinc(x) sinc(x / 3)
//   kNearest             the sample that contains (i + 1/2) s; no antialiasing
//
// Source: Pillow 13, Image.resize(). Pixels are identical: golden files made with Pillow 13.0.0, for all filters and
// many sizes, match exactly. Versions up to 12.3 began with the columns only in pictures more than 100 times as tall as
// wide, so where the order differs some of their pixels differ, usually by 1.
//
// Cost: O(width r t + height r t') for the weights, O(height_in width_out r t + height_out width_out r t') for the
// pixels, restricted to the part of the picture that the window needs. Single-threaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "attnflow/image/picture.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Numbered as in PIL, and as preprocessor_config.json writes "resample".
enum class Resampling { kNearest = 0, kLanczos = 1, kBilinear = 2, kBicubic = 3, kBox = 4, kHamming = 5 };

struct PixelWindow {
  std::size_t left = 0;
  std::size_t top = 0;
  std::size_t width = 0;
  std::size_t height = 0;
};

struct ResizeOptions {
  std::size_t width = 0;   // of the whole result
  std::size_t height = 0;  // both at least 1 and below 2^31
  Resampling resampling = Resampling::kBicubic;
  // The part of the result that is computed and returned, exactly as if cut out of the whole; by default all of it.
  std::optional<PixelWindow> window = {};
};

// [height, width, channels], 1 or 3 channels -> [window height, window width, channels]. Throws Error(kUsage) for a
// side of 0 or of 2^31 and more, or a window that does not lie inside.
Tensor<std::uint8_t> resize(TensorView<const std::uint8_t> pixels, const ResizeOptions& options);

// Likewise for a picture; keeps its origin.
Picture resize(const Picture& picture, const ResizeOptions& options);

// Converts red, green and blue to gray as PIL's convert("L") does, by ITU-R BT.601's luma in integers: round((19595 r +
// 38470 g + 7471 b) / 65536). A gray picture is unchanged. [height, width, 3] -> [height, width, 1].
Tensor<std::uint8_t> to_grey(TensorView<const std::uint8_t> rgb);

}  // namespace attnflow
