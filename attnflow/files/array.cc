#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "attnflow/base/fail.h"
#include "attnflow/files/array_file.h"
#include "attnflow/files/dtype_table.h"
#include "attnflow/files/half.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace {

using internal::fail_file;

static_assert(std::endian::native == std::endian::little, "arrays in files are little-endian and used in place");

template <typename T>
Array from_values(DType dtype, TensorView<const T> values) {
  Array array;
  array.dtype = dtype;
  array.shape = values.shape();
  array.bytes.resize(values.size() * sizeof(T));
  if (!array.bytes.empty()) std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

// Converts elements stored as S (unaligned bytes) to a tensor of T, each through `convert`.
template <typename T, typename S, typename Convert>
Tensor<T> convert_all(const Array& array, std::string_view what, const Convert& convert) {
  const std::size_t count = element_count(array.shape);
  if (array.bytes.size() != count * sizeof(S)) {
    fail_file(what,
              fmt::format("an array of shape {} and dtype {} needs {} bytes, found {}", shape_to_string(array.shape),
                          dtype_name(array.dtype), count * sizeof(S), array.bytes.size()));
  }
  Tensor<T> out(array.shape);
  for (std::size_t i = 0; i < count; ++i) {
    S value;
    std::memcpy(&value, array.bytes.data() + i * sizeof(S), sizeof(S));
    out.data()[i] = convert(value);
  }
  return out;
}

// Rejects numbers that T (float, double or std::int64_t) cannot hold.
template <typename T>
struct NumberTo {
  std::string_view what;

  template <typename S>
  T operator()(S value) const {
    if constexpr (std::is_same_v<T, float> && std::is_integral_v<S>) {
      const float rounded = static_cast<float>(value);
      if (static_cast<double>(rounded) != static_cast<double>(value) || !exact_in_double(value))
        fail_file(what, fmt::format("holds {}, which is not a float32 number", value));
      return rounded;
    } else if constexpr (std::is_same_v<T, float> && std::is_same_v<S, double>) {
      if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<float>::max()))
        fail_file(what, fmt::format("holds {}, which is too large for float32", value));
      return static_cast<float>(value);
    } else {
      return static_cast<T>(value);
    }
  }

 private:
  template <typename S>
  static bool exact_in_double(S value) {
    if constexpr (sizeof(S) < 8) {
      return true;
    } else {
      return value >= -(S{1} << 53) && value <= (S{1} << 53);
    }
  }
};

template <typename T>
Tensor<T> to_numbers(const Array& array, std::string_view what) {
  const NumberTo<T> number{what};
  const auto wrong_kind = [&](const char* expected) {
    fail_file(what, fmt::format("expected {}, found dtype {}", expected, dtype_name(array.dtype)));
  };
  switch (array.dtype) {
    case DType::kBool:
      return convert_all<T, std::uint8_t>(array, what, [](std::uint8_t value) { return value != 0 ? T{1} : T{0}; });
    case DType::kU8:
      return convert_all<T, std::uint8_t>(array, what, number);
    case DType::kI8:
      return convert_all<T, std::int8_t>(array, what, number);
    case DType::kI16:
      return convert_all<T, std::int16_t>(array, what, number);
    case DType::kI32:
      return convert_all<T, std::int32_t>(array, what, number);
    case DType::kI64:
      return convert_all<T, std::int64_t>(array, what, number);
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (array.dtype) {
      case DType::kF16:
        return convert_all<T, std::uint16_t>(array, what, [](std::uint16_t bits) { return T{half_to_float(bits)}; });
      case DType::kBF16:
        return convert_all<T, std::uint16_t>(array, what,
                                             [](std::uint16_t bits) { return T{bfloat16_to_float(bits)}; });
      case DType::kF32:
        return convert_all<T, float>(array, what, number);
      case DType::kF64:
        return convert_all<T, double>(array, what, number);
      default:
        break;
    }
    wrong_kind("numbers");
  }
  wrong_kind("whole numbers or bools");
  return {};
}

}  // namespace

std::string_view dtype_name(DType dtype) { return internal::dtype_row(dtype).name; }

std::size_t dtype_size(DType dtype) {
  const std::size_t size = internal::dtype_row(dtype).size;
  if (size == 0) throw Error(ErrorKind::kOther, "text arrays have no fixed element size");
  return size;
}

Array Array::from(TensorView<const float> values) { return from_values(DType::kF32, values); }
Array Array::from(TensorView<const double> values) { return from_values(DType::kF64, values); }
Array Array::from(TensorView<const std::uint8_t> values) { return from_values(DType::kU8, values); }
Array Array::from(TensorView<const std::int64_t> values) { return from_values(DType::kI64, values); }

Array Array::half_of(TensorView<const float> values, std::string_view what) {
  std::vector<std::uint16_t> halves(values.size());
  for (std::size_t i = 0; i < halves.size(); ++i) {
    const float value = values.data()[i];
    halves[i] = float_to_half(value);
    if (std::isfinite(value) && !std::isfinite(half_to_float(halves[i]))) {
      fail_with(ErrorKind::kOther,
                "{}: expected numbers that half precision can hold (magnitudes below 65520), found {} at "
                "element {}; store it as float32",
                what, value, i);
    }
  }
  return from_values(DType::kF16, TensorView<const std::uint16_t>(halves.data(), values.shape()));
}

Array Array::from_bools(const std::vector<bool>& values) {
  Array array;
  array.dtype = DType::kBool;
  array.shape = {values.size()};
  array.bytes.reserve(values.size());
  for (const bool value : values) array.bytes.push_back(value ? std::byte{1} : std::byte{0});
  return array;
}

Array Array::from_strings(std::vector<std::string> values) {
  Array array;
  array.dtype = DType::kUnicode;
  array.shape = {values.size()};
  array.strings = std::move(values);
  return array;
}

Tensor<float> Array::to_float(std::string_view what) const { return to_numbers<float>(*this, what); }
Tensor<double> Array::to_double(std::string_view what) const { return to_numbers<double>(*this, what); }
Tensor<std::int64_t> Array::to_int64(std::string_view what) const { return to_numbers<std::int64_t>(*this, what); }

}  // namespace attnflow
