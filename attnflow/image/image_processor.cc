#include "attnflow/image/image_processor.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <utility>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/fail.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxInputPixels = std::size_t{1} << 24;

struct Size {
  std::size_t height = 0;
  std::size_t width = 0;
};

// floor(a b / c), limited to a size that input_geometry() rejects anyway. Sides are below 2^31, so nothing overflows.
std::size_t scaled(std::size_t a, std::size_t b, std::size_t c) {
  const auto product = checked_multiply(a, b);
  assert(product);
  return *product / c;
}

// transformers' get_size_with_aspect_ratio(): the longer edge may not exceed longest_edge. Uses doubles, in the same
// order.
Size size_within(Size from, std::size_t shortest, std::size_t longest) {
  const auto low = static_cast<double>(std::min(from.height, from.width));
  const auto high = static_cast<double>(std::max(from.height, from.width));
  std::size_t edge = shortest;
  double exact = static_cast<double>(shortest);
  if (high / low * static_cast<double>(shortest) > static_cast<double>(longest)) {
    exact = static_cast<double>(longest) * low / high;
    edge = static_cast<std::size_t>(std::nearbyint(exact));  // Python's round(): ties to even
  }
  const bool tall = from.width < from.height;
  if (std::min(from.height, from.width) == edge) return from;
  const auto other = static_cast<std::size_t>(exact * high / low);
  return tall ? Size{other, edge} : Size{edge, other};
}

Size resized(Size from, const TargetSize& to) {
  if (to.height != 0) return {to.height, to.width};
  if (to.longest_edge != 0) return size_within(from, to.shortest_edge, to.longest_edge);
  const bool tall = from.width <= from.height;
  const std::size_t other =
      tall ? scaled(to.shortest_edge, from.height, from.width) : scaled(to.shortest_edge, from.width, from.height);
  return tall ? Size{other, to.shortest_edge} : Size{to.shortest_edge, other};
}

std::ptrdiff_t crop_begin(std::size_t size, std::size_t crop) {
  const auto rest = static_cast<std::ptrdiff_t>(size) - static_cast<std::ptrdiff_t>(crop);
  return rest >= 0 ? rest / 2 : (rest - 1) / 2;
}

// The samples of [begin, begin + count) that lie inside [0, size).
struct Overlap {
  std::size_t begin = 0;  // in the resized picture
  std::size_t count = 0;
  std::size_t offset = 0;  // of the first one in the input
};

Overlap overlap(std::ptrdiff_t begin, std::size_t count, std::size_t size) {
  const std::ptrdiff_t first = std::max<std::ptrdiff_t>(begin, 0);
  const std::ptrdiff_t end = std::min(begin + static_cast<std::ptrdiff_t>(count), static_cast<std::ptrdiff_t>(size));
  assert(first < end);
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(end - first),
          static_cast<std::size_t>(first - begin)};
}

// The model's value for each of the 256 sample values.
std::array<float, 256> sample_values(const ImageProcessor& processor, std::size_t channel) {
  std::array<float, 256> values = {};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto sample = static_cast<double>(i);
    auto value = static_cast<float>(processor.do_rescale ? sample * processor.rescale_factor : sample);
    if (processor.do_normalize) {
      value = (value - static_cast<float>(processor.image_mean[channel])) /
              static_cast<float>(processor.image_std[channel]);
    }
    values[i] = value;
  }
  return values;
}

}  // namespace

Rectangle InputGeometry::in_picture(const Rectangle& in_input) const {
  const double across = static_cast<double>(picture_width) / static_cast<double>(resized_width);
  const double down = static_cast<double>(picture_height) / static_cast<double>(resized_height);
  const auto x = [&](double input) { return (input + static_cast<double>(left)) * across; };
  const auto y = [&](double input) { return (input + static_cast<double>(top)) * down; };
  return {x(in_input.left), y(in_input.top), x(in_input.right), y(in_input.bottom)};
}

InputGeometry input_geometry(std::size_t picture_height, std::size_t picture_width, const ImageProcessor& processor) {
  constexpr std::size_t kMaxSide = (std::size_t{1} << 31) - 1;
  assert(picture_height >= 1 && picture_width >= 1);
  assert(picture_height <= kMaxSide && picture_width <= kMaxSide);
  const Size from{picture_height, picture_width};
  const Size to = processor.do_resize ? resized(from, processor.size) : from;
  InputGeometry geometry{.picture_height = picture_height,
                         .picture_width = picture_width,
                         .resized_height = to.height,
                         .resized_width = to.width,
                         .input_height = processor.do_center_crop ? processor.crop_height : to.height,
                         .input_width = processor.do_center_crop ? processor.crop_width : to.width};
  if (to.height < 1 || to.width < 1 || to.height > kMaxSide || to.width > kMaxSide) {
    fail_with(ErrorKind::kBadFile,
              "expected an image that the model's preprocessor_config.json can resize, found one of {} x "
              "{} that would become {} x {} (width x height); crop it to a less elongated shape",
              picture_width, picture_height, to.width, to.height);
  }
  const auto pixels = checked_multiply(geometry.input_height, geometry.input_width);
  if (!pixels || *pixels > kMaxInputPixels) {
    fail_with(ErrorKind::kBadFile,
              "expected a model's input of at most {} pixels, found one of {} x {} (width x height), which the model's "
              "preprocessor_config.json produces from an image of {} x {}; crop the image to a less elongated shape",
              kMaxInputPixels, geometry.input_width, geometry.input_height, picture_width, picture_height);
  }
  geometry.top = crop_begin(to.height, geometry.input_height);
  geometry.left = crop_begin(to.width, geometry.input_width);
  return geometry;
}

Tensor<std::uint8_t> input_pixels(const Picture& picture, const ImageProcessor& processor) {
  const InputGeometry geometry = input_geometry(picture.height(), picture.width(), processor);
  const Overlap rows = overlap(geometry.top, geometry.input_height, geometry.resized_height);
  const Overlap columns = overlap(geometry.left, geometry.input_width, geometry.resized_width);
  ResizeOptions options{.width = geometry.resized_width,
                        .height = geometry.resized_height,
                        .resampling = processor.resample,
                        .window = PixelWindow{columns.begin, rows.begin, columns.count, rows.count}};
  assert(processor.channels == 1 || processor.channels == 3);
  const Tensor<std::uint8_t> grey = processor.channels == 1 ? to_grey(picture.rgb.view()) : Tensor<std::uint8_t>();
  Tensor<std::uint8_t> inside = resize(processor.channels == 1 ? grey.view() : picture.rgb.view(), options);
  if (rows.count == geometry.input_height && columns.count == geometry.input_width) return inside;

  Tensor<std::uint8_t> input({geometry.input_height, geometry.input_width, processor.channels});
  const std::size_t row_bytes = columns.count * processor.channels;
  for (std::size_t y = 0; y < rows.count; ++y) {
    std::uint8_t* const out =
        input.data() + ((rows.offset + y) * geometry.input_width + columns.offset) * processor.channels;
    std::memcpy(out, inside.data() + y * row_bytes, row_bytes);
  }
  return input;
}

Tensor<float> pixel_values(const Picture& picture, const ImageProcessor& processor) {
  const Tensor<std::uint8_t> input = input_pixels(picture, processor);
  const std::size_t channels = processor.channels;
  assert(!processor.do_normalize ||
         (processor.image_mean.size() == channels && processor.image_std.size() == channels));
  const std::size_t pixels = input.extent(0) * input.extent(1);
  Tensor<float> values({channels, input.extent(0), input.extent(1)});
  for (std::size_t c = 0; c < channels; ++c) {
    const std::array<float, 256> value_of = sample_values(processor, c);
    float* const out = values.data() + c * pixels;
    for (std::size_t i = 0; i < pixels; ++i) out[i] = value_of[input.data()[i * channels + c]];
  }
  return values;
}

}  // namespace attnflow
