// Tests blocks of every type against the numbers that the Python package gguf reads from them (tests/golden/quantised).
#include "attnflow/model/llama/dequantise.h"

#include <gtest/gtest.h>

#include "attnflow/model/llama/library.h"
#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::dequantise_test {
namespace {

using test::expect_error;

std::filesystem::path golden() { return test::golden_folder("quantised") / "blocks.npz"; }

std::vector<std::uint32_t> golden_types() {
  std::vector<std::uint32_t> types;
  for (const std::string& name : list_npz(golden())) {
    if (name.ends_with("_values")) types.push_back(static_cast<std::uint32_t>(std::stoul(name)));
  }
  return types;
}

std::vector<std::byte> blocks_of(std::uint32_t type) {
  return read_npz(golden(), std::to_string(type) + "_blocks").bytes;
}

TEST(Dequantise, EveryTypeOfTheGoldenFile) {
  start_llama_library();
  const std::vector<std::uint32_t> types = golden_types();
  EXPECT_EQ(types.size(), 24U);
  for (const std::uint32_t type : types) {
    SCOPED_TRACE(type);
    const Tensor<float> expected = read_npz(golden(), std::to_string(type) + "_values").to_float("values");
    const std::vector<std::byte> blocks = blocks_of(type);
    const internal::GgufBlock block = internal::gguf_block(type).value();
    ASSERT_EQ(blocks.size(), expected.size() / block.elements * block.bytes);
    std::vector<float> found(expected.size());
    dequantise_blocks(type, blocks, found);
    // A product and a sum, which a processor may round once or twice: relative to the block's largest number.
    for (std::size_t begin = 0; begin < found.size(); begin += block.elements) {
      const auto part = std::span<const float>(found).subspan(begin, block.elements);
      const auto right = expected.span().subspan(begin, block.elements);
      EXPECT_LE(test::largest_difference(part, right), 2e-7 * test::largest(right));
    }
  }
}

TEST(Dequantise, BlocksNeedNotBeAligned) {
  start_llama_library();
  for (const std::uint32_t type : golden_types()) {
    const std::vector<std::byte> blocks = blocks_of(type);
    const internal::GgufBlock block = internal::gguf_block(type).value();
    std::vector<float> aligned(blocks.size() / block.bytes * block.elements);
    dequantise_blocks(type, blocks, aligned);
    std::vector<std::byte> moved(blocks.size() + 1);
    std::copy(blocks.begin(), blocks.end(), moved.begin() + 1);
    std::vector<float> found(aligned.size());
    dequantise_blocks(type, std::span(moved).subspan(1), found);
    EXPECT_EQ(found, aligned) << type;
  }
}

TEST(Dequantise, RefusesWhatIsNoBlocksOfNumbers) {
  start_llama_library();
  std::vector<float> values(32);
  const std::vector<std::byte> bytes(32 * 8);
  const auto read = [&](std::uint32_t type, std::size_t size) {
    dequantise_blocks(type, std::span(bytes).first(size), values);
  };
  expect_error(ErrorKind::kUnsupportedModel, {"26"}, [&] { read(26, 128); });  // integers
  expect_error(ErrorKind::kUnsupportedModel, {"4"}, [&] { read(4, 16); });     // a type that ggml abandoned
  expect_error(ErrorKind::kUnsupportedModel, {"1000"}, [&] { read(1000, 16); });
  expect_error(ErrorKind::kBadFile, {"32 numbers in 18 bytes", "17 bytes"}, [&] { read(2, 17); });
  expect_error(ErrorKind::kBadFile, {"36 bytes"}, [&] { read(2, 36); });
  values.resize(31);
  expect_error(ErrorKind::kBadFile, {"31 numbers"}, [&] { read(2, 18); });
}

}  // namespace
}  // namespace attnflow::dequantise_test
