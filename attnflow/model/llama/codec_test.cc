// Tests the tokenizers in GGUF files against the Hugging Face tokenizers that they were made from.
#include <gtest/gtest.h>

#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::codec_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::ids_of;
using test::load_small;

std::string joined(const TextCodec& codec, const std::vector<std::int64_t>& ids) {
  std::string text;
  for (const std::int64_t id : ids) text += codec.bytes(id);
  return text;
}

// Represents a partition of tokens into words by which neighbors belong together, for comparison.
std::vector<bool> joins(const std::vector<std::optional<std::size_t>>& words) {
  std::vector<bool> found;
  for (std::size_t i = 1; i < words.size(); ++i)
    found.push_back(words[i].has_value() && words[i - 1].has_value() && *words[i] == *words[i - 1]);
  return found;
}

TEST(LlamaCodec, EveryTextOfTheGoldenFiles) {
  std::size_t texts = 0;
  const Json index = test::gguf_index();
  for (const Json& model : index.at("models")) {
    const auto decoder = load_small(model.at("name"));
    const TextCodec* const codec = decoder->codec();
    ASSERT_NE(codec, nullptr);
    const bool sentence_piece = model.at("tokenizer") == "spm";
    for (const auto& [name, golden] : model.at("texts").items()) {
      SCOPED_TRACE(model.at("name").get<std::string>() + ": " + name);
      const auto text = golden.at("text").get<std::string>();
      const Encoding encoding = codec->encode(text);
      EXPECT_FALSE(encoding.truncated);
      ASSERT_EQ(ids_of(encoding), golden.at("ids").get<std::vector<std::int64_t>>());
      std::vector<std::optional<std::size_t>> words;
      std::vector<std::optional<std::size_t>> golden_words;
      std::size_t last_word = 0;
      for (std::size_t i = 0; i < encoding.tokens.size(); ++i) {
        SCOPED_TRACE(i);
        const EncodedToken& token = encoding.tokens[i];
        const bool is_template = golden.at("template")[i] == 1;
        EXPECT_EQ(token.special, golden.at("special")[i] == 1);
        EXPECT_EQ(token.begin.has_value(), !is_template);
        EXPECT_EQ(token.end.has_value(), !is_template);
        EXPECT_EQ(token.word.has_value(), !is_template);
        EXPECT_EQ(token.segment, 0U);
        if (is_template) continue;
        ASSERT_LE(*token.begin, *token.end);
        ASSERT_LE(*token.end, text.size());
        EXPECT_GE(*token.word, last_word);
        last_word = *token.word;
        words.push_back(token.word);
        const Json& golden_word = golden.at("word_ids")[i];
        golden_words.push_back(golden_word.is_null() ? std::nullopt : std::optional(golden_word.get<std::size_t>()));
        // Hugging Face's may have white space at the ends; halves of a character have the whole character in both.
        const auto begin = golden.at("offsets_bytes")[i][0].get<std::size_t>();
        const auto end = golden.at("offsets_bytes")[i][1].get<std::size_t>();
        if (text.substr(begin, end - begin).find_first_not_of(" \t\n\xE3\x80") != std::string::npos) {
          EXPECT_GE(*token.begin, begin);
          EXPECT_LE(*token.end, end);
          EXPECT_LT(*token.begin, *token.end);
        }
      }
      // Without a pre-tokenizer, Hugging Face counts the whole text as one word, and it splits accents off.
      if (!sentence_piece && name != "scripts") {
        EXPECT_EQ(joins(words), joins(golden_words));
      }
      ++texts;
    }
  }
  EXPECT_EQ(texts, 27U);
}

TEST(LlamaCodec, PiecesJoinToTheText) {
  for (const std::string model : {"llama", "gemma2"}) {
    const auto decoder = load_small(model);
    const TextCodec& codec = *decoder->codec();
    for (const std::string text :
         {"The key to the cabinets", "caf\xC3\xA9 \xF0\x9F\x99\x82 \xE9\x92\xA5\xE5\x8C\x99", "a\n\nb  c"}) {
      const std::string found = joined(codec, ids_of(codec.encode(text)));
      EXPECT_EQ(model == "gemma2" ? found.substr(1) : found, text);  // SentencePiece adds a space in front
    }
  }
}

TEST(LlamaCodec, SpecialTokens) {
  const auto decoder = load_small("llama");
  const TextCodec& codec = *decoder->codec();
  EXPECT_TRUE(codec.is_special(0));
  EXPECT_TRUE(codec.is_special(1));
  EXPECT_FALSE(codec.is_special(5));
  EXPECT_FALSE(codec.is_special(-1));
  EXPECT_FALSE(codec.is_special(100000));
  EXPECT_TRUE(codec.is_end(2));
  EXPECT_FALSE(codec.is_end(5));
  EXPECT_FALSE(codec.is_end(-1));
  EXPECT_EQ(codec.bytes(1), "");
  EXPECT_EQ(codec.readable(1), "<|im_start|>");
  EXPECT_EQ(codec.mask_id(), std::nullopt);
  EXPECT_EQ(codec.id_limit(), decoder->info().vocabulary);
  EXPECT_EQ(codec.source(), (test::golden_gguf() / "llama.gguf").string());
}

TEST(LlamaCodec, PiecesForPeople) {
  const auto decoder = load_small("llama");
  const TextCodec& codec = *decoder->codec();
  std::vector<std::string> shown;
  for (const EncodedToken& token : codec.encode("a \xF0\x9F\x99\x82").tokens) shown.push_back(codec.readable(token.id));
  EXPECT_EQ(shown, (std::vector<std::string>{"<|endoftext|>", "a", " ", "\\xF0", "\\x9F", "\\x99", "\\x82"}));
  const std::vector<std::int64_t> word = codec.word_to_ids("the");
  ASSERT_EQ(word.size(), 1U);
  EXPECT_EQ(codec.readable(word[0]), "the");
  EXPECT_EQ(codec.bytes(word[0]), " the");
  EXPECT_EQ(codec.readable(100000), "<id 100000>");
  EXPECT_EQ(codec.readable(-5), "<id -5>");
}

TEST(LlamaCodec, WordsStandBehindASpace) {
  for (const std::string model : {"llama", "gemma2"}) {
    SCOPED_TRACE(model);
    const auto decoder = load_small(model);
    const TextCodec& codec = *decoder->codec();
    for (const std::string word : {"the", "key", "caf\xC3\xA9", "x"}) {
      std::vector<std::int64_t> behind = ids_of(codec.encode("on the " + word));
      const std::vector<std::int64_t> ids = codec.word_to_ids(word);
      ASSERT_LE(ids.size(), behind.size());
      EXPECT_EQ(std::vector<std::int64_t>(behind.end() - static_cast<std::ptrdiff_t>(ids.size()), behind.end()), ids);
      EXPECT_EQ(joined(codec, ids), " " + word);
    }
  }
}

TEST(LlamaCodec, LongTextsAreCutAtTheEnd) {
  const auto decoder = load_small("llama");
  const TextCodec& codec = *decoder->codec();
  const std::string text = "The key to the cabinets is on the table.";
  const std::vector<std::int64_t> all = ids_of(codec.encode(text));
  EncodeOptions options;
  for (std::size_t limit = 1; limit < all.size(); ++limit) {
    options.max_tokens = limit;
    const Encoding cut = codec.encode(text, std::nullopt, options);
    EXPECT_TRUE(cut.truncated);
    EXPECT_EQ(ids_of(cut), std::vector<std::int64_t>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(limit)));
  }
  options.max_tokens = all.size();
  EXPECT_FALSE(codec.encode(text, std::nullopt, options).truncated);
  options.max_tokens = 0;
  expect_error(ErrorKind::kUsage, {"expected room for at least the 1 special tokens", "limit of 0"},
               [&] { codec.encode(text, std::nullopt, options); });
}

TEST(LlamaCodec, TextThatCannotBe) {
  const auto decoder = load_small("llama");
  const TextCodec& codec = *decoder->codec();
  expect_error(ErrorKind::kUsage, {"UTF-8", "0xFF", "offset 2"}, [&] { codec.encode("ab\xFF"); });
  expect_error(ErrorKind::kUsage, {"UTF-8", "word"}, [&] { codec.word_to_ids("\xC3"); });
  expect_error(ErrorKind::kUsage, {"pair"}, [&] { codec.encode("a", "b"); });
}

TEST(LlamaCodec, ChatsAreWrittenAsTheTemplateSays) {
  const auto decoder = load_small("llama");
  const Json index = test::gguf_index();
  std::size_t chats = 0;
  for (const Json& golden : index.at("chats")) {
    std::vector<ChatMessage> messages;
    for (const Json& message : golden.at("messages")) messages.push_back({message.at("role"), message.at("content")});
    EXPECT_EQ(decoder->codec()->chat(messages), golden.at("text").get<std::string>());
    ++chats;
  }
  EXPECT_EQ(chats, 3U);
  expect_error(ErrorKind::kUnsupportedModel, {"gemma2.gguf", "chat template"}, [] {
    load_small("gemma2")->codec()->chat({{"user", "Hello"}});
  });
}

}  // namespace
}  // namespace attnflow::codec_test
