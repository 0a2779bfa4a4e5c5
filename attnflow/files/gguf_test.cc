#include "attnflow/files/gguf.h"

#include <gtest/gtest.h>

#include <limits>

#include "attnflow/files/files_for_test.h"

namespace attnflow::internal::gguf_test {
namespace {

using test::bytes_of;
using test::expect_error;

std::string text(const std::string& value) { return bytes_of(std::uint64_t{value.size()}) + value; }

std::string entry(const std::string& key, GgufType type, const std::string& value) {
  return text(key) + bytes_of(static_cast<std::uint32_t>(type)) + value;
}

std::string array_of(GgufType type, std::uint64_t count, const std::string& elements) {
  return bytes_of(static_cast<std::uint32_t>(type)) + bytes_of(count) + elements;
}

std::string tensor(const std::string& name, const std::vector<std::uint64_t>& extents, std::uint32_t type,
                   std::uint64_t offset) {
  std::string bytes = text(name) + bytes_of(static_cast<std::uint32_t>(extents.size()));
  for (const std::uint64_t extent : extents) bytes += bytes_of(extent);
  return bytes + bytes_of(type) + bytes_of(offset);
}

std::string file_of(const std::vector<std::string>& entries, const std::vector<std::string>& tensors,
                    std::size_t data_bytes, std::uint32_t version = 3) {
  std::string file =
      "GGUF" + bytes_of(version) + bytes_of(std::uint64_t{tensors.size()}) + bytes_of(std::uint64_t{entries.size()});
  for (const std::string& part : entries) file += part;
  for (const std::string& part : tensors) file += part;
  file.append((32 - file.size() % 32) % 32, '\0');
  return file.append(data_bytes, 'x');
}

GgufHeader parse(const std::string& file) { return parse_gguf(std::as_bytes(std::span(file)), "test.gguf"); }

void expect_bad(const std::string& file, const std::vector<std::string>& words) {
  std::vector<std::string> all = {"test.gguf"};
  all.insert(all.end(), words.begin(), words.end());
  expect_error(ErrorKind::kBadFile, all, [&] { parse(file); });
}

TEST(Gguf, ReadsEveryTypeOfValue) {
  const GgufHeader header = parse(file_of(
      {entry("u8", GgufType::kU8, bytes_of(std::uint8_t{200})), entry("i8", GgufType::kI8, bytes_of(std::int8_t{-3})),
       entry("u16", GgufType::kU16, bytes_of(std::uint16_t{60000})),
       entry("i16", GgufType::kI16, bytes_of(std::int16_t{-300})),
       entry("u32", GgufType::kU32, bytes_of(std::uint32_t{4000000000U})),
       entry("i32", GgufType::kI32, bytes_of(std::int32_t{-70000})), entry("f32", GgufType::kF32, bytes_of(1.5F)),
       entry("yes", GgufType::kBool, bytes_of(std::uint8_t{1})), entry("text", GgufType::kText, text("caf\xC3\xA9")),
       entry("u64", GgufType::kU64, bytes_of(std::numeric_limits<std::uint64_t>::max())),
       entry("i64", GgufType::kI64, bytes_of(std::numeric_limits<std::int64_t>::min())),
       entry("f64", GgufType::kF64, bytes_of(2.5)),
       entry("numbers", GgufType::kArray, array_of(GgufType::kU16, 2, bytes_of(std::uint32_t{0x00020001}))),
       entry("words", GgufType::kArray, array_of(GgufType::kText, 2, text("a") + text(""))),
       entry("reals", GgufType::kArray, array_of(GgufType::kF32, 1, bytes_of(0.5F)))},
      {}, 0));
  EXPECT_EQ(header.version, 3U);
  EXPECT_EQ(header.number("u8"), 200);
  EXPECT_EQ(header.number("i8"), -3);
  EXPECT_EQ(header.number("u16"), 60000);
  EXPECT_EQ(header.number("i16"), -300);
  EXPECT_EQ(header.number("u32"), 4000000000);
  EXPECT_EQ(header.number("i32"), -70000);
  EXPECT_EQ(header.number("f32"), std::nullopt);
  EXPECT_EQ(std::get<double>(header.metadata.at("f32")), 1.5);
  EXPECT_EQ(std::get<bool>(header.metadata.at("yes")), true);
  EXPECT_EQ(header.text("text"), "caf\xC3\xA9");
  EXPECT_EQ(header.text("u8"), std::nullopt);
  EXPECT_EQ(std::get<double>(header.metadata.at("u64")), 18446744073709551615.0);
  EXPECT_EQ(header.number("i64"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(std::get<double>(header.metadata.at("f64")), 2.5);
  ASSERT_NE(header.array("numbers"), nullptr);
  EXPECT_EQ(header.array("numbers")->numbers, (std::vector<std::int64_t>{1, 2}));
  ASSERT_NE(header.array("words"), nullptr);
  EXPECT_EQ(header.array("words")->count, 2U);
  EXPECT_EQ(header.array("words")->type, GgufType::kText);
  EXPECT_EQ(header.array("reals")->count, 1U);
  EXPECT_EQ(header.array("nothing"), nullptr);
}

TEST(Gguf, ReadsTensors) {
  const std::string file =
      file_of({}, {tensor("a", {3, 2}, 0, 0), tensor("q", {64, 2}, 2, 32), tensor("new", {7}, 4242, 128)}, 128);
  const GgufHeader header = parse(file);
  ASSERT_EQ(header.tensors.size(), 3U);
  EXPECT_EQ(header.tensors[0].extents, (std::vector<std::size_t>{3, 2}));
  EXPECT_EQ(header.tensors[0].bytes, 24U);
  EXPECT_EQ(header.tensors[1].bytes, 72U);
  EXPECT_EQ(header.tensors[1].offset, 32U);
  EXPECT_EQ(header.tensors[2].bytes, std::nullopt);
  EXPECT_EQ(header.data_begin % 32, 0U);
  EXPECT_EQ(header.data_begin + 128, file.size());
}

TEST(Gguf, TheDataBeginAtAMultipleOfTheAlignment) {
  const auto with = [](std::uint32_t alignment) {
    return file_of({entry("general.alignment", GgufType::kU32, bytes_of(alignment))}, {tensor("a", {1}, 0, 0)}, 256);
  };
  EXPECT_EQ(parse(with(64)).data_begin % 64, 0U);
  for (const std::uint32_t wrong : {0U, 24U, 1U << 31}) expect_bad(with(wrong), {"general.alignment", "power of two"});
}

TEST(Gguf, AnotherKindOfFile) {
  expect_bad("", {"begin with \"GGUF\"", "no bytes"});
  expect_bad("GGU", {"begin with \"GGUF\""});
  expect_bad("PK\x03\x04 and so on", {"begin with \"GGUF\"", "\"PK"});
  expect_bad("version https://git-lfs.github.com/spec/v1\n", {"Git LFS pointer"});
  expect_bad(file_of({}, {}, 0, 1), {"expected version 2 or 3, found 1"});
  expect_bad(file_of({}, {}, 0, 4), {"version 2 or 3", "found 4"});
  expect_bad(file_of({}, {}, 0, 0x03000000), {"byte order"});
  EXPECT_EQ(parse(file_of({}, {}, 0, 2)).version, 2U);
}

TEST(Gguf, EveryBeginningOfAFileIsRefused) {
  const std::string file = file_of({entry("key", GgufType::kText, text("value")),
                                    entry("list", GgufType::kArray, array_of(GgufType::kText, 1, text("a")))},
                                   {tensor("a", {8}, 0, 0)}, 32);
  ASSERT_EQ(parse(file).tensors.size(), 1U);
  for (std::size_t size = 0; size < file.size(); ++size) {
    SCOPED_TRACE(size);
    expect_bad(file.substr(0, size), {"not a valid GGUF file"});
  }
}

TEST(Gguf, CountsAndLengthsAreHeldAgainstTheFile) {
  const auto huge = std::numeric_limits<std::uint64_t>::max();
  const std::string begin = "GGUF" + bytes_of(std::uint32_t{3});
  expect_bad(begin + bytes_of(huge) + bytes_of(std::uint64_t{0}), {"18446744073709551615 tensors"});
  expect_bad(begin + bytes_of(std::uint64_t{0}) + bytes_of(huge), {"18446744073709551615 metadata entries"});
  expect_bad(begin + bytes_of(std::uint64_t{0}) + bytes_of(std::uint64_t{1}) + bytes_of(huge) + std::string(64, 'k'),
             {"a key", "truncated"});
  for (const GgufType type : {GgufType::kU8, GgufType::kU64, GgufType::kText}) {
    expect_bad(file_of({entry("list", GgufType::kArray, array_of(type, huge / 4, ""))}, {}, 64),
               {"elements of \"list\""});
  }
  expect_bad(file_of({entry("list", GgufType::kArray, array_of(GgufType::kArray, 1, ""))}, {}, 64),
             {"array of arrays"});
  expect_bad(file_of({entry("key", static_cast<GgufType>(13), "")}, {}, 64), {"type 13"});
}

TEST(Gguf, NamesAndKeys) {
  const std::string one = entry("key", GgufType::kU8, bytes_of(std::uint8_t{1}));
  expect_bad(file_of({one, one}, {}, 0), {"\"key\" appears twice"});
  expect_bad(file_of({entry("", GgufType::kU8, bytes_of(std::uint8_t{1}))}, {}, 64), {"a key"});
  expect_bad(file_of({entry("\xFF", GgufType::kU8, bytes_of(std::uint8_t{1}))}, {}, 64), {"a key", "UTF-8"});
  expect_bad(file_of({}, {tensor("a", {1}, 0, 0), tensor("a", {1}, 0, 32)}, 64), {"\"a\" appears twice"});
  expect_bad(file_of({}, {tensor(std::string(64, 'n'), {1}, 0, 0)}, 64), {"1 to 63 bytes"});
  expect_bad(file_of({}, {tensor(std::string("a\0b", 3), {1}, 0, 0)}, 64), {"a tensor's name"});
}

TEST(Gguf, TensorsLieInTheFile) {
  const std::uint64_t half = std::uint64_t{1} << 32;
  expect_bad(file_of({}, {tensor("a", {9}, 0, 0)}, 32), {"\"a\"", "36 bytes", "truncated"});
  expect_bad(file_of({}, {tensor("a", {1}, 0, 64)}, 32), {"\"a\"", "offset 64"});
  expect_bad(file_of({}, {tensor("a", {1}, 0, 4)}, 32), {"multiple of 32"});
  expect_bad(file_of({}, {tensor("a", {half, half, 2}, 0, 0)}, 32), {"larger than the address space"});
  expect_bad(file_of({}, {tensor("a", {33}, 2, 0)}, 32), {"32 numbers at a time", "33"});
  expect_bad(file_of({}, {tensor("a", {}, 0, 0)}, 32), {"1 to 4 dimensions", "0"});
  expect_bad(file_of({}, {tensor("a", {1, 1, 1, 1, 1}, 0, 0)}, 32), {"1 to 4 dimensions", "5"});
}

TEST(Gguf, MissingAndIrregularFiles) {
  const test::TempFolder folder;
  expect_error(ErrorKind::kBadFile, {"nothing.gguf", "GGUF"}, [&] { read_gguf(folder / "nothing.gguf"); });
  expect_error(ErrorKind::kBadFile, {"a folder"}, [&] { read_gguf(folder.path()); });
  test::put(folder / "empty.gguf", "");
  expect_error(ErrorKind::kBadFile, {"empty.gguf"}, [&] { read_gguf(folder / "empty.gguf"); });
}

TEST(Gguf, KeepsWholeArraysWhenAsked) {
  std::string many;
  for (std::uint16_t i = 0; i < 5000; ++i) many += bytes_of(i);
  const std::string file =
      file_of({entry("numbers", GgufType::kArray, array_of(GgufType::kU16, 5000, many)),
               entry("words", GgufType::kArray, array_of(GgufType::kText, 3, text("a") + text("") + text("\xFF")))},
              {}, 0);
  const GgufHeader few = parse(file);
  EXPECT_TRUE(few.array("numbers")->numbers.empty());
  EXPECT_TRUE(few.array("words")->texts.empty());
  EXPECT_EQ(few.array("words")->count, 3U);
  const GgufHeader all = parse_gguf(std::as_bytes(std::span(file)), "test.gguf", GgufArrays::kWhole);
  ASSERT_EQ(all.array("numbers")->numbers.size(), 5000U);
  EXPECT_EQ(all.array("numbers")->numbers[4999], 4999);
  EXPECT_EQ(all.array("words")->texts, (std::vector<std::string>{"a", "", "\xFF"}));
}

}  // namespace
}  // namespace attnflow::internal::gguf_test
