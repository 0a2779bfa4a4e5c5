#include "attnflow/files/safetensors.h"

#include <gtest/gtest.h>

#include "attnflow/files/files_for_test.h"

namespace attnflow::safetensors_test {
namespace {

using test::bytes_of;
using test::expect_error;
using test::get;
using test::put;
using test::TempFolder;

std::string file_of(const std::string& header, const std::string& data = "") {
  return bytes_of(static_cast<std::uint64_t>(header.size())) + header + data;
}

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape, std::size_t begin,
                   std::size_t end) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape + ",\"data_offsets\":[" +
         std::to_string(begin) + "," + std::to_string(end) + "]}";
}

SafetensorsFile parse(const std::string& file) {
  return SafetensorsFile(std::as_bytes(std::span(file)), "test.safetensors");
}

TEST(Safetensors, ReadsWhatThePythonPackageWrote) {
  // safetensors.numpy.save({"b": np.array([[1.5, -2.0]], np.float16), "a": np.array([7], np.int64)}, {"k": "v"}),
  // version 0.4.5.
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
                             R"("b":{"dtype":"F16","shape":[1,2],"data_offsets":[8,12]}}       )";
  const TempFolder folder;
  put(folder / "a.safetensors", file_of(header, bytes_of(std::int64_t{7}) + std::string("\x00\x3E\x00\xC0", 4)));
  const SafetensorsFile file(folder / "a.safetensors");
  EXPECT_EQ(file.path(), folder / "a.safetensors");
  ASSERT_EQ(file.entries().size(), 2U);
  EXPECT_EQ(file.metadata().at("k"), "v");
  EXPECT_EQ(file.read("a").to_int64("a"), (Tensor<std::int64_t>({1}, {7})));
  EXPECT_EQ(file.read("b").to_float("b"), (Tensor<float>({1, 2}, {1.5F, -2.0F})));
  const SafetensorsFile::Entry& entry = file.entries().at("b");
  EXPECT_EQ(entry.dtype, DType::kF16);
  EXPECT_EQ(entry.shape, (Shape{1, 2}));
  EXPECT_EQ(entry.bytes.size(), 4U);
}

TEST(Safetensors, StaysValidWhenMoved) {
  const TempFolder folder;
  write_safetensors(folder / "a.safetensors", {{"x", Array::from(Tensor<float>({2}, {1, 2}).view())}});
  SafetensorsFile first(folder / "a.safetensors");
  const std::span<const std::byte> bytes = first.entries().at("x").bytes;
  const SafetensorsFile second = std::move(first);
  EXPECT_EQ(second.entries().at("x").bytes.data(), bytes.data());
  EXPECT_EQ(second.read("x").to_float("x").span()[1], 2.0F);
}

TEST(Safetensors, EveryTypeRoundTrips) {
  const TempFolder folder;
  std::vector<NamedArray> arrays;
  for (const DType dtype : {DType::kBool, DType::kU8, DType::kI8, DType::kI16, DType::kI32, DType::kI64, DType::kF16,
                            DType::kBF16, DType::kF32, DType::kF64}) {
    Array array;
    array.dtype = dtype;
    array.shape = {3, 1};
    for (std::size_t i = 0; i < 3 * dtype_size(dtype); ++i) array.bytes.push_back(std::byte(i));
    arrays.push_back({std::string(dtype_name(dtype)), std::move(array)});
  }
  arrays.push_back({"empty", Array::from(Tensor<float>({0, 4}).view())});
  arrays.push_back({"scalar", Array::from(Tensor<double>({}, {2.5}).view())});
  arrays.push_back({"quote\"and\n\xC3\xA9", Array::from_bools({true})});
  write_safetensors(folder / "a.safetensors", arrays, {{"note", "line\nbreak \"q\""}, {"a", ""}});
  const SafetensorsFile file(folder / "a.safetensors");
  ASSERT_EQ(file.entries().size(), arrays.size());
  const std::string bytes = get(folder / "a.safetensors");
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), 8);
  EXPECT_EQ(header % 8, 0U);
  const std::byte* const data = file.entries().at("f64").bytes.data() - file.entries().at("f64").bytes.size();
  for (const NamedArray& named : arrays) {
    const Array back = file.read(named.name);
    EXPECT_EQ(back.dtype, named.array.dtype) << named.name;
    EXPECT_EQ(back.shape, named.array.shape) << named.name;
    EXPECT_EQ(back.bytes, named.array.bytes) << named.name;
    const auto offset = static_cast<std::size_t>(file.entries().at(named.name).bytes.data() - data);
    EXPECT_EQ(offset % dtype_size(named.array.dtype), 0U) << named.name;
  }
  EXPECT_EQ(file.metadata().at("note"), "line\nbreak \"q\"");
  write_safetensors(folder / "b.safetensors", arrays, {{"note", "line\nbreak \"q\""}, {"a", ""}});
  EXPECT_EQ(get(folder / "b.safetensors"), bytes);
  write_safetensors(folder / "none.safetensors", {});
  EXPECT_TRUE(SafetensorsFile(folder / "none.safetensors").entries().empty());
}

TEST(Safetensors, UnknownFieldsAreSkipped) {
  const auto content = parse(file_of(
      R"({"a":{"later":{"x":[1,{"y":null}],"dtype":"Z"},"dtype":"U8","n":null,"shape":[1],"t":true,"f":1.5,"s":"s",)"
      R"("data_offsets":[0,1]}})",
      "x"));
  EXPECT_EQ(content.entries().at("a").shape, Shape{1});
}

TEST(Safetensors, MissingNamesAreTold) {
  const TempFolder folder;
  std::vector<NamedArray> arrays;
  for (int i = 0; i < 20; ++i) arrays.push_back({"layer." + std::to_string(i), Array::from_bools({true})});
  write_safetensors(folder / "a.safetensors", arrays);
  expect_error(ErrorKind::kBadFile, {"a.safetensors", "expected a tensor named \"head\"", "\"layer.0\"", "and 12 more"},
               [&] { SafetensorsFile(folder / "a.safetensors").read("head"); });
}

void expect_bad(const std::vector<std::string>& words, const std::string& file) {
  std::vector<std::string> all = words;
  all.push_back("test.safetensors: not a valid .safetensors file");
  expect_error(ErrorKind::kBadFile, all, [&] { parse(file); });
}

TEST(Safetensors, TruncatedFiles) {
  const std::string good = file_of("{" + tensor("a", "F32", "[2]", 0, 8) + "}", std::string(8, '\0'));
  EXPECT_EQ(parse(good).entries().size(), 1U);
  expect_bad({"at least 8 bytes", "found 0", "copy it again"}, "");
  expect_bad({"at least 8 bytes", "found 7"}, good.substr(0, 7));
  expect_bad({"its header claims", "bytes, but only 12 follow", "truncated"}, good.substr(0, 20));
  expect_bad({"tensor \"a\" lies at bytes 0 to 8, but the file holds 7", "truncated"}, good.substr(0, good.size() - 1));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_THROW(parse(good.substr(0, size)), Error) << size;
  expect_bad({"the last 1 bytes belong to no tensor"}, good + "x");
  expect_bad({"Git LFS pointer", "git lfs pull"}, "version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
}

TEST(Safetensors, HeaderLengths) {
  expect_bad({"its header claims 18446744073709551615 bytes"}, std::string(8, '\xFF') + "{}");
  expect_bad({"starts with '{'"}, file_of(""));
  expect_bad({"starts with '{'"}, file_of(" {}"));
  const TempFolder folder;
  // Longer than the limit, and complete: a sparse file of zeros.
  const std::uint64_t length = 100'000'001;
  put(folder / "long.safetensors", bytes_of(length) + "{}");
  std::filesystem::resize_file(folder / "long.safetensors", 8 + length);
  expect_error(ErrorKind::kBadFile, {"its header has 100000001 bytes; at most 100000000"},
               [&] { SafetensorsFile(folder / "long.safetensors"); });
}

TEST(Safetensors, HeadersThatAreNotJson) {
  expect_bad({"not valid JSON"}, file_of("{"));
  expect_bad({"not valid JSON"}, file_of("{} {}"));
  expect_bad({"not valid JSON"}, file_of("{\"a\":}"));
  expect_bad({"not valid JSON in UTF-8"}, file_of("{\"\xFF\":1}"));
  expect_bad({"not valid JSON"}, file_of(std::string("{}\0\0", 4)));
  expect_bad({"not valid JSON"}, file_of("{" + tensor("a", "U8", "[1e999]", 0, 1) + "}", "x"));
}

TEST(Safetensors, DeepNestingIsBounded) {
  const std::string deep(2'000'000, '[');
  expect_bad({"\"a\": expected an object, found an array"}, file_of("{\"a\":" + deep));
  expect_bad({"nested too deeply"}, file_of("{\"a\":{\"later\":" + deep));
  std::string objects = "{\"a\":{\"later\":";
  for (int i = 0; i < 100'000; ++i) objects += "{\"x\":";
  expect_bad({"nested too deeply"}, file_of(objects));
}

TEST(Safetensors, HeadersOfTheWrongForm) {
  expect_bad({"\"a\": expected an object, found 1"}, file_of(R"({"a":1})"));
  expect_bad({"\"a\": expected an object, found null"}, file_of(R"({"a":null})"));
  expect_bad({"tensor \"a\": expected dtype, shape and data_offsets"}, file_of(R"({"a":{"dtype":"F32","shape":[]}})"));
  expect_bad({"\"shape\": expected an array, found 1"}, file_of(R"({"a":{"shape":1}})"));
  expect_bad({"expected a shape of whole numbers, found -1"}, file_of(R"({"a":{"shape":[-1]}})"));
  expect_bad({"expected a shape of whole numbers, found 1.0"}, file_of(R"({"a":{"shape":[1.0]}})"));
  expect_bad({"expected a shape of whole numbers, found an array"}, file_of(R"({"a":{"shape":[[]]}})"));
  expect_bad({"expected data_offsets [begin, end]"}, file_of(R"({"a":{"data_offsets":[0]}})"));
  expect_bad({"expected data_offsets [begin, end], found 3"}, file_of(R"({"a":{"data_offsets":[0,1,3]}})"));
  expect_bad({"\"dtype\": expected text, found 5"}, file_of(R"({"a":{"dtype":5}})"));
  expect_bad({"metadata \"k\": expected text, found 1"}, file_of(R"({"__metadata__":{"k":1}})"));
  std::string rank = "[1";
  for (int d = 0; d < 64; ++d) rank += ",1";
  expect_bad({"at most 64 dimensions"}, file_of("{" + tensor("a", "U8", rank + "]", 0, 1) + "}", "x"));
}

TEST(Safetensors, NamesThatAppearTwice) {
  const std::string a = tensor("a", "U8", "[1]", 0, 1);
  expect_bad({"tensor \"a\" appears twice"}, file_of("{" + a + "," + a + "}", "x"));
  expect_bad({"\"__metadata__\" appears twice"}, file_of(R"({"__metadata__":{},"__metadata__":{}})"));
  expect_bad({"metadata key \"k\" appears twice"}, file_of(R"({"__metadata__":{"k":"1","k":"2"}})"));
  expect_bad({"tensor \"a\": \"shape\" appears twice"}, file_of(R"({"a":{"shape":[],"shape":[]}})"));
}

TEST(Safetensors, TypesThatAreNotRead) {
  for (const std::string dtype :
       {"U16", "U32", "U64", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "C64", "f32"}) {
    const std::string bytes = file_of(
        R"({"__metadata__":null,)" + tensor("a", "U8", "[1]", 0, 1) + "," + tensor("w", dtype, "[2]", 1, 4) + "}",
        "xyyy");
    const SafetensorsFile file(std::as_bytes(std::span(bytes)), "test.safetensors");
    EXPECT_EQ(file.read("a").bytes, std::vector{std::byte{'x'}}) << dtype;
    EXPECT_FALSE(file.entries().contains("w"));
    EXPECT_TRUE(file.holds("w") && file.holds("a") && !file.holds("b"));
    const std::string said = fmt::format("test.safetensors: tensor \"w\" has dtype \"{}\"", dtype);
    expect_error(ErrorKind::kBadFile, {said, "expected one of BOOL"}, [&] { file.read("w"); });
    expect_error(ErrorKind::kBadFile, {said}, [&] { file.require_all_read(); });
  }
  // Like any other tensor, they occupy bytes in the file.
  expect_bad({"overlap at byte 1"},
             file_of("{" + tensor("a", "U8", "[2]", 0, 2) + "," + tensor("w", "F4", "[2]", 1, 2) + "}", "xx"));
}

TEST(Safetensors, OffsetsAndShapes) {
  const auto one = [](const std::string& shape, std::size_t begin, std::size_t end, const std::string& data) {
    return file_of("{" + tensor("a", "F32", shape, begin, end) + "}", data);
  };
  const std::string eight(8, '\0');
  expect_bad({"lies at bytes 8 to 4"}, one("[1]", 8, 4, eight));
  expect_bad({"lies at bytes 0 to 18446744073709551615"}, one("[1]", 0, ~std::size_t{0}, eight));
  expect_bad({"shape [3] and dtype f32 needs 12 bytes, but its offsets 0 to 8 hold 8"}, one("[3]", 0, 8, eight));
  expect_bad({"needs 8 bytes, but its offsets 0 to 7 hold 7"}, one("[2]", 0, 7, eight.substr(1)));
  expect_bad({"needs more than 2^64 bytes"}, one("[4294967296,4294967296]", 0, 0, ""));
  expect_bad({"needs more than 2^64 bytes"}, one("[4294967296,4294967296,0]", 0, 0, ""));
  expect_bad({"needs more than 2^64 bytes"}, one("[4611686018427387905]", 0, 4, "xxxx"));
  expect_bad({"bytes 0 to 4 before tensor \"a\" belong to no tensor"}, one("[1]", 4, 8, eight));
  // An integer beyond 64 bits is parsed as a float, which is not a valid offset.
  expect_bad({"expected data_offsets"},
             file_of(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,18446744073709551617]}})", "x"));
  const auto two = [](std::size_t begin, std::size_t end, const std::string& data) {
    return file_of("{" + tensor("a", "U8", "[4]", 0, 4) + "," + tensor("b", "U8", "[4]", begin, end) + "}", data);
  };
  expect_bad({"tensors \"a\" and \"b\" overlap at byte 2"}, two(2, 6, "xxxxxx"));
  expect_bad({"tensors \"a\" and \"b\" overlap at byte 0"}, two(0, 4, "xxxx"));
  expect_bad({"bytes 4 to 5 before tensor \"b\""}, two(5, 9, "xxxxxxxxx"));
  EXPECT_EQ(parse(two(4, 8, "xxxxxxxx")).entries().size(), 2U);
}

TEST(Safetensors, HostileNamesAreShownHarmlessly) {
  expect_bad({"tensor \"\\x1b]0;x\\x07\" lies"}, file_of("{" + tensor("\\u001b]0;x\\u0007", "U8", "[1]", 0, 1) + "}"));
}

TEST(Safetensors, FilesThatCannotBeRead) {
  const TempFolder folder;
  expect_error(ErrorKind::kBadFile, {"missing.safetensors", "No such file"},
               [&] { SafetensorsFile(folder / "missing.safetensors"); });
  expect_error(ErrorKind::kBadFile, {"found a folder"}, [&] { SafetensorsFile(folder.path()); });
  expect_error(ErrorKind::kBadFile, {"only regular files"}, [&] { SafetensorsFile("/dev/null"); });
}

TEST(Safetensors, ArraysThatCannotBeWritten) {
  const TempFolder folder;
  const std::filesystem::path path = folder / "a.safetensors";
  const Array one = Array::from_bools({true});
  expect_error(ErrorKind::kOther, {"cannot write", "\"t\" is text", "metadata"}, [&] {
    write_safetensors(path, {{"t", Array::from_strings({"x"})}});
  });
  expect_error(ErrorKind::kOther, {"found \"x\" twice"}, [&] { write_safetensors(path, {{"x", one}, {"x", one}}); });
  expect_error(ErrorKind::kOther, {"reserved"}, [&] { write_safetensors(path, {{"__metadata__", one}}); });
  expect_error(ErrorKind::kOther, {"metadata \"k\" is given twice"}, [&] {
    write_safetensors(path, {}, {{"k", "1"}, {"k", "2"}});
  });
  expect_error(ErrorKind::kOther, {"there is no folder"}, [&] {
    write_safetensors(folder / "none/a.safetensors", {{"x", one}});
  });
  EXPECT_TRUE(folder.names().empty());
}

TEST(Safetensors, DamageIsAnErrorOrHarmless) {
  const std::string good = file_of("{\"__metadata__\":{\"k\":\"v\"}," + tensor("a", "F32", "[2, 3]", 0, 24) + "," +
                                       tensor("b", "U8", "[4]", 24, 28) + "}",
                                   std::string(28, '\1'));
  ASSERT_EQ(parse(good).entries().size(), 2U);
  test::expect_harmless_damage(good, 5000, 1, 0, [](const std::string& file) {
    const SafetensorsFile damaged = parse(file);
    for (const auto& [name, entry] : damaged.entries()) {
      EXPECT_GE(reinterpret_cast<const char*>(entry.bytes.data()), file.data());
      EXPECT_LE(reinterpret_cast<const char*>(entry.bytes.data() + entry.bytes.size()), file.data() + file.size());
    }
  });
}

}  // namespace
}  // namespace attnflow::safetensors_test
