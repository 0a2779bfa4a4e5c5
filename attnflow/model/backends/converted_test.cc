// Tests a small random GGUF model, converted and run by the torch backend, against output of transformers.
#include <gtest/gtest.h>

#include "attnflow/model/convert_gguf.h"
#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::converted_test {
namespace {

using test::largest_difference;

Tensor<float> golden_array(const std::string& name) {
  return read_npz(test::golden_gguf() / "llama.npz", name).to_float(name);
}

TEST(Converted, AttentionAndLogitsAreThoseOfTransformers) {
  const test::TempFolder scratch;
  convert_gguf(test::golden_gguf() / "llama.gguf", scratch / "llama");
  const std::unique_ptr<Decoder> decoder = ModelFiles(scratch / "llama").load_decoder();
  const Tensor<float> attention = golden_array("attention");
  const Tensor<float> logits = golden_array("logits");
  const std::size_t tokens = attention.extent(2);
  TextInput input;
  input.ids = test::golden_ids("llama");
  input.ids.resize(tokens);
  RunOptions options;
  for (std::size_t i = 0; i < tokens; ++i) options.logit_positions.push_back(i);
  test::RowsSink sink;
  const ModelOutput output = decoder->run(input, &sink, options);
  ASSERT_EQ(sink.layers(), attention.extent(0));
  ASSERT_EQ(sink.heads(), attention.extent(1));
  for (std::size_t layer = 1; layer <= sink.layers(); ++layer) {
    for (std::size_t head = 0; head < sink.heads(); ++head) {
      for (std::size_t query = 0; query < tokens; ++query) {
        const auto expected = attention[layer - 1][head][query].span().subspan(0, query + 1);
        EXPECT_LE(largest_difference(sink.row(layer, head, query), expected), test::GgufTolerance{}.attention);
      }
    }
  }
  ASSERT_EQ(output.logits.shape(), logits.shape());
  EXPECT_LE(largest_difference(output.logits.span(), logits.span()), test::GgufTolerance{}.logits);
}

}  // namespace
}  // namespace attnflow::converted_test
