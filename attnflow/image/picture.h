// Pictures: PNG, JPEG and WebP files as 8-bit RGB.
//
// A vision model takes red, green and blue in 8 bits, upright. Files hold more kinds of pictures than that; what is
// made of each follows what PIL and transformers make of it, because models were trained on that:
//
//   grey, palette, 1, 2, 4 bits  widened to RGB: v / (2^bits - 1) of full scale.
//   16 bits                      the high byte of each sample, as PIL takes it. (PIL does so for colour only. It cuts a
//                                16-bit grey picture off at 255, which turns nearly all of it white.)
//   alpha, transparent colours   laid over white: c' = round((c alpha + 255 (255 - alpha)) / 255), as transformers
//                                does since version 5. PIL's convert("RGB") drops alpha and shows what was hidden.
//   CMYK, YCCK (JPEG)            taken as inverted, as Adobe's programs write it and PIL reads it, and then with PIL's
//                                formula: c' = k - round(c k / 255) with c, k the amounts of ink and of light left.
//   EXIF orientation 1 to 8      applied, so that `rgb` is upright as every viewer shows it; width and height are those
//                                after it. From a JPEG's APP1 segment, a PNG's eXIf chunk, a WebP's EXIF chunk. Exif
//                                data that makes no sense is passed over.
//   colour profiles, gamma       passed over, as PIL does.
//
// The format is found from the first bytes; names and endings mean nothing.
//
// What is refused, with Error(kBadFile) that says what was found:
//   - other formats and no pictures (the message names what it seems to be);
//   - a file that ends early, or whose compressed data is damaged: never a picture whose lower half is grey;
//   - more than PictureOptions::max_pixels, checked against the header before anything is decoded or allocated, and a
//     JPEG of more than 100 scans, a bomb of another kind;
//   - a side of no pixels;
//   - animations (APNG and WebP with more than one frame): a map belongs to one picture, and which frame was meant is
//     not known.
//
// Cost: time O(pixels); memory 3 bytes a pixel, 4 with alpha, twice that for orientations other than 1, and another 6
// for progressive JPEG. Same bytes in, same picture out. JPEG leaves the last bit of a sample to the decoder: another
// version of libjpeg may differ by 1.
#ifndef ATTNFLOW_IMAGE_PICTURE_H_
#define ATTNFLOW_IMAGE_PICTURE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

enum class PictureFormat { kPng, kJpeg, kWebp };

// What a picture was before it became 8-bit RGB.
struct PictureOrigin {
  std::optional<PictureFormat> format = {};  // absent: made here, not read
  std::string mode = "RGB";                  // "grey 16-bit", "palette with alpha", "CMYK", "RGB"
  int orientation = 1;                       // EXIF's: the one that was applied
};

struct Picture {
  Tensor<std::uint8_t> rgb;  // [height, width, 3]
  PictureOrigin origin = {};

  std::size_t height() const { return rgb.extent(0); }
  std::size_t width() const { return rgb.extent(1); }
};

struct PictureOptions {
  std::size_t max_pixels = std::size_t{64} << 20;  // width times height; above it the file is refused
};

// Reads a file of at most 512 MiB. Throws Error(kBadFile) as above, or when the file is missing or cannot be read.
Picture read_picture(const std::filesystem::path& path, const PictureOptions& options = {});

// The same from memory. `source` begins every message: a file's name, say.
Picture decode_picture(std::span<const std::byte> bytes, const std::string& source, const PictureOptions& options = {});

}  // namespace attnflow

#endif  // ATTNFLOW_IMAGE_PICTURE_H_
