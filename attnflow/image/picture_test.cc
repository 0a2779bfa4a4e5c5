#include "attnflow/image/picture.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>

#include "attnflow/base/random.h"
#include "attnflow/image/golden_pictures_for_test.h"
#include "attnflow/image/picture_decoder.h"

namespace attnflow::picture_test {
namespace {

std::string_view text_of(const Tensor<std::uint8_t>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size()};
}

// The last bit of JPEG and lossy WebP depends on the decoder: PIL brings its own libjpeg and libwebp.
bool is_lossy(const std::string& name) { return name.find("jpeg") == 0 || name.find("webp_lossy") == 0; }

TEST(PictureTest, DecodesAsPilDoes) {
  std::size_t compared = 0;
  for (const auto& [name, entry] : test::pictures_index()["files"].items()) {
    SCOPED_TRACE(name);
    const Picture picture = read_picture(test::pictures_folder() / entry[0].get<std::string>());
    const Tensor<std::uint8_t> expected = test::golden_bytes("decoded.npz", name);
    EXPECT_LE(test::largest_difference(picture.rgb, expected), is_lossy(name) ? 1 : 0);
    EXPECT_EQ(picture.origin.orientation, entry[1].get<int>());
    ++compared;
  }
  EXPECT_GE(compared, 45U);
}

TEST(PictureTest, SaysWhatItWas) {
  const std::map<std::string, std::string> modes = {
      {"png_rgb.png", "PNG RGB"},
      {"png_rgba_16.png", "PNG RGB 16-bit with alpha"},
      {"png_grey_1.png", "PNG grey 1-bit"},
      {"png_grey_alpha.png", "PNG grey with alpha"},
      {"png_palette_alpha.png", "PNG palette with alpha"},
      {"png_rgb_key.png", "PNG RGB with alpha"},
      {"jpeg_grey.jpg", "JPEG grey"},
      {"jpeg_420.jpg", "JPEG RGB"},
      {"jpeg_cmyk.jpg", "JPEG CMYK"},
      {"jpeg_ycck.jpg", "JPEG YCCK"},
      {"webp_lossy.webp", "WebP RGB"},
      {"webp_lossless_alpha.webp", "WebP RGB with alpha"},
  };
  for (const auto& [file, expected] : modes) {
    const PictureOrigin origin = read_picture(test::pictures_folder() / file).origin;
    ASSERT_TRUE(origin.format) << file;
    constexpr std::array<const char*, 3> kFormats = {"PNG", "JPEG", "WebP"};
    EXPECT_EQ(kFormats.at(static_cast<std::size_t>(*origin.format)) + (" " + origin.mode), expected) << file;
  }
}

TEST(PictureTest, TheNameSaysNothing) {
  const test::TempFolder folder;
  const auto path = test::put(folder / "picture.jpg", test::get(test::pictures_folder() / "png_rgb.png"));
  EXPECT_EQ(read_picture(path).origin.format, PictureFormat::kPng);
}

// The meaning of the orientations, by the picture's corners: EXIF's value names the sides that row 0 and column 0 show.
TEST(PictureTest, OrientationsTurnThePicture) {
  Tensor<std::uint8_t> stored({2, 3, 3});
  const auto mark = [&](std::size_t y, std::size_t x, std::uint8_t value) { stored(y, x, 0) = value; };
  mark(0, 0, 1);
  mark(0, 2, 2);
  mark(1, 0, 3);
  mark(1, 2, 4);
  const std::map<int, std::string> corners = {{1, "1234"}, {2, "2143"}, {3, "4321"}, {4, "3412"},
                                              {5, "1324"}, {6, "3142"}, {7, "4231"}, {8, "2413"}};
  for (const auto& [orientation, expected] : corners) {
    const Tensor<std::uint8_t> upright = internal::turn_upright(stored, orientation);
    const std::size_t bottom = upright.extent(0) - 1;
    const std::size_t right = upright.extent(1) - 1;
    EXPECT_EQ(bottom, orientation < 5 ? 1U : 2U);
    std::string found;
    for (const auto value :
         {upright(0, 0, 0), upright(0, right, 0), upright(bottom, 0, 0), upright(bottom, right, 0)}) {
      found += static_cast<char>('0' + value);
    }
    EXPECT_EQ(found, expected) << orientation;
  }
}

TEST(PictureTest, ExifThatMakesNoSenseIsPassedOver) {
  using std::string_literals::operator""s;
  const auto orientation = [](const std::string& exif) { return internal::exif_orientation(test::as_bytes(exif)); };
  const std::string head = "II*\0\x08\0\0\0"s;
  const std::string entry = "\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"s;
  EXPECT_EQ(orientation(head + "\x01\0"s + entry), 6);
  EXPECT_EQ(orientation("MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x03\0\0"s), 3);
  EXPECT_EQ(orientation(""), 1);
  EXPECT_EQ(orientation("JJ*\0\x08\0\0\0"s), 1);
  EXPECT_EQ(orientation(head), 1);                                                        // no directory
  EXPECT_EQ(orientation(head + "\xFF\xFF"s), 1);                                          // missing entries
  EXPECT_EQ(orientation("II*\0\xFF\xFF\xFF\xFF"s + entry), 1);                            // beyond the end
  EXPECT_EQ(orientation(head + "\x01\0\x12\x01\x03\0\x01\0\0\0\x09\0\0\0"s), 1);          // no orientation
  EXPECT_EQ(orientation(head + "\x01\0\x12\x01\x04\0\x01\0\0\0\x06\0\0\0"s), 1);          // of the wrong type
  EXPECT_EQ(orientation(head + "\x01\0\x12\x01\x03\0\x01\0\0\0"s), 1);                    // cut off
  EXPECT_EQ(orientation(head + "\x02\0\x0f\x01\x03\0\x01\0\0\0\x05\0\0\0"s + entry), 6);  // the second entry
}

TEST(PictureTest, DecodesPhotographsAsPilDoes) {
  const char* const data = std::getenv("ATTNFLOW_SHARED_DATA");
  if (data == nullptr) GTEST_SKIP() << "ATTNFLOW_SHARED_DATA is not set";
  const auto golden = nlohmann::json::parse(test::get(test::pictures_folder() / "photographs.json"));
  ASSERT_FALSE(golden.empty());
  for (const auto& [name, hashes] : golden.items()) {
    const Picture picture = read_picture(std::filesystem::path(data) / "images" / name);
    EXPECT_EQ(fmt::format("{:016x}", name_hash(text_of(picture.rgb))), hashes["rgb"].get<std::string>()) << name;
  }
}

}  // namespace
}  // namespace attnflow::picture_test
