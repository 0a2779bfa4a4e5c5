// Tests a small random GGUF model, converted and run by the torch backend, against output of transformers.
#include <gtest/gtest.h>

#include "attnflow/model/convert_gguf.h"
#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::converted_test {
namespace {

TEST(Converted, AttentionAndLogitsAreThoseOfTransformers) {
  const test::TempFolder scratch;
  convert_gguf(test::golden_gguf() / "llama.gguf", scratch / "llama");
  const std::unique_ptr<Decoder> decoder = ModelFiles(scratch / "llama").load_decoder();
  test::expect_golden(*decoder, "llama");
}

}  // namespace
}  // namespace attnflow::converted_test
