// Pictures: PNG, JPEG and WebP files as 8-bit RGB.
//
// A vision model takes 8-bit red, green and blue, upright. Files hold many other kinds of pictures; each is converted
// as PIL and transformers do, because models were trained on the result:
//
//   gray, palette, 1, 2, 4 bits  widened to RGB: v / (2^bits - 1) of full scale.
//   16 bits                      the high byte of each sample, as in PIL. (PIL does so only for color. It clips a
//                                16-bit gray picture at 255, which turns nearly all of it white.)
//   alpha, transparent colors    blended over white: c' = round((c alpha + 255 (255 - alpha)) / 255), as transformers
//                                does since version 5. PIL's convert("RGB") drops alpha and shows what was hidden.
//   CMYK, YCCK (JPEG)            treated as inverted, as Adobe's programs write it and PIL reads it, and converted with
//                                PIL's formula: c' = k - round(c k / 255), c and k being the amounts of ink and of
//                                light left.
//   EXIF orientation 1 to 8      applied, so that `rgb`, width and height are those of the upright picture. Read from a
//                                JPEG's APP1 segment, a PNG's eXIf chunk, or a WebP's EXIF chunk. Exif data that makes
//                                no sense is ignored.
//   color profiles, gamma        ignored, as in PIL.
//
// The format is determined from the first bytes, not from the file's name.
//
// The following are rejected, with an Error(kBadFile) that says what was found:
//   - other formats, and files that are not pictures (the message names what the file seems to be);
//   - a file that ends early, or whose compressed data is damaged: no picture ends in a gray lower half;
//   - more than PictureOptions::max_pixels, checked against the header before anything is decoded or allocated, and a
//     JPEG of more than 100 scans, another kind of bomb;
//   - a side of 0 pixels;
//   - animations (APNG and WebP with more than one frame): a map belongs to one picture, and the frame is unknown.
//
// Cost: time O(pixels); memory 3 bytes per pixel, 4 with alpha, doubled for orientations other than 1, plus another 6
// for progressive JPEG. The same bytes give the same picture. JPEG leaves the last bit of a sample to the decoder:
// another version of libjpeg may differ by 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

enum class PictureFormat { kPng, kJpeg, kWebp };

// The picture's properties before conversion to 8-bit RGB.
struct PictureOrigin {
  std::optional<PictureFormat> format = {};  // absent: created here, not read
  std::string mode = "RGB";                  // "grey 16-bit", "palette with alpha", "CMYK", "RGB"
  int orientation = 1;                       // the EXIF orientation that was applied
};

struct Picture {
  Tensor<std::uint8_t> rgb;  // [height, width, 3]
  PictureOrigin origin = {};

  std::size_t height() const { return rgb.extent(0); }
  std::size_t width() const { return rgb.extent(1); }
};

struct PictureOptions {
  std::size_t max_pixels = std::size_t{64} << 20;  // limit of width times height; files above it are rejected
};

// Reads a file of at most 512 MiB. Throws Error(kBadFile) as above, or when the file is missing or cannot be read.
Picture read_picture(const std::filesystem::path& path, const PictureOptions& options = {});

// Likewise from memory. Every message begins with `source`, for example a file's name.
Picture decode_picture(std::span<const std::byte> bytes, const std::string& source, const PictureOptions& options = {});

}  // namespace attnflow
