#include <cassert>
#include <optional>
#include <utility>

#include "attnflow/image/picture_decoder.h"

namespace attnflow::internal {
namespace {

// Numbers of a TIFF file, in the byte order given by its header.
class TiffReader {
 public:
  TiffReader(std::span<const std::byte> bytes, bool little) : bytes_(bytes), little_(little) {}

  std::optional<std::uint32_t> u16(std::size_t at) const {
    if (!has(at, 2)) return std::nullopt;
    const std::uint32_t first = byte_at(bytes_, at);
    const std::uint32_t second = byte_at(bytes_, at + 1);
    return little_ ? second << 8 | first : first << 8 | second;
  }
  std::optional<std::uint32_t> u32(std::size_t at) const {
    if (!has(at, 4)) return std::nullopt;
    return little_ ? little_u32(bytes_, at) : big_u32(bytes_, at);
  }

 private:
  bool has(std::size_t at, std::size_t count) const { return at <= bytes_.size() && bytes_.size() - at >= count; }

  std::span<const std::byte> bytes_;
  bool little_;
};

}  // namespace

int exif_orientation(std::span<const std::byte> exif) {
  constexpr std::uint32_t kOrientation = 0x0112;
  constexpr std::uint32_t kShort = 3;
  constexpr std::size_t kEntryBytes = 12;
  const bool little = has_text(exif, 0, "II");
  if (!little && !has_text(exif, 0, "MM")) return 1;
  const TiffReader tiff(exif, little);
  const auto directory = tiff.u32(4);
  if (tiff.u16(2) != 42U || !directory) return 1;
  const std::uint32_t entries = tiff.u16(*directory).value_or(0);
  for (std::size_t i = 0; i < entries; ++i) {
    const std::size_t entry = std::size_t{*directory} + 2 + i * kEntryBytes;
    const auto tag = tiff.u16(entry);
    if (!tag) break;
    if (*tag != kOrientation) continue;
    if (tiff.u16(entry + 2) != kShort || tiff.u32(entry + 4) != 1U) return 1;
    const std::uint32_t value = tiff.u16(entry + 8).value_or(1);
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

Tensor<std::uint8_t> turn_upright(Tensor<std::uint8_t> rgb, int orientation) {
  assert(orientation >= 1 && orientation <= 8);
  if (orientation == 1) return rgb;
  const std::size_t height = rgb.extent(0);
  const std::size_t width = rgb.extent(1);
  // From 5 on, the stored rows are the upright picture's columns.
  const bool swapped = orientation >= 5;
  Tensor<std::uint8_t> upright(swapped ? Shape{width, height, 3} : Shape{height, width, 3});
  // Pixel (x, y) of the upright picture comes from (x or y, possibly counted from the opposite end) of the stored one.
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  std::uint8_t* out = upright.data();
  for (std::size_t y = 0; y < upright.extent(0); ++y) {
    for (std::size_t x = 0; x < upright.extent(1); ++x, out += 3) {
      const std::size_t along = swapped ? y : x;
      const std::size_t down = swapped ? x : y;
      const std::size_t stored_x = from_right ? width - 1 - along : along;
      const std::size_t stored_y = from_bottom ? height - 1 - down : down;
      const std::uint8_t* const in = rgb.data() + (stored_y * width + stored_x) * 3;
      out[0] = in[0];
      out[1] = in[1];
      out[2] = in[2];
    }
  }
  return upright;
}

}  // namespace attnflow::internal
