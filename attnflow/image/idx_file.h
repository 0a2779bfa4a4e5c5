// IDX files: arrays of bytes as the MNIST family of data sets publishes them.
//
// Format (LeCun, Cortes and Burges, "The MNIST database of handwritten digits"). Two zero bytes; a byte that names the
// type of the values; a byte that counts the dimensions; each dimension as a 32-bit number, the highest byte first;
// then the values, row by row. Files are published compressed with gzip, and some people unpack them: both are read,
// and told apart by their first bytes, not by their names.
//
// Only values of one byte without sign (type 0x08) are read, in 1 to 3 dimensions: labels are one-dimensional, grey
// pictures [count, height, width].
//
// What is refused, with Error(kBadFile) that begins with the file's name: another first word, another type, a dimension
// of 0, more than 2^28 values (checked before anything is allocated), fewer or more values than the dimensions say,
// compressed data that is damaged or ends early. Memory grows with the values that are there, not with those that a
// header promises.
//
// Cost: O(values).
#ifndef ATTNFLOW_IMAGE_IDX_FILE_H_
#define ATTNFLOW_IMAGE_IDX_FILE_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Reads a file. Throws Error(kBadFile) as above, or when it is missing or larger than 1 GiB.
Tensor<std::uint8_t> read_idx(const std::filesystem::path& path);

// The same from memory, as it lies in the file; `source` begins every message.
Tensor<std::uint8_t> parse_idx(std::span<const std::byte> bytes, const std::string& source);

}  // namespace attnflow

#endif  // ATTNFLOW_IMAGE_IDX_FILE_H_
