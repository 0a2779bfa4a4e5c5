// Tests small random GGUF models, run by the torch backend as they are or converted, against output of transformers.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "attnflow/model/backend.h"
#include "attnflow/model/convert_gguf.h"
#include "attnflow/model/gguf_blocks.h"
#include "attnflow/model/gguf_tensor_reader.h"
#include "attnflow/model/gguf_weights.h"
#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::converted_test {
namespace {

TEST(Converted, AttentionAndLogitsAreThoseOfTransformers) {
  const test::TempFolder scratch;
  convert_gguf(test::golden_gguf() / "llama.gguf", scratch / "llama");
  const std::unique_ptr<Decoder> decoder = ModelFiles(scratch / "llama").load_decoder();
  test::expect_golden(*decoder, "llama");
}

// Gemma 2's tokenizer cannot be converted, but its weights can be run.
TEST(GgufWeights, AttentionAndLogitsAreThoseOfTransformers) {
  for (const char* const name : {"llama", "gemma2"}) {
    SCOPED_TRACE(name);
    const GgufFile file = read_gguf_file(test::golden_gguf() / (std::string(name) + ".gguf"));
    test::expect_golden(*torch_backend().decoder(find_gguf_weights(file), {}), name);
  }
}

// Two groups of two queries, a key and a value, of 2 numbers each; in the file, all queries come first.
TEST(GgufTensorReader, ChangesTensors) {
  using internal::TensorChange;
  std::vector<float> stored(16);
  std::iota(stored.begin(), stored.end(), 0.0F);
  const auto read = [&](TensorChange change, const std::vector<std::size_t>& extents, std::size_t row,
                        std::size_t count) {
    const internal::GgufTensor source = {"x", extents, 0, 0, 64};
    const internal::ConvertedTensor tensor{.name = "x",
                                           .shape = Shape(extents.rbegin(), extents.rend()),
                                           .source = &source,
                                           .change = change,
                                           .head_width = 2,
                                           .heads = 4,
                                           .key_value_heads = 2};
    std::vector<float> values(count);
    internal::GgufTensorReader(tensor, std::as_bytes(std::span<const float>(stored)), "x.gguf").read(row, values);
    return values;
  };
  const std::vector<float> by_head = {0, 1, 2, 3, 8, 9, 12, 13, 4, 5, 6, 7, 10, 11, 14, 15};
  EXPECT_EQ(read(TensorChange::kByHead, {16}, 0, 16), by_head);
  for (std::size_t row = 0; row < 16; ++row) {
    EXPECT_EQ(read(TensorChange::kByHead, {16}, row, 1), (std::vector<float>{by_head[row]}));
    EXPECT_EQ(read(TensorChange::kByHead, {1, 16}, row, 1), (std::vector<float>{by_head[row]}));
  }
  EXPECT_EQ(read(TensorChange::kMinusOne, {16}, 3, 2), (std::vector<float>{2, 3}));
}

// Every byte of the blocks is random, but for the sign of one of the exponent's bits: scales are finite.
TEST(GgufBlocks, AreReadAsByLibllama) {
  struct Kind {
    std::uint32_t type;
    std::size_t numbers, bytes, scale;
  };
  std::mt19937 random(3);
  for (const Kind& kind : {Kind{6, 32, 22, 0}, Kind{14, 256, 210, 208}}) {
    constexpr std::size_t kBlocks = 300;
    std::vector<std::byte> blocks(kBlocks * kind.bytes);
    for (std::byte& byte : blocks) byte = static_cast<std::byte>(random() & 255U);
    for (std::size_t i = 0; i < kBlocks; ++i) blocks[i * kind.bytes + kind.scale + 1] &= std::byte{0xbf};
    std::vector<float> expected(kBlocks * kind.numbers);
    llama_backend().dequantise(kind.type, blocks, expected);
    std::vector<float> values(expected.size());
    ASSERT_TRUE(internal::dequantise_blocks(kind.type, blocks, values));
    EXPECT_EQ(values, expected) << kind.type;
  }
  std::vector<float> none;
  EXPECT_FALSE(internal::dequantise_blocks(0, {}, none));
}

TEST(GgufTensorReader, NumbersThatAreNotFiniteAreNamed) {
  const std::vector<float> stored = {1, 2, std::numeric_limits<float>::infinity(), 4};
  const internal::GgufTensor source = {"x", {2, 2}, 0, 0, 16};
  const internal::ConvertedTensor tensor{.name = "x", .shape = {2, 2}, .source = &source, .head_width = 1};
  const internal::GgufTensorReader reader(tensor, std::as_bytes(std::span<const float>(stored)), "x.gguf");
  std::vector<float> values(2);
  reader.read(0, values);
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THROW(reader.read(1, values), Error);
    reader.read(0, values);
  }
}

}  // namespace
}  // namespace attnflow::converted_test
