#include "attnflow/image/idx_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/base/random.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/image/idx_for_test.h"

namespace attnflow::idx_file_test {
namespace {

using test::expect_error;
using test::gzip;
using test::idx;
using test::idx_header;

Tensor<std::uint8_t> parse(std::string_view bytes) { return parse_idx(std::as_bytes(std::span(bytes)), "a.gz"); }

void expect_bad(const std::string& bytes, const std::vector<std::string>& words) {
  SCOPED_TRACE(words.front());
  expect_error(ErrorKind::kBadFile, words, [&] { parse(bytes); });
}

TEST(IdxFile, ReadsWhatWasWritten) {
  std::vector<std::uint8_t> values(2 * 3 * 4);
  std::iota(values.begin(), values.end(), std::uint8_t{240});
  const std::string bytes = idx({2, 3, 4}, values);
  const test::TempFolder folder;
  for (const std::string& file : {bytes, gzip(bytes)}) {
    const Tensor<std::uint8_t> read = parse(file);
    EXPECT_EQ(read.shape(), (Shape{2, 3, 4}));
    EXPECT_EQ(read, read_idx(test::put(folder / "a", file)));
    EXPECT_TRUE(std::equal(values.begin(), values.end(), read.span().begin(), read.span().end()));
  }
  EXPECT_EQ(parse(idx({3}, std::vector<std::uint8_t>{1, 0, 9})).shape(), Shape{3});
}

TEST(IdxFile, ReadsLongFiles) {
  Random random(1);
  std::vector<std::uint8_t> values((std::size_t{1} << 21) + 12345);
  for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random.next());
  const std::string bytes = idx({static_cast<std::uint32_t>(values.size())}, values);
  for (const std::string& file : {bytes, gzip(bytes)}) {
    const Tensor<std::uint8_t> read = parse(file);
    EXPECT_TRUE(std::equal(values.begin(), values.end(), read.span().begin(), read.span().end()));
  }
}

TEST(IdxFile, RefusesOtherHeaders) {
  expect_bad("", {"a.gz: ", "header", "0 bytes"});
  expect_bad(std::string(3, '\0'), {"header", "3 bytes"});
  expect_bad("PK\x03\x04 no such file", {"two zero bytes", "50 4b"});
  expect_bad(idx_header({2, 2}, 0x0d) + std::string(16, 'x'), {"type 0d in 2"});
  expect_bad(idx_header({1, 1, 1, 1}) + "x", {"1 to 3 dimensions", "in 4"});
  expect_bad(idx_header({}), {"in 0"});
  expect_bad(idx_header({2, 2}).substr(0, 9), {"header", "9 bytes"});
}

TEST(IdxFile, RefusesSizesThatDoNotFit) {
  const std::string values(6, 'x');
  expect_bad(idx_header({2, 2, 2}) + values, {"expected 8 values", "found 6"});
  expect_bad(idx_header({5}) + values, {"expected 5 values", "found more"});
  expect_bad(gzip(idx_header({2, 2, 2}) + values), {"expected 8 values", "found 6"});
  expect_bad(gzip(idx_header({5}) + values), {"expected 5 values", "found more"});
  expect_bad(idx_header({0, 28, 28}), {"expected dimensions of 1 or more and at most 268435456 values"});
  // 2^96 values, and 2^28 + 1: rejected before anything is allocated.
  expect_bad(idx_header({0xffffffffU, 0xffffffffU, 0xffffffffU}) + values, {"at most 268435456"});
  expect_bad(idx_header({(1U << 28) + 1}) + values, {"at most 268435456"});
  expect_bad(idx_header({1U << 28}) + values, {"expected 268435456 values", "found 6"});
}

TEST(IdxFile, RefusesDamagedCompression) {
  Random random(2);
  std::vector<std::uint8_t> values(5000);
  for (std::uint8_t& value : values) value = static_cast<std::uint8_t>(random.below(7));
  const std::string bytes = idx({50, 10, 10}, values);
  const std::string packed = gzip(bytes);
  for (std::size_t size = 2; size < packed.size(); size += 37) expect_bad(packed.substr(0, size), {"truncated"});
  expect_bad(packed.substr(0, packed.size() - 1), {"truncated"});
  expect_bad(packed + "more", {"expected nothing after the gzip data, found 4 bytes"});
  for (std::size_t at = 10; at < packed.size(); at += 53) {
    std::string damaged = packed;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    expect_error(ErrorKind::kBadFile, {"a.gz: "}, [&] { parse(damaged); });
  }
}

// A gigabyte of zeros in a megabyte: nothing beyond what the header promises is unpacked.
TEST(IdxFile, AsksForNoMoreThanItsHeaderSays) {
  std::string bomb = idx_header({10});
  bomb.resize(std::size_t{64} << 20);
  expect_bad(gzip(bomb), {"expected 10 values", "found more"});
}

TEST(IdxFile, MissingFile) {
  const test::TempFolder folder;
  expect_error(ErrorKind::kBadFile, {"nothing"}, [&] { read_idx(folder / "nothing"); });
  expect_error(ErrorKind::kBadFile, {"folder"}, [&] { read_idx(folder.path()); });
}

}  // namespace
}  // namespace attnflow::idx_file_test
