#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdlib>
#include <ctime>

#include "attnflow/files/array_file.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/files/npy_format.h"
#include "attnflow/files/npz_format.h"
#include "attnflow/files/pytorch_for_test.h"

namespace attnflow::npz_test {
namespace {

using test::bytes_of;
using test::expect_error;
using test::get;
using test::put;
using test::TempFolder;

constexpr std::uint16_t kStored = 0;
constexpr std::uint16_t kDeflated = 8;

struct Entry {
  std::string name;
  std::string content;  // the expected result
  std::uint16_t method = kStored;
  std::uint16_t flags = 0;
  std::int64_t declared_size_offset = 0;        // added to the uncompressed size in the directory
  std::int64_t declared_compressed_offset = 0;  // added to the compressed size in the directory
  bool wrong_crc = false;
};

std::string deflate_stored(const std::string& text) {
  std::string out;
  std::size_t at = 0;
  do {
    const std::size_t size = std::min<std::size_t>(text.size() - at, 65535);
    out += static_cast<char>(at + size == text.size() ? 1 : 0);
    out += bytes_of(static_cast<std::uint16_t>(size)) + bytes_of(static_cast<std::uint16_t>(~size & 0xFFFF));
    out += text.substr(at, size);
    at += size;
  } while (at < text.size());
  return out;
}

std::string zip(const std::vector<Entry>& entries) {
  test::ZipForTest file;
  file.in_64_bits = false;
  for (const Entry& entry : entries) {
    const std::string data = entry.method == kDeflated ? deflate_stored(entry.content) : entry.content;
    const auto declared = [](const std::string& bytes, std::int64_t offset) {
      return static_cast<std::uint32_t>(static_cast<std::int64_t>(bytes.size()) + offset);
    };
    file.entries.push_back({entry.name, data, entry.method, entry.flags,
                            static_cast<std::uint32_t>(::crc32(0, reinterpret_cast<const Bytef*>(entry.content.data()),
                                                               static_cast<uInt>(entry.content.size()))) ^
                                (entry.wrong_crc ? 1U : 0U),
                            declared(entry.content, entry.declared_size_offset),
                            declared(data, entry.declared_compressed_offset)});
  }
  return file.write();
}

std::string npy_of(const Array& array) {
  const internal::NpyBytes bytes = internal::serialize_npy(array);
  return bytes.header + std::string(reinterpret_cast<const char*>(bytes.data.data()), bytes.data.size());
}

std::string npy_of(std::initializer_list<double> values) {
  return npy_of(Array::from(Tensor<double>({values.size()}, values).view()));
}

Array parse(const std::string& file, std::string_view key, const ReadLimits& limits = {}) {
  return internal::parse_npz(std::as_bytes(std::span(file)), "test.npz", key, limits);
}

using Keys = std::vector<std::string>;

TEST(Npz, WhatIsWrittenIsRead) {
  const TempFolder folder;
  const Tensor<double> values({2, 2}, {0.1, 0.2, 0.3, 0.4});
  const Tensor<float> attention({2, 3, 4, 4});
  write_npz(folder / "a.npz", {{"tokens", Array::from_strings({"[CLS]", "key", "\xE4\xB8\xAD"})},
                               {"special", Array::from_bools({true, false, false})},
                               {"raw", Array::from(values.view())},
                               {"attention", Array::from(attention.view())},
                               {"nothing", Array::from(Tensor<float>({0, 3}).view())}});
  EXPECT_EQ(list_npz(folder / "a.npz"), (Keys{"tokens", "special", "raw", "attention", "nothing"}));
  EXPECT_EQ(read_npz(folder / "a.npz", "raw").to_double("raw"), values);
  EXPECT_EQ(read_npz(folder / "a.npz", "attention").to_float("attention"), attention);
  EXPECT_EQ(read_npz(folder / "a.npz", "tokens").strings, (Keys{"[CLS]", "key", "\xE4\xB8\xAD"}));
  EXPECT_EQ(read_npz(folder / "a.npz", "special").dtype, DType::kBool);
  EXPECT_EQ(read_npz(folder / "a.npz", "nothing").shape, (Shape{0, 3}));
  EXPECT_EQ(folder.names(), Keys{"a.npz"});
}

TEST(Npz, SameInputSameBytesWhateverTheClockAndZone) {
  const TempFolder folder;
  const std::vector<NamedArray> arrays = {{"x", Array::from_bools({true})}, {"y", Array::from_strings({"b"})}};
  write_npz(folder / "a.npz", arrays);
  const char* const zone = std::getenv("TZ");
  const std::string before = zone == nullptr ? "" : zone;
  ::setenv("TZ", "Pacific/Kiritimati", 1);
  ::tzset();
  write_npz(folder / "b.npz", arrays);
  zone == nullptr ? ::unsetenv("TZ") : ::setenv("TZ", before.c_str(), 1);
  ::tzset();
  EXPECT_EQ(get(folder / "a.npz"), get(folder / "b.npz"));
}

TEST(Npz, AnArchiveWithoutArrays) {
  const TempFolder folder;
  write_npz(folder / "a.npz", {});
  EXPECT_TRUE(list_npz(folder / "a.npz").empty());
  expect_error(ErrorKind::kBadFile, {"named \"x\"", "the file holds nothing"},
               [&] { read_npz(folder / "a.npz", "x"); });
}

TEST(Npz, StoredAndDeflatedEntries) {
  const std::string file = zip({{"s.npy", npy_of({1, 2})}, {"d.npy", npy_of({3, 4}), kDeflated}, {"readme.txt", "x"}});
  EXPECT_EQ(internal::list_npz(std::as_bytes(std::span(file)), "test.npz"), (Keys{"s", "d"}));
  EXPECT_EQ(parse(file, "s").to_double("s"), (Tensor<double>({2}, {1, 2})));
  EXPECT_EQ(parse(file, "d").to_double("d"), (Tensor<double>({2}, {3, 4})));
}

void expect_bad(const std::vector<std::string>& words, const std::string& file, const ReadLimits& limits = {}) {
  expect_error(ErrorKind::kBadFile, words, [&] { parse(file, "x", limits); });
}

TEST(Npz, OtherKeys) {
  expect_bad({"test.npz", "expected an array named \"x\"", "the file holds \"arr_0\", \"attn\""},
             zip({{"arr_0.npy", npy_of({1})}, {"attn.npy", npy_of({1})}}));
  expect_bad({"two arrays named \"x\""}, zip({{"x.npy", npy_of({1})}, {"x.npy", npy_of({2})}}));
}

TEST(Npz, FilesThatAreNotArchives) {
  const std::string good = zip({{"x.npy", npy_of({1})}});
  EXPECT_EQ(parse(good, "x").shape, Shape{1});
  expect_bad({"expected a NumPy .npz file", "cannot be opened"}, "");
  expect_bad({"expected a NumPy .npz file", "cannot be opened"}, "this is not a zip file, only some text");
  expect_bad({"expected a NumPy .npz file", "cannot be opened"}, npy_of({1}));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_THROW(parse(good.substr(0, size), "x"), Error) << size;
  const TempFolder folder;
  expect_error(ErrorKind::kBadFile, {"none.npz", "No such file"}, [&] { read_npz(folder / "none.npz", "x"); });
  expect_error(ErrorKind::kBadFile, {"found a folder"}, [&] { read_npz(folder.path(), "x"); });
  put(folder / "cut.npz", good.substr(0, good.size() / 2));
  expect_error(ErrorKind::kBadFile, {"cut.npz", "cannot be opened"}, [&] { list_npz(folder / "cut.npz"); });
}

TEST(Npz, PicklesAreRefused) {
  std::string header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n";
  const std::string npy =
      std::string("\x93NUMPY\1\0", 8) + bytes_of(static_cast<std::uint16_t>(header.size())) + header;
  expect_bad({"test.npz: array \"x\"", "pickle", "allow_pickle=False"}, zip({{"x.npy", npy + "cos\nsystem\n"}}));
}

TEST(Npz, BombsAreRefusedBeforeTheyAreUnpacked) {
  const TempFolder folder;
  // 64 MiB of zeros, actually compressed to about 300 KB.
  write_npz(folder / "bomb.npz", {{"x", Array::from(Tensor<double>({8 << 20}).view())}});
  EXPECT_LT(std::filesystem::file_size(folder / "bomb.npz"), 500'000U);
  expect_error(ErrorKind::kBadFile, {"array \"x\"", "need 67108864 bytes of memory; at most 1048576"},
               [&] { read_npz(folder / "bomb.npz", "x", {1 << 20}); });
  EXPECT_EQ(read_npz(folder / "bomb.npz", "x", {64 << 20}).shape, Shape{8 << 20});
  // A size that the compressed bytes cannot expand to.
  Entry impossible{"x.npy", npy_of({1}), kDeflated};
  impossible.declared_size_offset = 3'000'000'000;
  expect_bad({"claims to have 30000", "compressed to", "damaged"}, zip({impossible}));
  Entry outside{"x.npy", npy_of({1}), kStored};
  outside.declared_size_offset = outside.declared_compressed_offset = 2'000'000'000;
  expect_bad({"in a zip file of", "damaged"}, zip({outside}));
}

TEST(Npz, SizesThatLie) {
  // The directory gives the size that the array needs; the stream holds more, or less.
  const std::string more = npy_of({1, 2}) + std::string(100'000, '\0');
  Entry longer{"x.npy", more, kDeflated};
  longer.declared_size_offset = -100'000;
  expect_bad({"array \"x\""}, zip({longer}));
  Entry shorter{"x.npy", npy_of({1, 2}).substr(0, 140), kDeflated};
  shorter.declared_size_offset = 4;
  expect_bad({"array \"x\""}, zip({shorter}));
  Entry stored{"x.npy", npy_of({1, 2})};
  stored.declared_size_offset = 8;
  expect_bad({"claims to have 152 bytes, compressed to 144", "damaged"}, zip({stored}));
  // The array's own shape disagrees with the entry.
  expect_bad({"need 16 bytes after the header, found 8", "truncated"}, zip({{"x.npy", npy_of({1, 2}).substr(0, 136)}}));
  expect_bad({"need 16 bytes after the header, found 18"}, zip({{"x.npy", npy_of({1, 2}) + "xx", kDeflated}}));
}

TEST(Npz, DamagedEntries) {
  Entry crc{"x.npy", npy_of({1, 2}), kDeflated};
  crc.wrong_crc = true;
  expect_bad({"array \"x\"", "damaged"}, zip({crc}));
  std::string garbage = zip({{"x.npy", npy_of({1, 2}), kDeflated}});
  garbage[40] = '\x07';  // the first byte of the deflate stream: an invalid block type
  expect_bad({"array \"x\"", "cannot be decompressed"}, garbage);
  expect_bad({"expected stored or deflated data, found zip compression method 12", "np.savez"},
             zip({{"x.npy", npy_of({1}), 12}}));
  expect_bad({"is encrypted"}, zip({{"x.npy", npy_of({1}), kStored, 1}}));
  expect_bad({"expected a NumPy .npy file"}, zip({{"x.npy", "not an array at all"}}));
}

TEST(Npz, ArraysThatCannotBeWritten) {
  const TempFolder folder;
  const Array one = Array::from_bools({true});
  expect_error(ErrorKind::kOther, {"expected arrays with unique names, found \"x\" twice"}, [&] {
    write_npz(folder / "a.npz", {{"x", one}, {"x", one}});
  });
  expect_error(ErrorKind::kOther, {"there is no folder"}, [&] { write_npz(folder / "none/a.npz", {{"x", one}}); });
  expect_error(ErrorKind::kUsage, {"it is a folder"}, [&] { write_npz(folder.path(), {{"x", one}}); });
  Array damaged = one;
  damaged.bytes.clear();
  expect_error(ErrorKind::kOther, {"needs 1 bytes"}, [&] { write_npz(folder / "a.npz", {{"x", damaged}}); });
  EXPECT_TRUE(folder.names().empty());
}

TEST(Npz, DamageIsAnErrorOrHarmless) {
  const std::string good = zip({{"x.npy", npy_of({1, 2}), kDeflated}, {"y.npy", npy_of({1})}});
  test::expect_harmless_damage(good, 3000, 1, 5, [](const std::string& file) {
    for (const std::string& key : internal::list_npz(std::as_bytes(std::span(file)), "test.npz"))
      EXPECT_LE(parse(file, key, {1 << 20}).bytes.size(), std::size_t{1} << 20);
  });
}

}  // namespace
}  // namespace attnflow::npz_test
