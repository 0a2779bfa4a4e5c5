#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <bit>
#include <cstring>

#include "attnflow/files/array_file.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/files/npy_format.h"

namespace attnflow::npy_test {
namespace {

using test::bytes_of;
using test::expect_error;
using test::get;
using test::put;
using test::TempFolder;

// An .npy file with the given header text, of version 1, 2 or 3.
std::string npy(const std::string& header, const std::string& data, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  file += version == 1 ? bytes_of(static_cast<std::uint16_t>(header.size()))
                       : bytes_of(static_cast<std::uint32_t>(header.size()));
  return file + header + data;
}

std::string dict(const std::string& descr, const std::string& shape, const std::string& fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }\n";
}

template <typename T>
std::string numbers(std::initializer_list<T> values, bool big_endian = false) {
  std::string bytes;
  for (const T value : values) {
    std::string one = bytes_of(value);
    if (big_endian) std::reverse(one.begin(), one.end());
    bytes += one;
  }
  return bytes;
}

Array parse(const std::string& file, const ReadLimits& limits = {}) {
  return internal::parse_npy(internal::memory_source(std::as_bytes(std::span(file))), "test.npy", limits);
}

std::vector<double> values(const Array& array) {
  const Tensor<double> tensor = array.to_double("x");
  return {tensor.span().begin(), tensor.span().end()};
}

using Values = std::vector<double>;

TEST(Npy, ReadsWhatNumPyWrote) {
  // np.save(file, np.array([[1.5, -2.0], [0.0, 4.25]], np.float32)), NumPy 1.24.
  const std::string file =
      std::string("\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }", 69) +
      std::string(58, ' ') + "\n" + numbers<float>({1.5F, -2.0F, 0.0F, 4.25F});
  ASSERT_EQ(file.size(), 128U + 16U);
  const Array array = parse(file);
  EXPECT_EQ(array.dtype, DType::kF32);
  EXPECT_EQ(array.to_float("x"), (Tensor<float>({2, 2}, {1.5F, -2.0F, 0.0F, 4.25F})));
  const TempFolder folder;
  write_npy(folder / "a.npy", array);
  EXPECT_EQ(get(folder / "a.npy"), file);
}

TEST(Npy, EveryTypeInBothByteOrders) {
  for (const bool big : {false, true}) {
    const std::string order = big ? ">" : "<";
    const auto read = [&](const std::string& type, const std::string& data) {
      return parse(npy(dict(order + type, "(2,)"), data));
    };
    const auto check = [&](const Array& array, DType dtype, const Values& expected) {
      EXPECT_EQ(array.dtype, dtype);
      EXPECT_EQ(array.shape, Shape{2});
      EXPECT_EQ(values(array), expected);
    };
    check(read("i2", numbers<std::int16_t>({-2, 300}, big)), DType::kI16, {-2, 300});
    check(read("i4", numbers<std::int32_t>({-2, 70000}, big)), DType::kI32, {-2, 70000});
    check(read("i8", numbers<std::int64_t>({-2, 1LL << 40}, big)), DType::kI64, {-2, 0x1p40});
    check(read("u2", numbers<std::uint16_t>({1, 65535}, big)), DType::kI64, {1, 65535});
    check(read("u4", numbers<std::uint32_t>({1, 4294967295U}, big)), DType::kI64, {1, 4294967295.0});
    check(read("u8", numbers<std::uint64_t>({1, 1ULL << 62}, big)), DType::kI64, {1, 0x1p62});
    check(read("f2", numbers<std::uint16_t>({0x3C00, 0xC000}, big)), DType::kF16, {1, -2});
    check(read("f4", numbers<float>({0.5F, -2}, big)), DType::kF32, {0.5, -2});
    check(read("f8", numbers<double>({0.1, -2}, big)), DType::kF64, {0.1, -2});
    const Array text = read("U2", numbers<char32_t>({U'a', 0, U'\u4E2D', U'\U0001F600'}, big));
    EXPECT_EQ(text.dtype, DType::kUnicode);
    EXPECT_EQ(text.strings, (std::vector<std::string>{"a", "\xE4\xB8\xAD\xF0\x9F\x98\x80"}));
    EXPECT_TRUE(text.bytes.empty());
  }
  EXPECT_EQ(values(parse(npy(dict("|b1", "(3,)"), std::string("\1\0\1", 3)))), (Values{1, 0, 1}));
  EXPECT_EQ(values(parse(npy(dict("|i1", "(2,)"), "\xFF\x01"))), (Values{-1, 1}));
  EXPECT_EQ(values(parse(npy(dict("|u1", "(2,)"), "\xFF\x01"))), (Values{255, 1}));
}

TEST(Npy, VersionsTwoAndThree) {
  for (const int version : {2, 3}) {
    const Array array = parse(npy(dict("<f8", "(1,)"), numbers<double>({3}), version));
    EXPECT_EQ(values(array), Values{3}) << version;
  }
}

TEST(Npy, HeadersThatPythonWouldAccept) {
  const std::string data = numbers<double>({3, 4});
  EXPECT_EQ(parse(npy(R"({"shape": (1, 2), "descr": "<f8", "fortran_order": False})", data)).shape, (Shape{1, 2}));
  EXPECT_EQ(parse(npy("{'descr':'<f8','fortran_order':False,'shape':(2L,)}", data)).shape, Shape{2});
}

TEST(Npy, FortranOrderBecomesRowMajor) {
  // Element [i, j, k] of shape (2, 3, 4) has the value 100 i + 10 j + k; the first index varies fastest in the file.
  std::string stored;
  Values expected;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) stored += bytes_of(100.0 * i + 10.0 * j + k);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) expected.push_back(100.0 * i + 10.0 * j + k);
  const Array array = parse(npy(dict("<f8", "(2, 3, 4)", "True"), stored));
  EXPECT_EQ(array.shape, (Shape{2, 3, 4}));
  EXPECT_EQ(values(array), expected);
  const Array text = parse(npy(dict("<U1", "(2, 2)", "True"), numbers<char32_t>({U'a', U'c', U'b', U'd'})));
  EXPECT_EQ(text.strings, (std::vector<std::string>{"a", "b", "c", "d"}));
  EXPECT_EQ(parse(npy(dict("<f8", "(0, 3)", "True"), "")).shape, (Shape{0, 3}));
}

TEST(Npy, ScalarsAndEmptyArrays) {
  const Array scalar = parse(npy(dict("<f8", "()"), numbers<double>({7})));
  EXPECT_TRUE(scalar.shape.empty());
  EXPECT_EQ(values(scalar), Values{7});
  const Array empty = parse(npy(dict("<f4", "(3, 0, 5)"), ""));
  EXPECT_EQ(empty.shape, (Shape{3, 0, 5}));
  EXPECT_TRUE(empty.bytes.empty());
  const TempFolder folder;
  for (const Array& array : {scalar, empty}) {
    write_npy(folder / "a.npy", array);
    const Array back = read_npy(folder / "a.npy");
    EXPECT_EQ(back.shape, array.shape);
    EXPECT_EQ(back.bytes, array.bytes);
  }
}

TEST(Npy, WritingTextAndBfloat16) {
  const TempFolder folder;
  const std::vector<std::string> tokens = {"[CLS]", "", "##\xC3\xA9", "\xF0\x9F\x98\x80", "a,\"\n"};
  write_npy(folder / "t.npy", Array::from_strings(tokens));
  EXPECT_EQ(read_npy(folder / "t.npy").strings, tokens);
  EXPECT_NE(get(folder / "t.npy").find("'descr': '<U5'"), std::string::npos);
  write_npy(folder / "none.npy", Array::from_strings({}));
  EXPECT_EQ(read_npy(folder / "none.npy").shape, Shape{0});
  Array brain;
  brain.dtype = DType::kBF16;
  brain.shape = {1};
  brain.bytes = {std::byte{0x40}, std::byte{0x40}};
  write_npy(folder / "b.npy", brain);
  EXPECT_EQ(read_npy(folder / "b.npy").to_float("x"), (Tensor<float>({1}, {3.0F})));
}

TEST(Npy, AnyArraySurvives) {
  const TempFolder folder;
  rc::check("what is written is read", [&] {
    const auto rank = *rc::gen::inRange<std::size_t>(0, 5);
    Array array;
    array.shape = *rc::gen::container<Shape>(rank, rc::gen::inRange<std::size_t>(0, 5));
    array.dtype = *rc::gen::element(DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                                    DType::kF16, DType::kF32, DType::kF64);
    const std::size_t size = element_count(array.shape) * dtype_size(array.dtype);
    for (const std::uint8_t byte :
         *rc::gen::container<std::vector<std::uint8_t>>(size, rc::gen::arbitrary<std::uint8_t>()))
      array.bytes.push_back(std::byte{byte});
    write_npy(folder / "a.npy", array);
    const Array back = read_npy(folder / "a.npy");
    RC_ASSERT(back.dtype == array.dtype);
    RC_ASSERT(back.shape == array.shape);
    RC_ASSERT(back.bytes == array.bytes);
  });
}

void expect_bad(const std::vector<std::string>& words, const std::string& file, const ReadLimits& limits = {}) {
  expect_error(ErrorKind::kBadFile, words, [&] { parse(file, limits); });
}

TEST(Npy, PicklesAreRefused) {
  // The descr that np.save writes for an object array, followed by a pickle that would run a command.
  expect_bad({"pickle", "never read", "allow_pickle=False"}, npy(dict("|O", "(1,)"), "cos\nsystem\n(S'echo no'\ntR."));
  expect_bad({"pickle", "never read"}, std::string("\x80\x04\x95\x10", 4) + std::string(20, 'x'));
}

TEST(Npy, BytesAreTextInUtf8) {
  const Array text = parse(npy(dict("|S5", "(3,)"), std::string("ab\0\0\0\0\0\0\0\0na\xc3\xafv", 15)));
  EXPECT_EQ(text.dtype, DType::kUnicode);
  EXPECT_EQ(text.strings, (std::vector<std::string>{"ab", "", "naïv"}));
}

TEST(Npy, TypesThatAreNotRead) {
  expect_bad({"found dtype \"<c16\"", "astype"}, npy(dict("<c16", "(1,)"), std::string(16, '\0')));
  expect_bad({"found dtype \"<f16\""}, npy(dict("<f16", "(1,)"), std::string(16, '\0')));
  expect_bad({"expected text in UTF-8, found", "element 1", "astype(str)"},
             npy(dict("|S2", "(2,)"), std::string("ab\xff\x00", 4)));
  expect_bad({"found dtype \"<M8[ns]\""}, npy(dict("<M8[ns]", "(1,)"), std::string(8, '\0')));
  expect_bad({"found dtype \"<f\""}, npy(dict("<f", "(1,)"), std::string(4, '\0')));
  expect_bad({"found dtype \"\""}, npy(dict("", "(1,)"), std::string(4, '\0')));
  expect_bad({"found dtype \"<i99999999999999999999\""}, npy(dict("<i99999999999999999999", "(1,)"), ""));
  expect_bad({"structured dtype"},
             npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", std::string(4, '\0')));
  expect_bad({"expected integers up to 2^63 - 1, found 18446744073709551615"},
             npy(dict("<u8", "(1,)"), numbers<std::uint64_t>({~std::uint64_t{0}})));
  expect_bad({"0xd800"}, npy(dict("<U1", "(1,)"), numbers<std::uint32_t>({0xD800})));
  expect_bad({"0x110000"}, npy(dict("<U1", "(1,)"), numbers<std::uint32_t>({0x110000})));
  expect_bad({"expected text of at least one character"}, npy(dict("<U0", "(100000000,)"), ""));
}

TEST(Npy, SizesThatDoNotFit) {
  const std::string eight(8, '\0');
  expect_bad({"need 16 bytes", "found 8", "truncated"}, npy(dict("<f8", "(2,)"), eight));
  expect_bad({"need 8 bytes", "found 16", "damaged"}, npy(dict("<f8", "(1,)"), eight + eight));
  expect_bad({"larger than any memory"}, npy(dict("<f8", "(4294967296, 4294967296)"), eight));
  expect_bad({"larger than any memory"}, npy(dict("<f8", "(4294967296, 4294967296, 0)"), ""));
  expect_bad({"larger than any memory"}, npy(dict("<f8", "(2305843009213693952,)"), eight));
  expect_bad({"larger than 2^64"}, npy(dict("<f8", "(18446744073709551616,)"), eight));
  expect_bad({"at most 8589934592"}, npy(dict("<f8", "(2147483648,)"), eight));
  expect_bad({"need 16 bytes of memory", "at most 15"}, npy(dict("<f8", "(2,)"), eight + eight, 1), {15});
  expect_bad({"at most 64"}, npy(dict("<U1", "(4,)"), std::string(16, 'a')), {64});
  std::string many = "(";
  for (int d = 0; d < 65; ++d) many += "1, ";
  expect_bad({"at most 64 dimensions"}, npy(dict("<f8", many + ")"), eight));
}

TEST(Npy, HeadersThatAreNotOnes) {
  const std::string eight(8, '\0');
  expect_bad({"expected a NumPy .npy file", "found 0 bytes"}, "");
  expect_bad({"expected a NumPy .npy file"}, "hello, this is text");
  expect_bad({"zip file", ".npz"}, "PK\3\4 and so on");
  expect_bad({"truncated"}, "\x93NUMPY\1");
  expect_bad({"version 1, 2 or 3, found 4.0"}, npy(dict("<f8", "(1,)"), eight, 4));
  expect_bad({"header claims 60000 bytes, but only 3 follow"}, std::string("\x93NUMPY\1\0\x60\xEA", 10) + "{'d");
  expect_bad({"header has 2097152 bytes; at most"}, npy(std::string(2 << 20, ' '), "", 2));
  for (const char* header :
       {"", "{", "{}", "{'descr': '<f8', }", "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), 'more': (1,), }",
        "{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1.5,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': 1, }",
        "{'descr': '<f8, 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<\\x668', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), } import os", "__import__('os').system('echo no')"}) {
    expect_bad({"not a valid .npy file: header"}, npy(header, eight));
  }
}

TEST(Npy, FilesThatCannotBeRead) {
  const TempFolder folder;
  expect_error(ErrorKind::kBadFile, {"missing.npy", "No such file"}, [&] { read_npy(folder / "missing.npy"); });
  expect_error(ErrorKind::kBadFile, {"found a folder"}, [&] { read_npy(folder.path()); });
  put(folder / "cut.npy", npy(dict("<f8", "(100,)"), "short"));
  expect_error(ErrorKind::kBadFile, {"cut.npy", "truncated"}, [&] { read_npy(folder / "cut.npy"); });
  expect_error(ErrorKind::kOther, {"there is no folder"},
               [&] { write_npy(folder / "none/a.npy", Array::from_bools({true})); });
  Array damaged = Array::from_bools({true});
  damaged.shape = {2};
  expect_error(ErrorKind::kOther, {"needs 2 bytes, found 1"}, [&] { write_npy(folder / "a.npy", damaged); });
  EXPECT_EQ(folder.names(), std::vector<std::string>{"cut.npy"});
}

TEST(Npy, DamageIsAnErrorOrHarmless) {
  const std::string good = npy(dict("<f8", "(2, 3)", "True"), std::string(48, '\1'));
  test::expect_harmless_damage(good, 3000, 0, 3, [](const std::string& file) {
    EXPECT_LE(parse(file, {1 << 20}).bytes.size(), std::size_t{1} << 20);
  });
}

}  // namespace
}  // namespace attnflow::npy_test
