#include "training/fashion/fashion_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "attnflow/base/error.h"

namespace attnflow {

namespace {

constexpr std::size_t kPixels = kFashionEdge * kFashionEdge;
constexpr double kWhite = 255.0;

LabelledPictures take(const LabelledPictures& from, std::span<const std::size_t> indices) {
  LabelledPictures taken;
  taken.pixels = Tensor<std::uint8_t>({indices.size(), kFashionEdge, kFashionEdge});
  auto out = taken.pixels.span().begin();
  for (const std::size_t i : indices) {
    const std::span<const std::uint8_t> picture = from.picture(i);
    out = std::copy(picture.begin(), picture.end(), out);
    taken.labels.push_back(from.labels[i]);
  }
  return taken;
}

// `write` puts the pixels of the shard's r-th image, number i, into a span.
TrainingBatch make_batch(const LabelledPictures& pictures, const Shard& shard, const PixelScale& scale,
                         const std::function<void(std::size_t i, std::span<std::uint8_t> pixels)>& write) {
  const std::array<float, 256> values = scale.table();
  TrainingBatch batch;
  batch.rows = shard.size();
  batch.pixels = Tensor<float>({shard.size(), 1, kFashionEdge, kFashionEdge});
  std::array<std::uint8_t, kPixels> pixels{};
  float* out = batch.pixels.data();
  for (const std::size_t i : shard) {
    write(i, pixels);
    out = std::transform(pixels.begin(), pixels.end(), out, [&](std::uint8_t pixel) { return values[pixel]; });
    batch.labels.push_back(pictures.labels[i]);
  }
  return batch;
}

}  // namespace

FashionData read_fashion(const std::filesystem::path& folder, const FashionDataOptions& options) {
  assert(options.validation_share > 0.0 && options.validation_share < 1.0);
  FashionData data;
  const LabelledPictures all = read_fashion_part(folder, FashionPart::kTrain);
  data.test = read_fashion_part(folder, FashionPart::kTest);
  const std::size_t count = all.count();
  if (count < 2) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("{}: expected at least 2 training images, found {}", folder.string(), count));
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random(stream_seed(options.seed, "validation pictures")).shuffle(order);
  const auto share = static_cast<std::size_t>(std::llround(options.validation_share * static_cast<double>(count)));
  const std::size_t held_out = std::clamp<std::size_t>(share, 1, count - 1);
  // In file order: the order of images within a part carries no information.
  const auto middle = order.begin() + static_cast<std::ptrdiff_t>(held_out);
  std::sort(order.begin(), middle);
  std::sort(middle, order.end());
  data.validation = take(all, std::span(order).first(held_out));
  data.train = take(all, std::span(order).subspan(held_out));
  return data;
}

std::array<float, 256> PixelScale::table() const {
  std::array<float, 256> values{};
  for (std::size_t pixel = 0; pixel < values.size(); ++pixel) {
    const auto scaled = static_cast<float>(static_cast<double>(pixel) * (1.0 / kWhite));
    values[pixel] = (scaled - static_cast<float>(mean)) / static_cast<float>(deviation);
  }
  return values;
}

PixelScale measure_scale(const LabelledPictures& pictures) {
  std::array<std::uint64_t, 256> counts{};
  for (const std::uint8_t pixel : pictures.pixels.span()) ++counts[pixel];
  // Exact: at most 2^28 pixels of 8 bits.
  std::uint64_t sum = 0;
  std::uint64_t squares = 0;
  for (std::uint64_t pixel = 0; pixel < counts.size(); ++pixel) {
    sum += counts[pixel] * pixel;
    squares += counts[pixel] * pixel * pixel;
  }
  const auto count = static_cast<double>(pictures.pixels.size());
  const double average = static_cast<double>(sum) / count;
  const double variance = std::max(0.0, static_cast<double>(squares) / count - average * average);
  constexpr double kDigits = 1e4;
  PixelScale scale;
  scale.mean = std::round(average / kWhite * kDigits) / kDigits;
  scale.deviation = std::round(std::sqrt(variance) / kWhite * kDigits) / kDigits;
  if (scale.deviation == 0.0) scale.deviation = 1.0;
  return scale;
}

void augment(std::span<const std::uint8_t> picture, const Augmentation& augmentation, Random& random,
             std::span<std::uint8_t> out) {
  assert(picture.size() == kPixels && out.size() == kPixels && augmentation.shift < kFashionEdge);
  if (random.uniform() >= augmentation.share) {
    std::copy(picture.begin(), picture.end(), out.begin());
    return;
  }
  const auto edge = static_cast<std::ptrdiff_t>(kFashionEdge);
  const auto most = static_cast<std::ptrdiff_t>(augmentation.shift);
  const auto move = [&] { return static_cast<std::ptrdiff_t>(random.below(2 * augmentation.shift + 1)) - most; };
  const std::ptrdiff_t down = move();
  const std::ptrdiff_t right = move();
  const bool mirrored = random.uniform() < augmentation.mirror;
  std::size_t next = 0;
  for (std::ptrdiff_t y = 0; y < edge; ++y) {
    for (std::ptrdiff_t x = 0; x < edge; ++x) {
      const std::ptrdiff_t from_y = y - down;
      const std::ptrdiff_t moved_x = x - right;
      const std::ptrdiff_t from_x = mirrored ? edge - 1 - moved_x : moved_x;
      const bool inside = from_y >= 0 && from_y < edge && from_x >= 0 && from_x < edge;
      out[next++] = inside ? picture[static_cast<std::size_t>(from_y * edge + from_x)] : std::uint8_t{0};
    }
  }
}

TrainingBatch picture_batch(const LabelledPictures& pictures, const Shard& shard, const PixelScale& scale) {
  return make_batch(pictures, shard, scale, [&](std::size_t i, std::span<std::uint8_t> pixels) {
    const std::span<const std::uint8_t> picture = pictures.picture(i);
    std::copy(picture.begin(), picture.end(), pixels.begin());
  });
}

TrainingBatch picture_batch(const LabelledPictures& pictures, const Shard& shard, const PixelScale& scale,
                            const Augmentation& augmentation, std::size_t step) {
  return make_batch(pictures, shard, scale, [&](std::size_t i, std::span<std::uint8_t> pixels) {
    Random random(stream_seed(stream_seed(augmentation.seed, step), i));
    augment(pictures.picture(i), augmentation, random, pixels);
  });
}

}  // namespace attnflow
