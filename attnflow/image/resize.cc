#include "attnflow/image/resize.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>
#include <vector>

#include "attnflow/base/fail.h"
#include "attnflow/image/resample_filter.h"

namespace attnflow {
namespace {

using internal::ResampleWeights;

using Pixels = Tensor<std::uint8_t>;
using PixelView = TensorView<const std::uint8_t>;

constexpr std::int64_t kHalf = std::int64_t{1} << (internal::kWeightBits - 1);

std::uint8_t to_sample(std::int64_t sum) {
  return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> internal::kWeightBits, 0, 255));
}

// Resamples one row. Sums are 64 bits wide: rounded filter weights over millions of samples may add up to twice 1.
template <std::size_t channels>
void resample_row(const std::uint8_t* row, const ResampleWeights& weights, std::uint8_t* out) {
  for (const ResampleWeights::Span& span : weights.outputs) {
    std::array<std::int64_t, channels> sums;
    sums.fill(kHalf);
    const std::int32_t* const weight = weights.weights.data() + span.offset;
    const std::uint8_t* in = row + span.first * channels;
    for (std::size_t j = 0; j < span.count; ++j, in += channels) {
      for (std::size_t c = 0; c < channels; ++c) sums[c] += std::int64_t{weight[j]} * in[c];
    }
    for (const std::int64_t sum : sums) *out++ = to_sample(sum);
  }
}

Pixels resample_width(const PixelView& pixels, const ResampleWeights& weights, std::size_t first, std::size_t end) {
  const std::size_t channels = pixels.extent(2);
  const std::size_t row = pixels.extent(1) * channels;
  Pixels result({end - first, weights.outputs.size(), channels});
  for (std::size_t y = first; y < end; ++y) {
    std::uint8_t* const out = result.data() + (y - first) * weights.outputs.size() * channels;
    if (channels == 1) {
      resample_row<1>(pixels.data() + y * row, weights, out);
    } else {
      resample_row<3>(pixels.data() + y * row, weights, out);
    }
  }
  return result;
}

Pixels resample_height(const PixelView& pixels, const ResampleWeights& weights, std::size_t first) {
  const std::size_t row = pixels.extent(1) * pixels.extent(2);
  Pixels result({weights.outputs.size(), pixels.extent(1), pixels.extent(2)});
  std::vector<std::int64_t> sums(row);
  std::uint8_t* out = result.data();
  for (const ResampleWeights::Span& span : weights.outputs) {
    std::fill(sums.begin(), sums.end(), kHalf);
    for (std::size_t j = 0; j < span.count; ++j) {
      const std::int64_t weight = weights.weights[span.offset + j];
      const std::uint8_t* const in = pixels.data() + (span.first - first + j) * row;
      for (std::size_t x = 0; x < row; ++x) sums[x] += weight * in[x];
    }
    for (const std::int64_t sum : sums) *out++ = to_sample(sum);
  }
  return result;
}

Pixels cut(const PixelView& pixels, const PixelWindow& window) {
  const std::size_t channels = pixels.extent(2);
  Pixels result({window.height, window.width, channels});
  std::uint8_t* out = result.data();
  for (std::size_t y = window.top; y < window.top + window.height; ++y) {
    const std::uint8_t* const in = pixels.data() + (y * pixels.extent(1) + window.left) * channels;
    out = std::copy_n(in, window.width * channels, out);
  }
  return result;
}

Pixels resize_nearest(const PixelView& pixels, const ResizeOptions& options, const PixelWindow& window) {
  const std::size_t height = pixels.extent(0);
  const std::size_t width = pixels.extent(1);
  const std::size_t channels = pixels.extent(2);
  const auto rows = internal::nearest_samples(height, options.height, window.top, window.height);
  const auto columns = internal::nearest_samples(width, options.width, window.left, window.width);
  Pixels result({window.height, window.width, channels});  // parts beyond the input stay zero, as in PIL
  std::uint8_t* out = result.data();
  for (const std::size_t y : rows) {
    for (const std::size_t x : columns) {
      if (y < height && x < width) std::copy_n(pixels.data() + (y * width + x) * channels, channels, out);
      out += channels;
    }
  }
  return result;
}

// Pillow 13's rule, which saves work: fewer rows remain for the other direction.
bool columns_first(std::size_t width, std::size_t height, const ResizeOptions& options) {
  const auto lost = [](std::size_t from, std::size_t to) {
    return static_cast<std::int64_t>(from) - static_cast<std::int64_t>(to);
  };
  const std::int64_t lost_height = lost(height, options.height);
  return lost_height > 0 && lost_height > 2 * lost(width, options.width);
}

PixelWindow checked_window(const ResizeOptions& options) {
  constexpr std::size_t kMaxSide = (std::size_t{1} << 31) - 1;
  for (const std::size_t side : {options.width, options.height}) {
    if (side < 1 || side > kMaxSide) {
      fail_with(ErrorKind::kUsage, "expected a size of 1 to {} pixels to resize to, found {} x {}", kMaxSide,
                options.width, options.height);
    }
  }
  const PixelWindow window = options.window.value_or(PixelWindow{0, 0, options.width, options.height});
  const bool inside = window.width >= 1 && window.height >= 1 && window.left < options.width &&
                      window.top < options.height && window.width <= options.width - window.left &&
                      window.height <= options.height - window.top;
  if (!inside) {
    fail_with(ErrorKind::kUsage,
              "expected a window inside the {} x {} pixels of the resized image, found {} x {} at ({}, {})",
              options.width, options.height, window.width, window.height, window.left, window.top);
  }
  return window;
}

}  // namespace

Tensor<std::uint8_t> resize(TensorView<const std::uint8_t> pixels, const ResizeOptions& options) {
  assert(pixels.rank() == 3 && !pixels.empty() && (pixels.extent(2) == 1 || pixels.extent(2) == 3));
  const PixelWindow window = checked_window(options);
  const std::size_t height = pixels.extent(0);
  const std::size_t width = pixels.extent(1);
  if (width == options.width && height == options.height) return cut(pixels, window);
  if (options.resampling == Resampling::kNearest) return resize_nearest(pixels, options, window);

  const auto weights_across = [&] {
    return internal::resample_weights(options.resampling, width, options.width, window.left, window.width);
  };
  if (height == options.height) return resample_width(pixels, weights_across(), window.top, window.top + window.height);

  const auto down = internal::resample_weights(options.resampling, height, options.height, window.top, window.height);
  const std::size_t first = down.first();
  if (width == options.width) {
    const Pixels between = cut(pixels, {window.left, first, window.width, down.end() - first});
    return resample_height(between.view(), down, first);
  }
  if (columns_first(width, height, options)) {
    const Pixels between = cut(pixels, {0, first, width, down.end() - first});
    return resample_width(resample_height(between.view(), down, first).view(), weights_across(), 0, window.height);
  }
  const Pixels between = resample_width(pixels, weights_across(), first, down.end());
  return resample_height(between.view(), down, first);
}

Picture resize(const Picture& picture, const ResizeOptions& options) {
  return {resize(picture.rgb.view(), options), picture.origin};
}

Tensor<std::uint8_t> to_grey(TensorView<const std::uint8_t> rgb) {
  assert(rgb.rank() == 3 && rgb.extent(2) == 3);
  Pixels grey({rgb.extent(0), rgb.extent(1), 1});
  const std::uint8_t* in = rgb.data();
  for (std::uint8_t& out : grey.span()) {
    out = static_cast<std::uint8_t>((19595U * in[0] + 38470U * in[1] + 7471U * in[2] + 0x8000U) >> 16);
    in += 3;
  }
  return grey;
}

}  // namespace attnflow
