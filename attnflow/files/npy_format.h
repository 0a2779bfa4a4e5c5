// The .npy format, on bytes from any source: a file, an entry of an .npz, or memory.
//
// Layout: "\x93NUMPY", two version bytes, the header's length (2 bytes little-endian in version 1, 4 from version 2
// on), the header (a Python dict literal {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }), then the
// elements. Source: NumPy's numpy/lib/format.py.
#ifndef ATTNFLOW_FILES_NPY_FORMAT_H_
#define ATTNFLOW_FILES_NPY_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"

namespace attnflow::internal {

// A stream of bytes whose length is claimed in advance. The claim may be wrong: read() has the last word.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // The claimed total length.
  virtual std::uint64_t size() const = 0;
  // Reads up to into.size() bytes; fewer only at the end. Throws Error(kBadFile) if reading fails.
  virtual std::size_t read(std::span<std::byte> into) = 0;
};

class MemorySource : public ByteSource {
 public:
  explicit MemorySource(std::span<const std::byte> bytes) : bytes_(bytes), rest_(bytes) {}
  std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read(std::span<std::byte> into) override;

 private:
  std::span<const std::byte> bytes_;
  std::span<const std::byte> rest_;
};

// Reads one array that makes up all of `source`; messages call it `name`. Memory is allocated only after shape and
// dtype have been checked against source.size() and the limits. Unsigned integers of 2 to 8 bytes become kI64.
Array parse_npy(ByteSource& source, const std::string& name, const ReadLimits& limits);

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

#endif  // ATTNFLOW_FILES_NPY_FORMAT_H_
