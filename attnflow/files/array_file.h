// Named arrays in files: NumPy's .npy and .npz, and .safetensors.
//
// Files may come from anywhere, so every reader treats its input as hostile: sizes are checked before they are
// multiplied or allocated, offsets before they are followed, and nothing in a file is executed (pickled .npy files are
// rejected). Every failure throws Error(kBadFile) with the path, what was expected, what was found and what to do.
//
// References:
//   NumPy's .npy format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//   .npz, as numpy.savez writes it: https://numpy.org/doc/stable/reference/generated/numpy.savez.html
//   .safetensors: https://github.com/huggingface/safetensors#format
//
// Example:
//
//     const Tensor<double> values({2, 3}, {0.5, 0.25, 0.25, 0.0, 1.0, 0.0});
//     write_npz("values.npz", {{"values", Array::from(values.view())}, {"layers", Array::from_strings({"6"})}});
//     for (const std::string& key : list_npz("values.npz")) std::puts(key.c_str());  // values, layers
//     assert(read_npz("values.npz", "values").to_double("values") == values);
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Element types found in files. kUnicode is NumPy's "<U": fixed-width UTF-32 text.
enum class DType { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64, kUnicode };

std::string_view dtype_name(DType dtype);
// Bytes per element. Throws for kUnicode, which has no fixed size.
std::size_t dtype_size(DType dtype);

// An array as stored: little-endian, row-major. Text (kUnicode) is in `strings`, as UTF-8, and `bytes` is empty.
struct Array {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<std::byte> bytes;
  std::vector<std::string> strings;

  // The shape must match the number of elements.
  static Array from(TensorView<const float> values);
  static Array from(TensorView<const double> values);
  static Array from(TensorView<const std::uint8_t> values);
  static Array from(TensorView<const std::int64_t> values);
  // Converts to kF16, rounding each value to the nearest (float_to_half). Throws Error(kOther) naming `what` for a
  // finite value of 65520 or more in magnitude, which would become infinite.
  static Array half_of(TensorView<const float> values, std::string_view what);
  static Array from_bools(const std::vector<bool>& values);
  static Array from_strings(std::vector<std::string> values);

  // Convert the elements. Any type except text converts to double and to float; only integers and bools convert to
  // int64. Floats and doubles are rounded to float, and integers beyond 2^53 to double. Throw Error(kBadFile) naming
  // `what` for another type, and, converting to float, for an integer that float32 does not hold exactly or a finite
  // double beyond its range.
  Tensor<float> to_float(std::string_view what) const;
  Tensor<double> to_double(std::string_view what) const;
  Tensor<std::int64_t> to_int64(std::string_view what) const;
};

struct NamedArray {
  std::string name;
  Array array;
};

struct ReadLimits {
  // Larger decoded arrays are rejected (guards against zip bombs and typos): 8 GiB.
  std::size_t max_bytes = std::size_t{8} << 30;
};

// .npy: versions 1 to 3, C or Fortran order (converted to C), either byte order. Pickles are rejected. Unsigned
// integers of 2, 4 or 8 bytes become kI64 if they fit. kBF16, which NumPy lacks, is written as float32.
Array read_npy(const std::filesystem::path& path, const ReadLimits& limits = {});
void write_npy(const std::filesystem::path& path, const Array& array);

// .npz: a zip file of .npy entries, stored or deflated.
std::vector<std::string> list_npz(const std::filesystem::path& path);  // keys without ".npy"
Array read_npz(const std::filesystem::path& path, std::string_view key, const ReadLimits& limits = {});
// The same input gives the same bytes: entries are in the given order, deflated, with a fixed time stamp.
void write_npz(const std::filesystem::path& path, const std::vector<NamedArray>& arrays);

// Throws for text arrays, which the format cannot store; put them into `metadata` (JSON text values).
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedArray>& arrays,
                       const std::vector<std::pair<std::string, std::string>>& metadata = {});

}  // namespace attnflow
