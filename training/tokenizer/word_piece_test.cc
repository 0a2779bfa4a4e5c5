// Tests the tokenizers crate's options through the resulting tokenizer; rust/src/tests.rs tests the learning.
#include "training/tokenizer/word_piece.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "attnflow/files/files_for_test.h"

namespace attnflow::word_piece_test {
namespace {

using test::expect_error;

using Texts = std::vector<std::string>;
using Types = std::vector<std::int64_t>;

const std::vector<std::string_view> kProse = {
    "The keys to the cabinets are new, and the key to the cabinet is old.",
    "Drawing keys, drawing cabinets; drawings of cats and of a cat.",
    "The cats are drawing. The cat is drawn: the drawings are old, and the cabinets' keys are new.",
};

TokenizerFiles learn(WordPieceOptions options = {}) {
  options.pieces = 150;
  options.min_character_count = 1;
  return learn_word_piece(kProse, options);
}

Texts texts_of(const Encoding& encoding) {
  Texts texts;
  for (const EncodedToken& token : encoding.tokens) texts.push_back(token.text);
  return texts;
}

Types types_of(const Encoding& encoding) {
  Types types;
  for (const EncodedToken& token : encoding.tokens) types.push_back(token.type_id);
  return types;
}

TEST(WordPiece, TheVerbModelHasClsInFrontAndNothingBehind) {
  const Tokenizer tokenizer = open_tokenizer(learn());
  EXPECT_LE(tokenizer.vocabulary_size(), 150U);
  EXPECT_EQ(tokenizer.id_limit(), tokenizer.vocabulary_size());
  EXPECT_EQ(tokenizer.mask_id(), 4);
  EXPECT_EQ(tokenizer.id_to_token(kSpecialTokens - 1), "[MASK]");
  EXPECT_FALSE(tokenizer.is_special(kSpecialTokens));

  const Encoding encoding = tokenizer.encode("The KEYS to");
  EXPECT_EQ(texts_of(encoding), (Texts{"[CLS]", "the", "keys", "to"}));
  EXPECT_TRUE(encoding.tokens[0].special);
  EXPECT_EQ(encoding.tokens[0].word, std::nullopt);
  const Encoding pair = tokenizer.encode("the keys", "to");
  EXPECT_EQ(texts_of(pair), (Texts{"[CLS]", "the", "keys", "[SEP]", "to"}));
  EXPECT_EQ(types_of(pair), (Types{0, 0, 0, 0, 0}));
}

TEST(WordPiece, BertHasSepBehind) {
  const Tokenizer tokenizer = open_tokenizer(learn({.token_template = TokenTemplate::kClsTextSep}));
  EXPECT_EQ(texts_of(tokenizer.encode("the keys")), (Texts{"[CLS]", "the", "keys", "[SEP]"}));
  const Encoding pair = tokenizer.encode("the keys", "to [MASK]");
  EXPECT_EQ(texts_of(pair), (Texts{"[CLS]", "the", "keys", "[SEP]", "to", "[MASK]", "[SEP]"}));
  EXPECT_EQ(types_of(pair), (Types{0, 0, 0, 0, 1, 1, 1}));
}

TEST(WordPiece, NormalizesSplitsAndKnowsWhatItDoesNotKnow) {
  const Tokenizer tokenizer = open_tokenizer(learn());
  // Accents are removed, punctuation is separate, control characters vanish, no-break spaces are spaces.
  EXPECT_EQ(texts_of(tokenizer.encode("Th\xC3\xA9,\xC2\xA0the'\x01keys\xE2\x80\x99")),
            (Texts{"[CLS]", "the", ",", "the", "'", "keys", "[UNK]"}));
  EXPECT_EQ(texts_of(tokenizer.encode(std::string(101, 'a'))), (Texts{"[CLS]", "[UNK]"}));
  EXPECT_GT(texts_of(tokenizer.encode(std::string(100, 'a'))).size(), 2U);
}

TEST(WordPiece, ConfigNamesTheSpecialTokens) {
  const auto config = nlohmann::json::parse(learn({.max_tokens = 64}).config);
  EXPECT_EQ(config.at("tokenizer_class"), "PreTrainedTokenizerFast");
  EXPECT_EQ(config.at("model_max_length"), 64);
  EXPECT_EQ(config.at("mask_token"), "[MASK]");
  EXPECT_EQ(config.at("model_input_names"), (nlohmann::json{"input_ids", "attention_mask"}));
  const TokenizerFiles bert = learn({.token_template = TokenTemplate::kClsTextSep});
  EXPECT_EQ(nlohmann::json::parse(bert.config).at("model_input_names").size(), 3U);
}

TEST(WordPiece, SameTextsSameBytes) {
  const TokenizerFiles once = learn();
  EXPECT_EQ(once.tokenizer.back(), '\n');
  for (int i = 0; i < 5; ++i) EXPECT_EQ(learn().tokenizer, once.tokenizer);
}

TEST(WordPiece, VocabularyIsMeasuredInRunningWords) {
  const Tokenizer tokenizer = open_tokenizer(learn());
  const VocabularyUse use = measure_vocabulary(tokenizer, {"the keys, the \xE2\x80\x99", "", "zq the"});
  EXPECT_EQ(use.words, 7U);
  EXPECT_EQ(use.unknown, 1U);
  EXPECT_EQ(use.whole, 5U);   // all except the unknown word and "zq"
  EXPECT_EQ(use.pieces, 8U);  // "z", "##q"
  EXPECT_DOUBLE_EQ(use.whole_share(), 5.0 / 7.0);
  EXPECT_DOUBLE_EQ(use.pieces_per_word(), 8.0 / 7.0);
  EXPECT_EQ(measure_vocabulary(tokenizer, {}).whole_share(), 0.0);
}

TEST(WordPiece, RefusesWhatGivesNoVocabulary) {
  expect_error(ErrorKind::kUsage, {"vocabulary", "found none"}, [] { learn_word_piece({"", " "}); });
  expect_error(ErrorKind::kUsage, {"vocabulary", "found room for 20", "--vocabulary"},
               [] { learn_word_piece(kProse, {.pieces = 20, .min_character_count = 1}); });
  expect_error(ErrorKind::kUsage, {"not UTF-8 at byte 2"}, [] { learn_word_piece({"ab\xFF"}); });
}

}  // namespace
}  // namespace attnflow::word_piece_test
