// The .npy format, on bytes from any source: a file, an entry of an .npz, or memory.
//
// Layout: "\x93NUMPY", two version bytes, the header's length (2 bytes little-endian in version 1, 4 from version 2
// on), the header (a Python dict literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }), then the
// elements. Source: NumPy's numpy/lib/format.py.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"

namespace attnflow::internal {

// A stream of bytes whose length is claimed in advance. The claim may be wrong: read() has the last word.
struct ByteSource {
  std::uint64_t size = 0;  // the claim
  std::function<std::size_t(std::span<std::byte> into)> read;
};
ByteSource memory_source(std::span<const std::byte> bytes);

// Reads one array that makes up all of `source`; messages call it `name`. Memory is allocated only after shape and
// dtype have been checked against source.size and the limits. Unsigned integers of 2 to 8 bytes become kI64.
Array parse_npy(const ByteSource& source, const std::string& name, const ReadLimits& limits);

// An array as the bytes of an .npy file, in two parts so that numbers need not be copied. Refers to `array`.
struct NpyBytes {
  NpyBytes() = default;
  NpyBytes(NpyBytes&&) = default;  // not copied: `data` may point into `converted`

  std::string header;                // from the magic bytes to the end of the header, a multiple of 64 bytes
  std::span<const std::byte> data;   // array.bytes, or `converted`
  std::vector<std::byte> converted;  // text as UTF-32, bfloat16 as float32 (NumPy has no bfloat16)
};
NpyBytes serialize_npy(const Array& array);

}  // namespace attnflow::internal
