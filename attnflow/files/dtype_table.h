#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "attnflow/files/array_file.h"

namespace attnflow::internal {

struct DTypeRow {
  DType dtype;
  std::string_view name;
  std::string_view safetensors;  // empty: the format lacks it
  char npy_kind;                 // NUL: NumPy lacks it
  std::size_t size;              // bytes per element; 0: not fixed
};

// In the order of DType.
inline constexpr std::array<DTypeRow, 11> kDTypes = {{{DType::kBool, "bool", "BOOL", 'b', 1},
                                                      {DType::kU8, "u8", "U8", 'u', 1},
                                                      {DType::kI8, "i8", "I8", 'i', 1},
                                                      {DType::kI16, "i16", "I16", 'i', 2},
                                                      {DType::kI32, "i32", "I32", 'i', 4},
                                                      {DType::kI64, "i64", "I64", 'i', 8},
                                                      {DType::kF16, "f16", "F16", 'f', 2},
                                                      {DType::kBF16, "bf16", "BF16", '\0', 2},
                                                      {DType::kF32, "f32", "F32", 'f', 4},
                                                      {DType::kF64, "f64", "F64", 'f', 8},
                                                      {DType::kUnicode, "unicode", "", 'U', 0}}};

constexpr const DTypeRow& dtype_row(DType dtype) { return kDTypes[static_cast<std::size_t>(dtype)]; }

}  // namespace attnflow::internal
