#include "attnflow/image/resize.h"

#include <gtest/gtest.h>

#include "attnflow/base/random.h"
#include "attnflow/image/golden_pictures_for_test.h"
#include "attnflow/image/resample_filter.h"

namespace attnflow::resize_test {
namespace {

constexpr Resampling kAll[] = {Resampling::kNearest, Resampling::kLanczos, Resampling::kBilinear,
                               Resampling::kBicubic, Resampling::kBox,     Resampling::kHamming};

Tensor<std::uint8_t> noise(std::size_t height, std::size_t width, std::size_t channels, std::uint64_t seed) {
  Random random(seed);
  Tensor<std::uint8_t> pixels({height, width, channels});
  for (std::uint8_t& value : pixels.span()) value = static_cast<std::uint8_t>(random.below(256));
  return pixels;
}

TEST(ResizeTest, EqualsPil) {
  std::size_t compared = 0;
  for (const auto& [name, entry] : test::pictures_index()["resizes"].items()) {
    const Tensor<std::uint8_t> input = test::golden_bytes("resize.npz", entry[0].get<std::string>());
    const Tensor<std::uint8_t> expected = test::golden_bytes("resize.npz", name);
    const ResizeOptions options{.width = expected.extent(1),
                                .height = expected.extent(0),
                                .resampling = static_cast<Resampling>(entry[1].get<int>())};
    EXPECT_EQ(test::largest_difference(resize(input.view(), options), expected), 0) << name;
    ++compared;
  }
  EXPECT_GE(compared, 96U);
}

TEST(ResizeTest, WindowsAreParts) {
  Random random(71);
  for (int round = 0; round < 60; ++round) {
    const auto side = [&](std::size_t most) { return 1 + random.below(most); };
    const Tensor<std::uint8_t> input = noise(side(40), side(40), random.below(2) == 0 ? 1 : 3, random.next());
    ResizeOptions options{.width = side(50), .height = side(50)};
    PixelWindow window;
    window.left = random.below(options.width);
    window.top = random.below(options.height);
    window.width = side(options.width - window.left);
    window.height = side(options.height - window.top);
    for (const Resampling resampling : kAll) {
      options.resampling = resampling;
      options.window.reset();
      const Tensor<std::uint8_t> whole = resize(input.view(), options);
      options.window = window;
      const Tensor<std::uint8_t> part = resize(input.view(), options);
      ASSERT_EQ(part.shape(), (Shape{window.height, window.width, input.extent(2)}));
      for (std::size_t y = 0; y < window.height; ++y) {
        for (std::size_t x = 0; x < window.width; ++x) {
          for (std::size_t c = 0; c < input.extent(2); ++c) {
            ASSERT_EQ(part(y, x, c), whole(window.top + y, window.left + x, c)) << "round " << round;
          }
        }
      }
    }
  }
}

TEST(ResizeTest, OneColourStaysOneColour) {
  for (const Resampling resampling : kAll) {
    for (const int level : {0, 1, 127, 254, 255}) {
      const auto value = static_cast<std::uint8_t>(level);
      const Picture picture = test::plain_picture(13, 9, value, 255, 0);
      const Picture resized = resize(picture, {.width = 31, .height = 4, .resampling = resampling});
      for (std::size_t i = 0; i < resized.rgb.size(); ++i) {
        ASSERT_EQ(resized.rgb.data()[i], i % 3 == 0 ? value : i % 3 == 1 ? 255 : 0);
      }
    }
  }
}

TEST(ResizeTest, SameSizeIsTheSamePicture) {
  const Tensor<std::uint8_t> input = noise(7, 11, 3, 5);
  for (const Resampling resampling : kAll) {
    EXPECT_EQ(resize(input.view(), {.width = 11, .height = 7, .resampling = resampling}), input);
  }
}

// A long row is never held in full: only the window's part of 10^9 outputs is computed.
TEST(ResizeTest, HugeResultsInWindows) {
  const Tensor<std::uint8_t> input = noise(2, 2, 3, 6);
  const Tensor<std::uint8_t> part = resize(input.view(), {.width = 1000000000,
                                                          .height = 1000000000,
                                                          .resampling = Resampling::kBilinear,
                                                          .window = PixelWindow{999999990, 5, 10, 2}});
  EXPECT_EQ(part(0, 9, 1), input(0, 1, 1));  // the right upper corner
}

TEST(ResizeTest, WeightsAddUpToOne) {
  for (const Resampling resampling : {Resampling::kLanczos, Resampling::kBicubic, Resampling::kBox}) {
    for (const auto& [from, to] :
         std::vector<std::pair<std::size_t, std::size_t>>{{1000, 7}, {7, 1000}, {5, 5}, {1, 9}}) {
      const auto weights = internal::resample_weights(resampling, from, to, 0, to);
      ASSERT_EQ(weights.outputs.size(), to);
      for (const auto& span : weights.outputs) {
        std::int64_t sum = 0;
        for (std::size_t j = 0; j < span.count; ++j) sum += weights.weights[span.offset + j];
        // Rounding contributes half a unit per weight.
        EXPECT_LE(2 * std::abs(sum - (1 << internal::kWeightBits)), static_cast<std::int64_t>(span.count));
        EXPECT_LE(span.first + span.count, from);
      }
    }
  }
}

TEST(ResizeTest, RefusesSizesThatCannotBe) {
  const Tensor<std::uint8_t> input = noise(2, 3, 3, 7);
  const auto refused = [&](std::size_t width, std::size_t height, std::optional<PixelWindow> window,
                           const std::string& words) {
    test::expect_error(ErrorKind::kUsage, {words},
                       [&] { resize(input.view(), {.width = width, .height = height, .window = window}); });
  };
  refused(0, 5, std::nullopt, "found 0 x 5");
  refused(5, std::size_t{1} << 31, std::nullopt, "expected a size");
  refused(5, 5, PixelWindow{0, 0, 6, 5}, "expected a window inside");
  refused(5, 5, PixelWindow{5, 0, 1, 1}, "expected a window inside");
  refused(5, 5, PixelWindow{4, 4, 0, 1}, "expected a window inside");
  refused(5, 5, PixelWindow{1, 0, ~std::size_t{0}, 1}, "expected a window inside");
}

TEST(ResizeTest, GreyStaysGrey) {
  for (unsigned value = 0; value < 256; ++value) {
    const auto v = static_cast<std::uint8_t>(value);
    EXPECT_EQ(to_grey(test::plain_picture(1, 1, v, v, v).rgb.view())(0, 0, 0), v);
  }
  EXPECT_EQ(to_grey(test::plain_picture(1, 1, 255, 0, 0).rgb.view())(0, 0, 0), 76);
  EXPECT_EQ(to_grey(test::plain_picture(1, 1, 0, 255, 0).rgb.view())(0, 0, 0), 150);
  EXPECT_EQ(to_grey(test::plain_picture(1, 1, 0, 0, 255).rgb.view())(0, 0, 0), 29);
}

}  // namespace
}  // namespace attnflow::resize_test
