// IDX files: arrays of bytes in the format in which the MNIST family of data sets is published.
//
// Format (LeCun, Cortes and Burges, "The MNIST database of handwritten digits"): two zero bytes; a byte for the type of
// the values; a byte for the number of dimensions; each dimension as a 32-bit number, highest byte first; then the
// values, row by row. Both the published gzip-compressed files and unpacked ones are read, and recognized by their
// first bytes.
//
// Only unsigned one-byte values (type 0x08) in 1 to 3 dimensions are read: labels are one-dimensional, gray pictures
// [count, height, width].
//
// An Error(kBadFile) that begins with the file's name rejects a different first word or type, a dimension of 0, more
// than 2^28 values (before anything is allocated), fewer or more values than the dimensions state, and compressed data
// that is damaged or ends early. Memory grows with the values present, not with those that a header promises.
//
// Cost: O(values).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Reads a file. Throws Error(kBadFile) as above, or when it is missing or larger than 1 GiB.
Tensor<std::uint8_t> read_idx(const std::filesystem::path& path);

// Likewise from memory, with the same content as a file; every message begins with `source`.
Tensor<std::uint8_t> parse_idx(std::span<const std::byte> bytes, const std::string& source);

}  // namespace attnflow
