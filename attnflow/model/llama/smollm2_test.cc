// Tests a real model: SmolLM2-135M-Instruct, 4-bit weights. Skipped if it has not been fetched (tools/fetch_decoder).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::smollm2_test {
namespace {

using test::Ids;
using test::ids_of;
using test::KeptRows;

const std::string kText = "The key to the cabinets is on the table.";

std::int64_t best_of(const Tensor<float>& logits) {
  return std::max_element(logits.span().begin(), logits.span().end()) - logits.span().begin();
}

class SmolLM2 : public testing::Test {
 protected:
  void SetUp() override {
    const char* const file = std::getenv("ATTNFLOW_SMOLLM2");
    if (file == nullptr || *file == '\0') GTEST_SKIP() << "ATTNFLOW_SMOLLM2 does not name the model's file";
    decoder_ = ModelFiles::gguf(file).load_decoder({.threads = 1});  // threads would wait for those of other tests
  }

  std::string continuation(const std::string& text, std::size_t tokens, AttentionSink* sink) {
    const TextCodec& codec = *decoder_->codec();
    std::string added;
    Tensor<float> logits = decoder_->append(ids_of(codec.encode(text)), sink);
    for (std::size_t i = 0; i < tokens; ++i) {
      const std::int64_t id = best_of(logits);
      if (codec.is_end(id)) break;
      added += codec.bytes(id);
      logits = decoder_->append(Ids{id}, sink);
    }
    return added;
  }

  std::unique_ptr<Decoder> decoder_;
};

TEST_F(SmolLM2, IsWhatItIs) {
  const ModelInfo& info = decoder_->info();
  EXPECT_EQ(info.architecture, "llama");
  EXPECT_EQ(info.layers, 30U);
  EXPECT_EQ(info.heads, 9U);
  EXPECT_EQ(info.key_value_heads, 3U);
  EXPECT_EQ(info.hidden, 576U);
  EXPECT_EQ(info.vocabulary, 49152U);
  EXPECT_EQ(info.max_tokens, 8192U);
  EXPECT_EQ(info.parameters, 134515008U);
}

TEST_F(SmolLM2, KnowsTheCapitalOfFrance) {
  KeptRows sink;
  const std::string added = continuation("The capital of France is", 12, &sink);
  EXPECT_EQ(added.substr(0, 7), " Paris.");
  EXPECT_EQ(sink.layers(), 30U);
  EXPECT_EQ(sink.heads(), 9U);
  EXPECT_EQ(sink.tokens(), decoder_->length());
  decoder_->clear();
  EXPECT_EQ(continuation("The capital of France is", 12, nullptr), added);
}

TEST_F(SmolLM2, ChatsAsItsTemplateSays) {
  const TextCodec& codec = *decoder_->codec();
  const std::string text = codec.chat({{"user", "What is gravity?"}});
  EXPECT_EQ(text,
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
            "<|im_start|>user\nWhat is gravity?<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(continuation(text, 5, nullptr).substr(0, 7), "Gravity");
}

TEST_F(SmolLM2, SplitsTextIntoWords) {
  const TextCodec& codec = *decoder_->codec();
  const std::string text = "The weather isn't nice: 24 degrees \xF0\x9F\x99\x82";
  const Encoding encoding = codec.encode(text);
  std::vector<std::string> words;
  for (const EncodedToken& token : encoding.tokens) {
    const std::string part = text.substr(*token.begin, *token.end - *token.begin);
    if (*token.word >= words.size()) {
      words.push_back(part);
    } else if (words.back() != part) {  // halves of a character have the whole character
      words.back() += part;
    }
  }
  EXPECT_EQ(words, (std::vector<std::string>{"The", "weather", "isn", "'t", "nice", ":", " ", "2", "4", "degrees",
                                             "\xF0\x9F\x99\x82"}));
}

// Quantized products have their own code paths in the library.
TEST_F(SmolLM2, ThreadsAndLookingChangeNothing) {
  const Ids ids = ids_of(decoder_->codec()->encode(kText));
  const auto pass = [&](std::size_t threads) {
    const auto decoder = ModelFiles::gguf(std::getenv("ATTNFLOW_SMOLLM2")).load_decoder({.threads = threads});
    KeptRows rows;
    const Tensor<float> logits = test::append_in_parts(*decoder, ids, {ids.size() - 1, 1}, &rows);
    return std::pair(rows, logits);
  };
  test::expect_same_bits(pass, {2});
  test::expect_looking_changes_nothing(*decoder_, ids);
}

TEST_F(SmolLM2, ReplaysItsRows) {
  test::expect_replay_agrees(*decoder_, ids_of(decoder_->codec()->encode(kText)), 2e-6);
}

}  // namespace
}  // namespace attnflow::smollm2_test
