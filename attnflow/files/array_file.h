// Named arrays in files: NumPy's .npy and .npz, and .safetensors.
//
// Files come from anywhere, so every reader treats its input as hostile: sizes are checked before they are multiplied
// or allocated, offsets before they are followed, and nothing in a file is ever executed (pickled .npy files are
// refused). Every failure throws Error(kBadFile) with the path, what was expected, what was found and what to do.
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
#ifndef ATTNFLOW_FILES_ARRAY_FILE_H_
#define ATTNFLOW_FILES_ARRAY_FILE_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Element types that files hold. kUnicode is NumPy's "<U": fixed-width UTF-32 text.
enum class DType { kBool, kU8, kI8, kI16, kI32, kI64, kF16, kBF16, kF32, kF64, kUnicode };

// "f32", "u8", ...
std::string_view dtype_name(DType dtype);
// Bytes of one element. kUnicode has no fixed size: throws.
std::size_t dtype_size(DType dtype);

// One array as stored: little-endian, row-major. Text arrays (kUnicode) keep their strings, as UTF-8, in `strings`, and
// leave `bytes` empty.
struct Array {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<std::byte> bytes;
  std::vector<std::string> strings;

  // Wraps values; shapes must match the number of elements.
  static Array from(TensorView<const float> values);
  static Array from(TensorView<const double> values);
  static Array from(TensorView<const std::uint8_t> values);
  static Array from(TensorView<const std::int64_t> values);
  // As kF16, each value rounded to the nearest (float_to_half). Throws Error(kOther) that names `what` on a finite
  // value from 65520 on, which would become infinite.
  static Array half_of(TensorView<const float> values, std::string_view what);
  static Array from_bools(const std::vector<bool>& values);
  static Array from_strings(std::vector<std::string> values);

  // Elements converted to T (float, double or std::int64_t). Any number type converts to double and, where that is
  // exact or a rounding of floats, to float; only integers and bools convert to int64. Otherwise throws Error(kBadFile)
  // that names `what`.
  Tensor<float> to_float(std::string_view what) const;
  Tensor<double> to_double(std::string_view what) const;
  Tensor<std::int64_t> to_int64(std::string_view what) const;
};

struct NamedArray {
  std::string name;
  Array array;
};

struct ReadLimits {
  // Arrays whose decoded size exceeds this are refused (guards against zip bombs and typos): 8 GiB.
  std::size_t max_bytes = std::size_t{8} << 30;
};

// .npy: format versions 1 to 3, C or Fortran order (converted to C order), either byte order. Pickles are refused.
// Unsigned integers of 2, 4 or 8 bytes become kI64, when they fit. kBF16, which NumPy lacks, is written as float32.
Array read_npy(const std::filesystem::path& path, const ReadLimits& limits = {});
void write_npy(const std::filesystem::path& path, const Array& array);

// .npz: a zip file of .npy entries, stored or deflated.
std::vector<std::string> list_npz(const std::filesystem::path& path);  // keys without ".npy"
// Reads one array; when the key is missing the message lists those that are there.
Array read_npz(const std::filesystem::path& path, std::string_view key, const ReadLimits& limits = {});
// Same input, same bytes: entries in the given order, with a fixed time stamp. Deflated.
void write_npz(const std::filesystem::path& path, const std::vector<NamedArray>& arrays);

// .safetensors writing. Text arrays cannot be stored there: throws; put them into `metadata` (JSON text values).
void write_safetensors(const std::filesystem::path& path, const std::vector<NamedArray>& arrays,
                       const std::vector<std::pair<std::string, std::string>>& metadata = {});

}  // namespace attnflow

#endif  // ATTNFLOW_FILES_ARRAY_FILE_H_
