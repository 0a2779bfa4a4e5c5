#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "attnflow/image/golden_pictures_for_test.h"
#include "attnflow/image/picture.h"

namespace attnflow::bad_picture_test {
namespace {

using std::string_literals::operator""s;  // NOLINT(misc-unused-using-decls): used below

std::string golden(const std::string& file) { return test::get(test::pictures_folder() / file); }

void expect_refused(const std::string& bytes, std::vector<std::string> words, const PictureOptions& options = {}) {
  words.emplace_back("FILE");
  test::expect_error(ErrorKind::kBadFile, words, [&] { decode_picture(test::as_bytes(bytes), "FILE", options); });
}

void put_u32(std::string& bytes, std::size_t at, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (24 - 8 * i));
}

TEST(BadPictureTest, NoPicture) {
  const std::map<std::string, std::string> files = {
      {"", "an empty file"},
      {"GIF89a...", "a GIF image"},
      {"II*\0abcd"s, "a TIFF image"},
      {"\0\0\0\x20"s + "ftypavif....", "an AVIF image"},
      {"\0\0\0\x20"s + "ftypheic....", "a HEIC image"},
      {"%PDF-1.7", "a PDF document"},
      {"<svg xmlns", "an SVG drawing"},
      {"<?xml version='1.0'?><svg>", "an XML document"},
      {"PK\3\4....", "a zip archive"},
      {"GGUF\3\0\0\0"s, "a GGUF model"},
      {"version https://git-lfs.github.com/spec/v1\n", "Git LFS"},
      {"The author laughed.\n", "text that begins \"The author laughed."},
      {"\x01\x02\xff\xfe"s, "4 bytes that begin 01 02 ff fe"},
      {"\x89PNG\n\x1a\n....", "transfer as text"},
      {"RIFF\x10\0\0\0WAVEfmt "s, "found"},
  };
  for (const auto& [bytes, what] : files) {
    SCOPED_TRACE(what);
    expect_refused(bytes, {"expected a PNG, JPEG or WebP image, found", what});
  }
  expect_refused(golden("refused_gif.png"), {"a GIF image"});
}

TEST(BadPictureTest, MissingFileAndFolder) {
  const test::TempFolder folder;
  test::expect_error(ErrorKind::kBadFile, {"none.png"}, [&] { read_picture(folder / "none.png"); });
  test::expect_error(ErrorKind::kBadFile, {"folder"}, [&] { read_picture(folder.path()); });
  const auto path = test::put(folder / "empty.png", "");
  test::expect_error(ErrorKind::kBadFile, {"empty.png", "an empty file"}, [&] { read_picture(path); });
}

TEST(BadPictureTest, CutAnywhere) {
  std::size_t cuts = 0;
  for (const auto& [name, entry] : test::pictures_index()["files"].items()) {
    const std::string whole = golden(entry[0].get<std::string>());
    for (std::size_t length = 0; length < whole.size(); ++length) {
      ASSERT_THROW(decode_picture(test::as_bytes(std::string_view(whole).substr(0, length)), name), Error)
          << name << " cut to " << length << " of " << whole.size() << " bytes";
      ++cuts;
    }
  }
  EXPECT_GT(cuts, 10000U);
  for (const auto& [file, words] :
       std::map<std::string, std::string>{{"png_rgb.png", "truncated one: the chunk at byte"},
                                          {"jpeg_420.jpg", "truncated one: its data ends"},
                                          {"webp_lossy.webp", "truncated one: its header claims"}}) {
    const std::string whole = golden(file);
    expect_refused(whole.substr(0, whole.size() / 2), {words});
  }
  std::string webp = golden("webp_lossless.webp");
  webp.resize(webp.size() / 4 * 2);
  webp[4] = static_cast<char>((webp.size() - 8) & 0xFF);
  webp[5] = static_cast<char>((webp.size() - 8) >> 8);
  expect_refused(webp, {"truncated"});
}

TEST(BadPictureTest, ChangedAnywhere) {
  std::size_t refused = 0;
  std::size_t taken = 0;
  for (const auto& [name, entry] : test::pictures_index()["files"].items()) {
    const std::string whole = golden(entry[0].get<std::string>());
    for (std::size_t at = 0; at < whole.size(); ++at) {
      for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
        std::string changed = whole;
        changed[at] = static_cast<char>(static_cast<unsigned char>(changed[at]) ^ flip);
        try {
          const Picture picture = decode_picture(test::as_bytes(changed), name, {.max_pixels = 1 << 16});
          ASSERT_EQ(picture.rgb.size(), picture.width() * picture.height() * 3);
          ++taken;
        } catch (const Error& error) {
          ASSERT_EQ(error.kind(), ErrorKind::kBadFile);
          ++refused;
        }
      }
    }
  }
  EXPECT_GT(refused, 10000U);
  EXPECT_GT(taken, 1000U);  // a changed coefficient gives another picture
}

TEST(BadPictureTest, DamagedData) {
  std::string png = golden("png_rgb.png");
  png[png.find("IDAT") + 20] ^= 0x10;
  expect_refused(png, {"damaged data", "IDAT"});
  std::string jpeg = golden("jpeg_444.jpg");
  jpeg[jpeg.find("\xFF\xDA") + 60] = '\xFF';
  jpeg[jpeg.find("\xFF\xDA") + 61] = '\xD9';  // ends in the middle
  expect_refused(jpeg, {"JPEG"});
}

// Rejected based on the header, before memory is requested: these would need up to 2^64 bytes.
TEST(BadPictureTest, DecompressionBombs) {
  std::string png = golden("png_rgb.png");
  put_u32(png, 16, 0x7FFFFFFF);
  put_u32(png, 20, 0x7FFFFFFF);
  expect_refused(png, {"at most 67108864 pixels", "2147483647 x 2147483647", "--max-megapixels"});

  std::string jpeg = golden("jpeg_444.jpg");
  const std::size_t frame = jpeg.find("\xFF\xC0");
  jpeg.replace(frame + 5, 4, "\xFF\xDC\xFF\xDC");
  expect_refused(jpeg, {"at most 67108864 pixels", "65500 x 65500", "--max-megapixels"});

  std::string webp = golden("webp_lossless.webp");
  const std::size_t bits = webp.find("VP8L") + 9;
  webp.replace(bits, 4, "\xFF\xFF\xFF\x0F");  // 14 bits each of width - 1 and height - 1
  expect_refused(webp, {"16384", "--max-megapixels"});

  const std::string picture = golden("png_rgb.png");
  expect_refused(picture, {"at most 293 pixels", "21 x 14"}, {.max_pixels = 21 * 14 - 1});
  EXPECT_EQ(decode_picture(test::as_bytes(picture), "FILE", {.max_pixels = 21 * 14}).width(), 21U);
}

// A progressive JPEG of a few kilobytes with repeated scans, each of which makes the decoder walk over all blocks.
TEST(BadPictureTest, TooManyScans) {
  const std::string jpeg = golden("jpeg_progressive.jpg");
  const std::size_t first = jpeg.find("\xFF\xDA");
  const std::size_t next = std::min(jpeg.find("\xFF\xDA", first + 2), jpeg.find("\xFF\xC4", first + 2));
  const std::string scan = jpeg.substr(first, next - first);
  std::string bomb = jpeg.substr(0, first);
  for (int i = 0; i < 200; ++i) bomb += scan;
  expect_refused(bomb + "\xFF\xD9", {"at most 100 scans"});
  bomb.resize(first + 50 * scan.size());
  EXPECT_EQ(decode_picture(test::as_bytes(bomb + "\xFF\xD9"), "FILE").width(), 29U);
}

TEST(BadPictureTest, NoPixels) {
  std::string png = golden("png_rgb.png");
  put_u32(png, 16, 0);
  expect_refused(png, {"at least 1 x 1 pixel", "0 x 14"});
  std::string jpeg = golden("jpeg_444.jpg");
  jpeg.replace(jpeg.find("\xFF\xC0") + 7, 2, "\0\0"s);
  expect_refused(jpeg, {"JPEG"});
}

TEST(BadPictureTest, Animations) {
  expect_refused(golden("refused_animated.png"), {"expected a single PNG image", "animation of 2 frames"});
  expect_refused(golden("refused_animated.webp"), {"expected a single WebP image", "animation"});
}

TEST(BadPictureTest, HeadersThatContradict) {
  std::string png = golden("png_rgb.png");
  png[25] = 7;  // no such color type
  expect_refused(png, {"damaged data"});
  std::string first = golden("png_rgb.png");
  first.replace(12, 4, "IDAT");
  expect_refused(first, {"first chunk is not a header"});
}

}  // namespace
}  // namespace attnflow::bad_picture_test
