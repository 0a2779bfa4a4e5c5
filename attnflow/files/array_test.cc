#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "attnflow/files/array_file.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/files/messages.h"

namespace attnflow::array_test {
namespace {

using test::expect_error;

template <typename T>
Array array_of(DType dtype, const std::vector<T>& values) {
  Array array;
  array.dtype = dtype;
  array.shape = {values.size()};
  array.bytes.resize(values.size() * sizeof(T));
  std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
  return array;
}

TEST(Array, KeepsValuesAndShape) {
  const Tensor<float> floats({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(Array::from(floats.view()).to_float("x"), floats);
  const Tensor<double> doubles({3}, {0.1, -1e300, 5});
  EXPECT_EQ(Array::from(doubles.view()).to_double("x"), doubles);
  const Tensor<std::uint8_t> bytes({1, 2}, {0, 255});
  EXPECT_EQ(Array::from(bytes.view()).to_int64("x"), (Tensor<std::int64_t>({1, 2}, {0, 255})));
  const Tensor<std::int64_t> integers({2}, {std::numeric_limits<std::int64_t>::min(), 7});
  EXPECT_EQ(Array::from(integers.view()).to_int64("x"), integers);
  EXPECT_EQ(Array::from_bools({true, false}).to_int64("x"), (Tensor<std::int64_t>({2}, {1, 0})));
  EXPECT_EQ(Array::from(Tensor<float>({0, 4}).view()).to_float("x").shape(), (Shape{0, 4}));
  EXPECT_EQ(Array::from(Tensor<float>({}, {2.5F}).view()).to_double("x"), (Tensor<double>({}, {2.5})));
  const Array text = Array::from_strings({"a", "b"});
  EXPECT_EQ(text.shape, Shape{2});
  EXPECT_EQ(text.dtype, DType::kUnicode);
}

TEST(Array, EveryNumberTypeConvertsToDouble) {
  const std::vector<double> expected = {1, 2, 3};
  const auto values = [](const Array& array) {
    const Tensor<double> tensor = array.to_double("x");
    return std::vector<double>(tensor.span().begin(), tensor.span().end());
  };
  EXPECT_EQ(values(array_of<std::uint8_t>(DType::kU8, {1, 2, 3})), expected);
  EXPECT_EQ(values(array_of<std::int8_t>(DType::kI8, {1, 2, 3})), expected);
  EXPECT_EQ(values(array_of<std::int16_t>(DType::kI16, {1, 2, 3})), expected);
  EXPECT_EQ(values(array_of<std::int32_t>(DType::kI32, {1, 2, 3})), expected);
  EXPECT_EQ(values(array_of<std::int64_t>(DType::kI64, {1, 2, 3})), expected);
  EXPECT_EQ(values(array_of<std::uint16_t>(DType::kF16, {0x3C00, 0x4000, 0x4200})), expected);
  EXPECT_EQ(values(array_of<std::uint16_t>(DType::kBF16, {0x3F80, 0x4000, 0x4040})), expected);
  EXPECT_EQ(values(array_of<float>(DType::kF32, {1, 2, 3})), expected);
  EXPECT_EQ(values(array_of<double>(DType::kF64, {1, 2, 3})), expected);
  EXPECT_EQ(values(array_of<std::uint8_t>(DType::kBool, {1, 0, 7})), (std::vector<double>{1, 0, 1}));
}

TEST(Array, ConversionsThatLoseAreErrors) {
  expect_error(ErrorKind::kBadFile, {"ids: expected whole numbers", "f32"},
               [] { array_of<float>(DType::kF32, {1}).to_int64("ids"); });
  expect_error(ErrorKind::kBadFile, {"tokens: expected numbers", "unicode"},
               [] { Array::from_strings({"a"}).to_double("tokens"); });
  expect_error(ErrorKind::kBadFile, {"x: holds 1e+300", "too large for float32"},
               [] { array_of<double>(DType::kF64, {1e300}).to_float("x"); });
  expect_error(ErrorKind::kBadFile, {"x: holds 16777217"},
               [] { array_of<std::int32_t>(DType::kI32, {16777217}).to_float("x"); });
  expect_error(ErrorKind::kBadFile, {"x: holds 9007199254740993"},
               [] { array_of<std::int64_t>(DType::kI64, {(std::int64_t{1} << 53) + 1}).to_float("x"); });
  EXPECT_EQ(array_of<double>(DType::kF64, {0.1}).to_float("x").span()[0], 0.1F);
  EXPECT_TRUE(std::isinf(array_of<double>(DType::kF64, {INFINITY}).to_float("x").span()[0]));
  Array damaged = array_of<float>(DType::kF32, {1, 2});
  damaged.shape = {3};
  expect_error(ErrorKind::kBadFile, {"needs 12 bytes, found 8"}, [&] { damaged.to_float("x"); });
}

TEST(DType, NamesAndSizes) {
  EXPECT_EQ(dtype_name(DType::kBF16), "bf16");
  EXPECT_EQ(dtype_size(DType::kBF16), 2U);
  EXPECT_EQ(dtype_size(DType::kF64), 8U);
  EXPECT_THROW(dtype_size(DType::kUnicode), Error);
}

TEST(Messages, HostileNamesAreShownHarmlessly) {
  EXPECT_EQ(internal::quote_name("weights"), "\"weights\"");
  EXPECT_EQ(internal::quote_name("a\x1b[31m\n\xff"), "\"a\\x1b[31m\\x0a\\xff\"");
  EXPECT_EQ(internal::quote_name(std::string(1000, 'x'), 10), "\"xxxxxxxxxx...\"");
  EXPECT_EQ(internal::quote_names({}), "nothing");
  EXPECT_EQ(internal::quote_names({"a", "b", "c"}, 2), "\"a\", \"b\" and 1 more");
}

}  // namespace
}  // namespace attnflow::array_test
