#include "attnflow/files/pytorch_file.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/files/pytorch_for_test.h"

namespace attnflow {
namespace {

namespace write = test::pickle;
using test::ZipForTest;

std::string numbers(const std::vector<float>& values) {
  std::string bytes;
  for (const float value : values) bytes += test::bytes_of(value);
  return bytes;
}

std::span<const std::byte> span_of(const std::string& bytes) { return std::as_bytes(std::span(bytes)); }

std::vector<float> floats(const PytorchFile::Entry& entry) {
  EXPECT_EQ(entry.dtype, DType::kF32);
  EXPECT_EQ(entry.bytes.size(), element_count(entry.shape) * sizeof(float));
  std::vector<float> values(entry.bytes.size() / sizeof(float));
  if (!values.empty()) std::memcpy(values.data(), entry.bytes.data(), entry.bytes.size());
  return values;
}

std::string of_six(bool legacy) { return write::storage("FloatStorage", "0", 6, legacy); }
const std::string kSix = numbers({0, 1, 2, 3, 4, 5});

std::string views(bool legacy) {
  const std::string six = of_six(legacy);
  const std::string whole = write::tensor(six, 0, {2, 3}, {3, 1});
  const std::string parameter =
      write::call(write::name("torch._utils", "_rebuild_parameter"), {whole, "\x88", write::ordered_dict()});
  const std::string old = write::call(write::name("torch._utils", "_rebuild_tensor"),
                                      {six, write::number(4), write::sizes({2}), write::sizes({1})});
  return write::dict({{"whole", whole},
                      {"part", write::tensor(six, 1, {2}, {1})},
                      {"transposed", write::tensor(six, 0, {3, 2}, {1, 3})},
                      {"column", write::tensor(six, 2, {2, 1}, {3, 7})},
                      {"row of one", write::tensor(six, 3, {1, 3}, {99, 1})},
                      {"scalar", write::tensor(six, 5, {}, {})},
                      {"empty", write::tensor(six, 0, {0, 3}, {3, 1})},
                      {"parameter", parameter},
                      {"old", old}});
}

void expect_bad(const std::string& file, const std::vector<std::string>& words) {
  test::expect_error(ErrorKind::kBadFile, words, [&] { PytorchFile(span_of(file), "m/pytorch_model.bin"); });
}
void expect_bad_value(const std::string& value, const std::vector<std::string>& words) {
  expect_bad(test::pytorch_zip(value, {{"0", kSix}}).write(), words);
}

TEST(PytorchFile, ReadsViewsInBothFormats) {
  ZipForTest narrow = test::pytorch_zip(views(false), {{"0", kSix}});
  narrow.in_64_bits = false;
  for (const std::string& file : {test::pytorch_zip(views(false), {{"0", kSix}}).write(), narrow.write(),
                                  test::pytorch_legacy(views(true), {{"0", kSix}}, sizeof(float))}) {
    const PytorchFile content(span_of(file), "file");
    const auto at = [&](const char* name) { return floats(content.entries().at(name)); };
    EXPECT_EQ(content.entries().size(), 9U);
    EXPECT_EQ(at("whole"), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(content.entries().at("whole").shape, (Shape{2, 3}));
    EXPECT_EQ(at("part"), (std::vector<float>{1, 2}));
    EXPECT_EQ(at("transposed"), (std::vector<float>{0, 3, 1, 4, 2, 5}));
    EXPECT_EQ(content.entries().at("transposed").shape, (Shape{3, 2}));
    EXPECT_EQ(at("column"), (std::vector<float>{2, 5}));
    EXPECT_EQ(at("row of one"), (std::vector<float>{3, 4, 5}));
    EXPECT_EQ(at("scalar"), (std::vector<float>{5}));
    EXPECT_EQ(at("empty"), (std::vector<float>{}));
    EXPECT_EQ(at("parameter"), at("whole"));
    EXPECT_EQ(at("old"), (std::vector<float>{4, 5}));
    for (const char* name : {"whole", "part", "row of one", "scalar", "parameter", "old"}) {
      const std::byte* const bytes = content.entries().at(name).bytes.data();
      EXPECT_TRUE(bytes >= span_of(file).data() && bytes < span_of(file).data() + file.size()) << name;
    }
  }
}

TEST(PytorchFile, ReadsEveryType) {
  const std::vector<std::pair<std::string, DType>> types = {
      {"HalfStorage", DType::kF16}, {"BFloat16Storage", DType::kBF16}, {"DoubleStorage", DType::kF64},
      {"LongStorage", DType::kI64}, {"IntStorage", DType::kI32},       {"ShortStorage", DType::kI16},
      {"CharStorage", DType::kI8},  {"ByteStorage", DType::kU8},       {"BoolStorage", DType::kBool}};
  for (const auto& [type, dtype] : types) {
    const std::string data(3 * dtype_size(dtype), '\1');
    const std::string value = write::dict({{"a", write::tensor(write::storage(type, "k", 3, false), 1, {2}, {1})}});
    const std::string file = test::pytorch_zip(value, {{"k", data}}).write();
    const PytorchFile content(span_of(file), "file");
    EXPECT_EQ(content.entries().at("a").dtype, dtype);
    EXPECT_EQ(content.entries().at("a").bytes.size(), 2 * dtype_size(dtype));
  }
  expect_bad_value(write::dict({{"a", write::storage("ComplexFloatStorage", "0", 1, false)}}),
                   {"torch.ComplexFloatStorage", "no code in the file was run"});
}

TEST(PytorchFile, MapsAFile) {
  const test::TempFolder folder;
  test::put(folder / "pytorch_model.bin", test::pytorch_zip(views(false), {{"0", kSix}}).write());
  PytorchFile first(folder / "pytorch_model.bin");
  const PytorchFile file = std::move(first);
  EXPECT_EQ(floats(file.entries().at("old")), (std::vector<float>{4, 5}));
  EXPECT_THROW(PytorchFile(folder / "none.bin"), Error);
}

TEST(PytorchFile, FindsTheWeightsInADict) {
  const std::string inner = write::dict({{"a", write::tensor(of_six(false), 0, {6}, {1})}});
  const std::string other = write::dict({{"lr", std::string("G\0\0\0\0\0\0\0\0", 9)}});
  for (const char* const key : {"state_dict", "model", "model_state_dict", "module"}) {
    const std::string value = write::dict({{"epoch", "K\3"}, {key, inner}, {"optimizer", other}});
    const std::string file = test::pytorch_zip(value, {{"0", kSix}}).write();
    EXPECT_EQ(PytorchFile(span_of(file), "file").entries().count("a"), 1U);
  }
  const std::string tensor = write::tensor(of_six(false), 0, {6}, {1});
  expect_bad_value(write::dict({{"weights", inner}}), {"a dict under the text \"weights\""});
  expect_bad_value(write::dict({{"a", tensor}, {"epoch", "K\3"}}), {"the number 3 under the text \"epoch\""});
  expect_bad_value(write::dict({{"a", tensor}, {"model", inner}}), {"two of them"});
  expect_bad_value(write::dict({{"state_dict", inner}, {"model", inner}}), {"two of them"});
  expect_bad_value(write::dict({{"a", tensor}, {"a", tensor}}), {"two tensors", "\"a\""});
  expect_bad_value(write::dict({{"\xff", tensor}}), {"UTF-8"});
  expect_bad_value("}", {"an empty dict"});
  expect_bad_value(tensor, {"a tensor instead of the dict"});
  expect_bad_value(write::list({tensor}), {"a list instead of the dict"});
  std::string many;
  for (int i = 0; i < 9; ++i) many += write::text("model") + "N";
  expect_bad_value("}(" + many + "u", {"twice as a key"});
}

TEST(PytorchFile, RefusesTensorsThatAreNone) {
  const std::string six = of_six(false);
  const auto expect = [&](const std::string& tensor, const std::vector<std::string>& words) {
    expect_bad_value(write::dict({{"a", tensor}}), words);
  };
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  const std::vector<std::string> outside = {"\"a\"", "outside its storage of 6 numbers"};
  expect(write::tensor(six, 0, {7}, {1}), outside);
  expect(write::tensor(six, 1, {2, 3}, {3, 1}), outside);
  expect(write::tensor(six, 6, {1}, {1}), outside);
  expect(write::tensor(six, kHuge, {1}, {1}), outside);
  expect(write::tensor(six, 0, {2, 2}, {kHuge, kHuge}), outside);
  expect(write::tensor(six, 0, {kHuge, kHuge}, {0, 0}), outside);
  expect(write::tensor(six, 0, {kHuge, 4}, {0, 0}), outside);
  expect(write::tensor(six, 0, {100, 6}, {0, 1}), {"\"a\"", "repeats the numbers"});
  expect(write::tensor(six, -1, {1}, {1}), {"the number -1 as the offset"});
  expect(write::tensor(six, 0, {-1}, {1}), {"the number -1 as the size"});
  expect(write::tensor(six, 0, {1}, {-1}), {"the number -1 as the stride"});
  expect(write::tensor(six, 0, {1, 1}, {1}), {"more or fewer strides"});
  expect(write::tensor(six, 0, std::vector<std::int64_t>(65, 1), {1}), {"65 items as the size"});
  expect(write::tensor("N", 0, {1}, {1}), {"not built the way PyTorch does it"});
  expect(write::call(write::name("torch._utils", "_rebuild_parameter"), {"N"}), {"a parameter that is not a tensor"});
  expect(write::call(write::name("torch._utils", "_rebuild_tensor_v2"), {}), {"not built the way PyTorch does it"});
  expect(
      write::tensor(write::storage("FloatStorage", "0", 5, false), 0, {5}, {1}) + "0" + write::tensor(six, 0, {6}, {1}),
      {"two types or lengths"});
  expect(write::tensor(write::storage("FloatStorage", "0", kHuge, false), 0, {1}, {1}), {"only 24 bytes follow"});
  expect(write::tensor(write::storage("DoubleStorage", "0", 4, false), 0, {1}, {1}), {"only 24 bytes follow"});
  expect(write::tensor(write::storage("FloatStorage", "1", 6, false), 0, {1}, {1}), {"storage \"1\" is not in it"});
  expect(write::tensor("NQ", 0, {1}, {1}), {"not a storage of numbers"});
}

TEST(PytorchFile, BoundsWhatIsCopied) {
  const std::string storage = write::storage("ByteStorage", "0", 40000, false);
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 99; ++i) many.emplace_back(std::to_string(i), write::tensor(storage, i, {190, 200}, {1, 190}));
  expect_bad(test::pytorch_zip(write::dict(many), {{"0", std::string(40000, 'x')}}).write(),
             {"more bytes than the file has"});
  for (auto& [name, tensor] : many) tensor = write::tensor(storage, 0, {200, 200}, {1, 200});
  const std::string file = test::pytorch_zip(write::dict(many), {{"0", std::string(40000, 'x')}}).write();
  const PytorchFile content(span_of(file), "file");
  EXPECT_EQ(content.entries().at("98").bytes.data(), content.entries().at("0").bytes.data());
}

TEST(PytorchFile, RefusesOtherFiles) {
  const std::string label = "m/pytorch_model.bin";
  expect_bad("", {label, "no bytes"});
  expect_bad("hello", {label, "torch.save"});
  expect_bad("version https://git-lfs.github.com/spec/v1\n", {"git lfs pull"});
  expect_bad("\x80\x02}.", {"magic number", "a dict"});
  expect_bad(
      "\x80\x02"
      "cposix\nsystem\n.",
      {"posix.system", "no code in the file was run", "unless you trust"});
  ZipForTest zip{.entries = {{"a/b", "x"}}};
  expect_bad(zip.write(), {"data.pkl"});
  zip.entries = {{"a/data.pkl", "x"}, {"b/data.pkl", "x"}};
  expect_bad(zip.write(), {"two"});
  zip.entries = {{"a/data.pkl", "x"}, {"a/constants.pkl", "x"}};
  expect_bad(zip.write(), {"TorchScript"});
  zip.entries = {{"a/data.pkl", "x"}, {"a/byteorder", "big"}};
  expect_bad(zip.write(), {"big-endian"});
}

TEST(PytorchFile, RefusesZipFilesThatAreWrong) {
  ZipForTest zip = test::pytorch_zip(views(false), {{"0", kSix}});
  zip.entries[0].method = 8;
  expect_bad(zip.write(), {"expected entries that are stored as they are", "method 8"});
  zip.entries[0].method = 0;
  zip.entries[0].flags = 1;
  expect_bad(zip.write(), {"encrypted"});
  zip.entries[0].flags = 0;
  zip.entries.push_back(zip.entries[0]);
  expect_bad(zip.write(), {"twice"});
  zip.entries.pop_back();
  ZipForTest inner{.entries = {{"x", "1"}}, .in_64_bits = false};
  ZipForTest outer = zip;
  outer.in_64_bits = false;
  outer.entries = {{"big", inner.write()}, {"later", "2"}};
  std::string file = outer.write();
  const std::size_t second = file.find("PK\3\4", 4);
  const std::size_t third = file.find("PK\3\4", second + 4);
  const std::size_t entry = file.rfind("PK\1\2");
  ASSERT_EQ(file.substr(entry + 42, 4), test::bytes_of(static_cast<std::uint32_t>(third)));
  file.replace(entry + 42, 4, test::bytes_of(static_cast<std::uint32_t>(second)));
  expect_bad(file, {"overlap"});
}

TEST(PytorchFile, RefusesLegacyFilesThatAreWrong) {
  const std::string value = write::dict({{"a", write::tensor(of_six(true), 0, {6}, {1})}});
  const auto bad = [](const std::string& file, const std::vector<std::string>& words) { expect_bad(file, words); };
  const std::string good = test::pytorch_legacy(value, {{"0", kSix}}, sizeof(float));
  EXPECT_NO_THROW(PytorchFile(span_of(good), "file"));
  bad(good + "x", {"1 bytes are left"});
  bad(test::pytorch_legacy(value, {}, sizeof(float)), {"expected 1 storages, found 0"});
  bad(test::pytorch_legacy(value, {{"1", kSix}}, sizeof(float)), {"\"1\" is not one of"});
  bad(test::pytorch_legacy(value, {{"0", kSix + kSix}}, sizeof(float)), {"expected 6 numbers, found 12"});
  bad(test::pytorch_legacy(value, {{"0", kSix}, {"0", kSix}}, sizeof(float)), {"twice"});
  bad(test::pytorch_legacy(write::dict({{"a", "N"}}), {}, 4), {"None under the text \"a\""});
  std::string view = of_six(true);
  view.replace(view.size() - 3, 1, write::tuple({write::text("1"), write::number(0), write::number(6)}));
  bad(test::pytorch_legacy(write::dict({{"a", write::tensor(view, 0, {6}, {1})}}), {{"0", kSix}}, 4),
      {"a view of another storage"});
  std::string big = good;
  big[big.find("little_endian") + std::strlen("little_endian")] = '\x89';
  bad(big, {"big-endian"});
  std::string other = good;
  other[other.find("M\xe9") + 1] = '\xe8';
  bad(other, {"expected protocol 1001, found the number 1000"});
}

void expect_an_answer(const std::string& file) {
  // A buffer of exactly this size, so that a sanitizer detects reading one byte too many.
  const std::vector<char> bytes(file.begin(), file.end());
  const auto all = std::as_bytes(std::span(bytes));
  try {
    const PytorchFile content(all, "file");
    std::size_t sum = 0;
    for (const auto& [name, entry] : content.entries()) {
      EXPECT_EQ(entry.bytes.size(), element_count(entry.shape) * dtype_size(entry.dtype));
      for (const std::byte byte : entry.bytes) sum += std::to_integer<std::size_t>(byte);
    }
    EXPECT_GE(sum, 0U);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadFile) << error.what();
  }
}

TEST(PytorchFile, DamageGivesAnErrorOrTensors) {
  std::mt19937 random(7);  // seeded: the same cases each time
  for (const std::string& file : {test::pytorch_zip(views(false), {{"0", kSix}}).write(),
                                  test::pytorch_legacy(views(true), {{"0", kSix}}, sizeof(float))}) {
    for (std::size_t length = 0; length < file.size(); ++length) {
      test::expect_error(ErrorKind::kBadFile, {"file"}, [&] { PytorchFile(span_of(file).first(length), "file"); });
    }
    for (std::size_t at = 0; at < file.size(); ++at) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ (1 << (random() % 8)));
      expect_an_answer(changed);
      changed[random() % file.size()] = static_cast<char>(random());
      expect_an_answer(changed);
    }
  }
}

}  // namespace
}  // namespace attnflow
