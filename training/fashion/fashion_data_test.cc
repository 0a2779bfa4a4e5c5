#include "training/fashion/fashion_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "attnflow/files/files_for_test.h"
#include "attnflow/image/idx_for_test.h"
#include "attnflow/image/image_processor.h"
#include "training/fashion/fashion_card.h"

namespace attnflow::fashion_data_test {
namespace {

using test::expect_error;

constexpr std::size_t kPixels = kFashionEdge * kFashionEdge;

// Image i begins with the bytes of i, which identify it.
void write_part(const test::TempFolder& folder, const std::string& name, std::uint32_t count) {
  std::vector<std::uint8_t> pixels(count * kPixels);
  std::vector<std::uint8_t> labels(count);
  Random random(count);
  for (std::uint8_t& pixel : pixels) pixel = static_cast<std::uint8_t>(random.below(256));
  for (std::uint32_t i = 0; i < count; ++i) {
    pixels[i * kPixels] = static_cast<std::uint8_t>(i & 0xffU);
    pixels[i * kPixels + 1] = static_cast<std::uint8_t>(i >> 8U);
    labels[i] = static_cast<std::uint8_t>(i % 10);
  }
  test::put(folder / (name + "-images-idx3-ubyte.gz"), test::gzip(test::idx({count, 28, 28}, pixels)));
  test::put(folder / (name + "-labels-idx1-ubyte"), test::idx({count}, labels));
}

std::size_t number_of(const LabelledPictures& pictures, std::size_t index) {
  const auto picture = pictures.picture(index);
  return picture[0] + std::size_t{256} * picture[1];
}

TEST(FashionData, EachTrainingPictureIsInOnePart) {
  const test::TempFolder folder;
  write_part(folder, "train", 600);
  write_part(folder, "t10k", 20);
  const FashionData data = read_fashion(folder.path());
  EXPECT_EQ(data.train.count(), 550U);
  EXPECT_EQ(data.validation.count(), 50U);
  EXPECT_EQ(data.test.count(), 20U);
  std::set<std::size_t> numbers;
  for (const LabelledPictures* part : {&data.train, &data.validation}) {
    EXPECT_EQ(part->pixels.shape(), (Shape{part->count(), 28, 28}));
    for (std::size_t i = 0; i < part->count(); ++i) {
      const std::size_t number = number_of(*part, i);
      EXPECT_TRUE(numbers.insert(number).second);
      EXPECT_EQ(part->labels[i], number % 10);
    }
  }
  EXPECT_EQ(numbers.size(), 600U);
  EXPECT_EQ(*numbers.rbegin(), 599U);

  EXPECT_EQ(read_fashion(folder.path()).validation.pixels, data.validation.pixels);
  FashionDataOptions other;
  other.seed = 2;
  EXPECT_NE(read_fashion(folder.path(), other).validation.labels, data.validation.labels);
  // A share that rounds to zero still leaves one in each part.
  other.validation_share = 1e-9;
  EXPECT_EQ(read_fashion(folder.path(), other).validation.count(), 1U);
  other.validation_share = 1.0 - 1e-9;
  EXPECT_EQ(read_fashion(folder.path(), other).train.count(), 1U);
}

TEST(FashionData, NeedsBothPartsAndTwoPictures) {
  const test::TempFolder folder;
  write_part(folder, "train", 10);
  expect_error(ErrorKind::kBadFile, {"t10k-images-idx3-ubyte.gz"}, [&] { read_fashion(folder.path()); });
  write_part(folder, "train", 1);
  write_part(folder, "t10k", 1);
  expect_error(ErrorKind::kBadFile, {"at least 2"}, [&] { read_fashion(folder.path()); });
}

LabelledPictures random_pictures(std::size_t count) {
  LabelledPictures pictures;
  pictures.pixels = Tensor<std::uint8_t>({count, kFashionEdge, kFashionEdge});
  Random random(3);
  // Not black, so that pixels entering at the border can be recognized.
  for (std::uint8_t& pixel : pictures.pixels.span()) pixel = static_cast<std::uint8_t>(1 + random.below(255));
  for (std::size_t i = 0; i < count; ++i) pictures.labels.push_back(i % 10);
  return pictures;
}

TEST(FashionData, ScaleIsThatOfThePixels) {
  const LabelledPictures pictures = random_pictures(3);
  const PixelScale scale = measure_scale(pictures);
  double sum = 0.0;
  for (const std::uint8_t pixel : pictures.pixels.span()) sum += pixel / 255.0;
  const double mean = sum / static_cast<double>(pictures.pixels.size());
  double squares = 0.0;
  for (const std::uint8_t pixel : pictures.pixels.span()) squares += (pixel / 255.0 - mean) * (pixel / 255.0 - mean);
  EXPECT_NEAR(scale.mean, mean, 0.5001e-4);
  EXPECT_NEAR(scale.deviation, std::sqrt(squares / static_cast<double>(pictures.pixels.size())), 0.5001e-4);

  LabelledPictures black = pictures;
  for (std::uint8_t& pixel : black.pixels.span()) pixel = 0;
  EXPECT_EQ(measure_scale(black).deviation, 1.0);
}

// The model's training input equals the output of the image processor in its folder.
TEST(FashionData, PixelsAreThoseOfTheImageProcessor) {
  PixelScale scale;
  scale.mean = 0.2861;
  scale.deviation = 0.3528;
  ImageProcessor processor;
  processor.channels = 1;
  processor.size = {16, 16, 0, 0};
  processor.image_mean = {scale.mean};
  processor.image_std = {scale.deviation};
  Picture picture;
  picture.rgb = Tensor<std::uint8_t>({16, 16, 3});
  for (std::size_t i = 0; i < picture.rgb.size(); ++i) picture.rgb.span()[i] = static_cast<std::uint8_t>(i / 3);
  const Tensor<float> expected = pixel_values(picture, processor);
  const std::array<float, 256> table = scale.table();
  EXPECT_TRUE(std::equal(table.begin(), table.end(), expected.span().begin(), expected.span().end()));
}

TEST(Augment, MovesAndMirrors) {
  const LabelledPictures pictures = random_pictures(1);
  const auto picture = pictures.picture(0);
  const auto at = [&](std::ptrdiff_t y, std::ptrdiff_t x) {
    const bool inside = y >= 0 && y < 28 && x >= 0 && x < 28;
    return inside ? picture[static_cast<std::size_t>(y * 28 + x)] : std::uint8_t{0};
  };
  std::set<std::array<std::ptrdiff_t, 3>> seen;
  Random random(4);
  for (int n = 0; n < 1000; ++n) {
    std::array<std::uint8_t, kPixels> out{};
    augment(picture, {1, 1.0, 2, 0.5}, random, out);
    std::size_t matches = 0;
    for (std::ptrdiff_t down = -2; down <= 2; ++down) {
      for (std::ptrdiff_t right = -2; right <= 2; ++right) {
        for (const std::ptrdiff_t mirrored : {0, 1}) {
          bool same = true;
          for (std::ptrdiff_t y = 0; y < 28 && same; ++y) {
            for (std::ptrdiff_t x = 0; x < 28 && same; ++x) {
              const std::ptrdiff_t from = mirrored == 1 ? 27 - (x - right) : x - right;
              same = out[static_cast<std::size_t>(y * 28 + x)] == at(y - down, from);
            }
          }
          if (!same) continue;
          ++matches;
          seen.insert({down, right, mirrored});
        }
      }
    }
    ASSERT_EQ(matches, 1U);
  }
  EXPECT_EQ(seen.size(), 50U);

  std::array<std::uint8_t, kPixels> same{};
  augment(picture, {1, 1.0, 0, 0.0}, random, same);
  EXPECT_TRUE(std::equal(same.begin(), same.end(), picture.begin(), picture.end()));
  augment(picture, {1, 0.0, 2, 1.0}, random, same);
  EXPECT_TRUE(std::equal(same.begin(), same.end(), picture.begin(), picture.end()));

  // A quarter of them are altered, of which one in 50 looks as before: 10,000 draws, four standard deviations.
  std::size_t changed = 0;
  for (int n = 0; n < 10000; ++n) {
    std::array<std::uint8_t, kPixels> out{};
    augment(picture, {1, 0.25, 2, 0.5}, random, out);
    changed += std::equal(out.begin(), out.end(), picture.begin(), picture.end()) ? 0U : 1U;
  }
  EXPECT_NEAR(static_cast<double>(changed), 10000 * 0.25 * 49 / 50, 4 * std::sqrt(10000 * 0.245 * 0.755));
}

TEST(PictureBatch, FollowsFromSeedStepAndPicture) {
  const LabelledPictures pictures = random_pictures(8);
  const PixelScale scale = measure_scale(pictures);
  const Augmentation augmentation = {7, 1.0, 2, 0.5};
  const TrainingBatch batch = picture_batch(pictures, {5, 2, 7}, scale, augmentation, 3);
  EXPECT_EQ(batch.rows, 3U);
  EXPECT_EQ(batch.pixels.shape(), (Shape{3, 1, 28, 28}));
  EXPECT_EQ(batch.labels, (std::vector<std::size_t>{5, 2, 7}));
  EXPECT_TRUE(batch.ids.empty());
  const TrainingBatch alone = picture_batch(pictures, {2}, scale, augmentation, 3);
  const auto middle = batch.pixels.span().subspan(kPixels, kPixels);
  EXPECT_TRUE(std::equal(middle.begin(), middle.end(), alone.pixels.span().begin()));
  EXPECT_NE(picture_batch(pictures, {2}, scale, augmentation, 4).pixels, alone.pixels);

  const std::array<float, 256> table = scale.table();
  const TrainingBatch plain = picture_batch(pictures, {2}, scale);
  for (std::size_t p = 0; p < kPixels; ++p) EXPECT_EQ(plain.pixels.span()[p], table[pictures.picture(2)[p]]);
}

TEST(FashionResults, Counts) {
  const FashionResults results = summarize_fashion({0, 0, 3, 9}, {0, 6, 3, 9});
  EXPECT_EQ(results.all().count, 4U);
  EXPECT_EQ(results.all().right, 3U);
  EXPECT_EQ(results.of(0).count, 2U);
  EXPECT_EQ(results.of(1).count, 0U);
  EXPECT_EQ(results.confusion[0][6], 1U);
}

}  // namespace
}  // namespace attnflow::fashion_data_test
