#include "attnflow/files/safetensors_stream.h"

#include <gtest/gtest.h>

#include <limits>

#include "attnflow/files/files_for_test.h"
#include "attnflow/files/safetensors.h"

namespace attnflow::internal::safetensors_stream_test {
namespace {

using test::expect_error;
using test::TempFolder;

std::vector<float> numbers(std::size_t count) {
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

TEST(SafetensorsStream, GivesTheFileOfTheWriterWhateverThePieces) {
  const TempFolder folder;
  const std::vector<float> values = numbers(24);
  Array first;
  first.shape = {2, 3};
  Array second;
  second.shape = {18};
  const auto bytes = std::as_bytes(std::span(values));
  first.bytes.assign(bytes.begin(), bytes.begin() + 24);
  second.bytes.assign(bytes.begin() + 24, bytes.end());
  write_safetensors(folder / "whole.safetensors", {{"a", first}, {"b", second}}, {{"format", "pt"}});
  SafetensorsStream stream(folder / "pieces.safetensors", {{"a", DType::kF32, {2, 3}}, {"b", DType::kF32, {18}}},
                           {{"format", "pt"}});
  EXPECT_EQ(stream.size(), 96U);
  stream.write(bytes.first(5));
  stream.write(bytes.subspan(5, 60));
  EXPECT_EQ(folder.names().size(), 2U);  // the other one is temporary
  EXPECT_FALSE(std::filesystem::exists(folder / "pieces.safetensors"));
  stream.write(bytes.subspan(65));
  stream.commit();
  EXPECT_EQ(test::get(folder / "pieces.safetensors"), test::get(folder / "whole.safetensors"));
  EXPECT_EQ(SafetensorsFile(folder / "pieces.safetensors").read("b").to_float("b").span()[17], 23.0F);
}

TEST(SafetensorsStream, NothingIsLeftWithoutCommit) {
  const TempFolder folder;
  {
    SafetensorsStream stream(folder / "a.safetensors", {{"a", DType::kU8, {4}}}, {});
    const std::vector<std::byte> bytes(2);
    stream.write(bytes);
  }
  EXPECT_TRUE(folder.names().empty());
}

TEST(SafetensorsStream, RefusesPlansThatAreNone) {
  const TempFolder folder;
  const auto plan = [&](const std::vector<TensorPlan>& tensors) {
    SafetensorsStream stream(folder / "a.safetensors", tensors, {});
  };
  expect_error(ErrorKind::kOther, {"a.safetensors", "expected tensors with names of their own, found \"x\" twice"},
               [&] {
                 plan({{"x", DType::kF32, {1}}, {"x", DType::kF32, {1}}});
               });
  expect_error(ErrorKind::kOther, {"__metadata__"}, [&] { plan({{"__metadata__", DType::kF32, {1}}}); });
  expect_error(ErrorKind::kOther, {"text"}, [&] { plan({{"x", DType::kUnicode, {1}}}); });
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 4;
  expect_error(ErrorKind::kOther, {"address space"}, [&] { plan({{"x", DType::kF32, {kHuge, 2}}}); });
  expect_error(ErrorKind::kOther, {"address space"}, [&] {
    plan({{"x", DType::kU8, {4 * kHuge}}, {"y", DType::kU8, {kHuge}}});
  });
  EXPECT_TRUE(folder.names().empty());
}

}  // namespace
}  // namespace attnflow::internal::safetensors_stream_test
