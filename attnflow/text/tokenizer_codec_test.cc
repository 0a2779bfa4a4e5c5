#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/text/model_folder_for_test.h"
#include "attnflow/text/tokenizer.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::tokenizer_codec_test {
namespace {

std::string bytes_of(const TextCodec& codec, const Encoding& encoding) {
  std::string bytes;
  for (const EncodedToken& token : encoding.tokens) bytes += codec.bytes(token.id);
  return bytes;
}

const std::vector<std::string>& running_texts() {
  static const std::vector<std::string> texts = {
      "",
      " ",
      "The key to the cabinets is on the table.",
      "  two  spaces   three ",
      "tab\tand\nnew\r\nline\n\n",
      "Café e\u0301 naïve",
      "😀 the 👩‍👧 key 👍🏽 🏳️‍🌈",
      "السَّلَامُ عَلَيْكُمْ",
      "日本語のテキスト 한국어",
      std::string("a\0b", 3),
      "\u00a0no-break\u3000wide\u200d\ufeff",
      "2020 and 3.14 don't they're",
      "Ġ ▁ ## <0x41> Ċ",
      "<think>kept",
  };
  return texts;
}

class ByteLevelCodec : public testing::TestWithParam<const char*> {};

TEST_P(ByteLevelCodec, BytesOfTheTokensAreTheText) {
  const Tokenizer tokenizer = Tokenizer::load(testdata() / GetParam());
  for (const std::string& text : running_texts()) EXPECT_EQ(bytes_of(tokenizer, tokenizer.encode(text)), text);
  EXPECT_TRUE(rc::check([&] {
    std::string text;
    for (const char32_t drawn : *rc::gen::container<std::u32string>(rc::gen::inRange<char32_t>(0, 0x11000))) {
      const char32_t c = drawn % 2 == 0 ? drawn % 0x80 : (drawn >= 0xD800 && drawn < 0xE000 ? 0x1F600 : drawn);
      append_utf8(text, c);
    }
    RC_ASSERT(bytes_of(tokenizer, tokenizer.encode(text)) == text);
  }));
}

INSTANTIATE_TEST_SUITE_P(Testdata, ByteLevelCodec, testing::Values("gpt2", "chatml", "roberta"));

TEST(TokenizerCodec, SentencePieceBytesAreTheTextAfterASpace) {
  const Tokenizer llama = Tokenizer::load(testdata() / "llama");
  for (const std::string& text : running_texts()) {
    std::string expected = text.empty() ? "" : " " + text;
    // The space mark cannot be distinguished from the same character in the text.
    const std::string mark = "▁";
    if (const std::size_t at = expected.find(mark); at != std::string::npos) expected.replace(at, mark.size(), " ");
    EXPECT_EQ(bytes_of(llama, llama.encode(text)), expected);
  }
  EXPECT_EQ(llama.bytes(llama.token_to_id("<0xE2>").value()), "\xe2");
  EXPECT_EQ(llama.bytes(llama.token_to_id("▁the").value()), " the");
  const Tokenizer unigram = Tokenizer::load(testdata() / "unigram");
  EXPECT_EQ(bytes_of(unigram, unigram.encode("The key to the table")), " the key to the table");
}

TEST(TokenizerCodec, HalfACharacterStaysHalf) {
  const Tokenizer gpt2 = Tokenizer::load(testdata() / "gpt2");
  const Encoding encoding = gpt2.encode("😀");
  ASSERT_EQ(encoding.tokens.size(), 4U);
  EXPECT_EQ(gpt2.bytes(encoding.tokens[0].id), "\xf0");
  EXPECT_EQ(gpt2.bytes(encoding.tokens[3].id), "\x80");
  EXPECT_EQ(gpt2.bytes(-1), "");
  EXPECT_EQ(gpt2.bytes(std::int64_t{1} << 40), "");
  EXPECT_EQ(gpt2.bytes(static_cast<std::int64_t>(gpt2.id_limit())), "");
}

TEST(TokenizerCodec, WordPiecesFollowASpace) {
  const Tokenizer bert = Tokenizer::load(testdata() / "bert", "bert");
  EXPECT_EQ(bert.bytes(bert.token_to_id("##s").value()), "s");
  EXPECT_EQ(bytes_of(bert, bert.encode("The key, cafes.")), " the key , cafes .");
}

TEST(TokenizerCodec, SpecialTokensAddNothing) {
  const Tokenizer chatml = Tokenizer::load(testdata() / "chatml");
  const Encoding encoding = chatml.encode("<|im_start|>user\nHi <think><|im_end|>");
  EXPECT_EQ(bytes_of(chatml, encoding), "user\nHi <think>");
  for (const char* piece : {"<|im_start|>", "<|im_end|>", "<|endoftext|>"}) {
    const std::int64_t id = chatml.token_to_id(piece).value();
    EXPECT_TRUE(chatml.is_special(id)) << piece;
    EXPECT_EQ(chatml.bytes(id), "") << piece;
  }
  const std::int64_t think = chatml.token_to_id("<think>").value();
  EXPECT_FALSE(chatml.is_special(think));
  EXPECT_EQ(chatml.bytes(think), "<think>");
  EXPECT_FALSE(chatml.is_special(chatml.token_to_id("a").value()));
  EXPECT_FALSE(chatml.is_special(-1));
  EXPECT_FALSE(chatml.is_special(1000000));
  const Tokenizer bert = Tokenizer::load(testdata() / "bert", "bert");
  for (const char* piece : {"[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]"}) {
    EXPECT_TRUE(bert.is_special(bert.token_to_id(piece).value())) << piece;
  }
}

class DecoderFolder : public ModelFolder {
 protected:
  std::vector<std::int64_t> ends() const {
    const Tokenizer tokenizer = Tokenizer::load(folder_);
    std::vector<std::int64_t> result;
    for (std::int64_t id = -1; id < 10; ++id) {
      if (tokenizer.is_end(id)) result.push_back(id);
    }
    return result;
  }
};

TEST_F(DecoderFolder, EndsComeFromTheFirstFileThatNamesThem) {
  using Ids = std::vector<std::int64_t>;
  copy_from("chatml", "tokenizer.json");
  EXPECT_EQ(ends(), Ids{});
  write("tokenizer_config.json", R"({"eos_token": "<|endoftext|>"})");
  EXPECT_EQ(ends(), Ids{0});
  write("special_tokens_map.json", R"({"eos_token": {"content": "<|im_end|>"}})");
  EXPECT_EQ(ends(), Ids{2});
  write("config.json", R"({"eos_token_id": 5})");
  EXPECT_EQ(ends(), Ids{5});
  write("generation_config.json", R"({"eos_token_id": [7, 6]})");
  EXPECT_EQ(ends(), (Ids{6, 7}));
  write("generation_config.json", R"({"eos_token_id": null})");
  EXPECT_EQ(ends(), Ids{5});
  for (const char* wrong : {"-1", "1.5", "\"</s>\"", "[[1]]", "{}", "true", "4294967296"}) {
    expect_refused("generation_config.json", fmt::format(R"({{"eos_token_id": {}}})", wrong), "eos_token_id");
    expect_mentions(load_error(), "generation_config.json");
  }
  expect_refused("generation_config.json", "[", "JSON");
}

TEST_F(DecoderFolder, Gpt2FilesHaveNoTemplate) {
  copy_from("gpt2", "vocab.json");
  copy_from("gpt2", "merges.txt");
  const std::string text = "The keys\tto";
  const std::vector<std::int64_t> expected = ids_of(Tokenizer::load(testdata() / "gpt2").encode(text));
  for (const char* type : {"gpt2", ""}) {
    const Tokenizer tokenizer = Tokenizer::load(folder_, type);
    EXPECT_EQ(ids_of(tokenizer.encode(text)), expected) << type;
    const std::int64_t end = tokenizer.token_to_id("<|endoftext|>").value();
    EXPECT_TRUE(tokenizer.is_end(end));
    EXPECT_TRUE(tokenizer.is_special(end));
    EXPECT_EQ(ids_of(tokenizer.encode("a<|endoftext|>")).back(), end);
    EXPECT_EQ(tokenizer.mask_id(), std::nullopt);
  }
  expect_mentions(load_error("roberta"), "<s>");
  expect_mentions(load_error("qwen2"), "tokenizer.json");
  write("tokenizer_config.json", R"({"tokenizer_class": "GPT2TokenizerFast"})");
  EXPECT_EQ(ids_of(Tokenizer::load(folder_, "llama").encode(text)), expected);

  write("tokenizer_config.json", R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true})");
  const Tokenizer with_start = Tokenizer::load(folder_, "gpt2");
  const std::int64_t start = with_start.token_to_id("<|endoftext|>").value();
  EXPECT_EQ(ids_of(with_start.encode("a")).front(), start);
  const Encoding pair = with_start.encode("a", "a");
  ASSERT_EQ(pair.tokens.size(), 4U);
  EXPECT_EQ(pair.tokens[2].id, start);
  EXPECT_EQ(pair.tokens[3].type_id, 1);
  write("tokenizer_config.json",
        R"({"tokenizer_class": "GPT2Tokenizer", "add_bos_token": true, "bos_token": "<none>"})");
  expect_mentions(load_error("gpt2"), "<none>");
}

}  // namespace
}  // namespace attnflow::tokenizer_codec_test
