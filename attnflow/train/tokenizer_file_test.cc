#include "attnflow/train/tokenizer_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "attnflow/files/files_for_test.h"
#include "attnflow/text/tokenizer.h"
#include "attnflow/train/word_piece.h"

namespace attnflow {
namespace {

using test::expect_error;
using test::get;
using test::TempFolder;

const std::vector<std::string>& small_pieces() {
  static const std::vector<std::string> pieces = {"[PAD]", "[UNK]", "[CLS]",    "[SEP]", "[MASK]",      "a",   "e",
                                                  "g",     "'",     "\"",       "##a",   "##d",         "##e", "##g",
                                                  "##s",   "##t",   "##ing",    "gad",   "##et",        "the", "key",
                                                  "to",    "are",   "\xC3\xA9", "t",     "\xE2\x80\x99"};
  return pieces;
}

std::vector<std::string> texts_of(const Encoding& encoding) {
  std::vector<std::string> texts;
  for (const EncodedToken& token : encoding.tokens) texts.push_back(token.text);
  return texts;
}

std::vector<std::int64_t> types_of(const Encoding& encoding) {
  std::vector<std::int64_t> types;
  for (const EncodedToken& token : encoding.tokens) types.push_back(token.type_id);
  return types;
}

Tokenizer load(const TempFolder& folder, TokenTemplate token_template) {
  write_tokenizer_files(folder.path(), small_pieces(), {.token_template = token_template});
  return Tokenizer::load(folder.path());
}

using Texts = std::vector<std::string>;
using Types = std::vector<std::int64_t>;

TEST(TokenizerFile, TheVerbModelHasClsInFrontAndNothingBehind) {
  const TempFolder folder;
  const Tokenizer tokenizer = load(folder, TokenTemplate::kClsText);
  EXPECT_EQ(tokenizer.vocabulary_size(), small_pieces().size());
  for (std::size_t id = 0; id < small_pieces().size(); ++id) {
    EXPECT_EQ(tokenizer.id_to_token(static_cast<std::int64_t>(id)), small_pieces()[id]);
  }
  EXPECT_EQ(tokenizer.mask_id(), 4);

  const Encoding encoding = tokenizer.encode("The key to the GADGETS");
  EXPECT_EQ(texts_of(encoding), (Texts{"[CLS]", "the", "key", "to", "the", "gad", "##g", "##et", "##s"}));
  EXPECT_EQ(encoding.tokens[0].id, 2);
  EXPECT_TRUE(encoding.tokens[0].special);
  EXPECT_EQ(encoding.tokens[0].word, std::nullopt);
  std::vector<std::optional<std::size_t>> words;
  for (const EncodedToken& token : encoding.tokens) words.push_back(token.word);
  EXPECT_EQ(words, (std::vector<std::optional<std::size_t>>{std::nullopt, 0, 1, 2, 3, 4, 4, 4, 4}));

  const Encoding pair = tokenizer.encode("the key", "to");
  EXPECT_EQ(texts_of(pair), (Texts{"[CLS]", "the", "key", "[SEP]", "to"}));
  EXPECT_EQ(types_of(pair), (Types{0, 0, 0, 0, 0}));
}

TEST(TokenizerFile, BertHasSepBehind) {
  const TempFolder folder;
  const Tokenizer tokenizer = load(folder, TokenTemplate::kClsTextSep);
  EXPECT_EQ(texts_of(tokenizer.encode("the key")), (Texts{"[CLS]", "the", "key", "[SEP]"}));
  const Encoding pair = tokenizer.encode("the key", "to [MASK]");
  EXPECT_EQ(texts_of(pair), (Texts{"[CLS]", "the", "key", "[SEP]", "to", "[MASK]", "[SEP]"}));
  EXPECT_EQ(types_of(pair), (Types{0, 0, 0, 0, 1, 1, 1}));
}

TEST(TokenizerFile, NormalizesSplitsAndKnowsWhatItDoesNotKnow) {
  const TempFolder folder;
  const Tokenizer tokenizer = load(folder, TokenTemplate::kClsText);
  // An accent goes, punctuation stands alone, control characters vanish, no-break spaces are spaces.
  EXPECT_EQ(texts_of(tokenizer.encode("T\xC3\xA9"
                                      "ed,\xC2\xA0the'\x01key\xE2\x80\x99")),
            (Texts{"[CLS]", "t", "##e", "##e", "##d", "[UNK]", "the", "'", "key", "\xE2\x80\x99"}));
  EXPECT_EQ(texts_of(tokenizer.encode(std::string(100, 'a'))).size(), 101U);
  EXPECT_EQ(texts_of(tokenizer.encode(std::string(101, 'a'))), (Texts{"[CLS]", "[UNK]"}));
  EXPECT_EQ(texts_of(tokenizer.encode("[MASK] [unk]")).at(1), "[MASK]");
}

TEST(TokenizerFile, WordPieceCutsAsTheTokenizerDoes) {
  const TempFolder folder;
  const Tokenizer tokenizer = load(folder, TokenTemplate::kClsText);
  const WordPiece word_piece(small_pieces());
  std::uint32_t state = 7;
  std::size_t unknown = 0;
  std::size_t cut = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string word;
    do {
      state = state * 1664525U + 1013904223U;
      word.push_back("adegtsinky"[(state >> 16) % 10]);
    } while ((state >> 8) % 6 != 0);
    const std::vector<std::uint32_t> ids = word_piece.cut(word);
    std::vector<std::int64_t> expected(ids.begin(), ids.end());
    if (ids.empty()) expected = {1};
    EXPECT_EQ(tokenizer.word_to_ids(word), expected) << word;
    ++(ids.empty() ? unknown : cut);
  }
  EXPECT_GT(unknown, 100U);
  EXPECT_GT(cut, 100U);
  EXPECT_TRUE(word_piece.cut("").empty());
  EXPECT_EQ(word_piece.cut(std::string(100, 'a')).size(), 100U);
  EXPECT_TRUE(word_piece.cut(std::string(101, 'a')).empty());
  EXPECT_EQ(word_piece.id("##s"), 14U);
  EXPECT_EQ(word_piece.id("s"), std::nullopt);
}

TEST(TokenizerFile, ConfigNamesTheSpecialTokens) {
  const auto config = nlohmann::json::parse(tokenizer_files(small_pieces(), {.max_tokens = 64}).config);
  EXPECT_EQ(config.at("tokenizer_class"), "PreTrainedTokenizerFast");
  EXPECT_EQ(config.at("model_max_length"), 64);
  EXPECT_EQ(config.at("mask_token"), "[MASK]");
  EXPECT_EQ(config.at("model_input_names"), (nlohmann::json{"input_ids", "attention_mask"}));
  const TokenizerFiles bert = tokenizer_files(small_pieces(), {.token_template = TokenTemplate::kClsTextSep});
  EXPECT_EQ(nlohmann::json::parse(bert.config).at("model_input_names").size(), 3U);
}

TEST(TokenizerFile, SameInputSameBytes) {
  const TempFolder folder;
  write_tokenizer_files(folder.path(), small_pieces());
  EXPECT_EQ(get(folder / "tokenizer.json"), tokenizer_files(small_pieces()).tokenizer);
  EXPECT_EQ(get(folder / "tokenizer_config.json"), tokenizer_files(small_pieces()).config);
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"tokenizer.json", "tokenizer_config.json"}));
}

TEST(TokenizerFile, RefusesPiecesThatMakeNoVocabulary) {
  std::vector<std::string> pieces = small_pieces();
  pieces.emplace_back("key");
  expect_error(ErrorKind::kUsage, {"each piece once", "\"key\" at ids 20 and 26"}, [&] { tokenizer_files(pieces); });
  pieces.back() = "";
  expect_error(ErrorKind::kUsage, {"UTF-8 text", "id 26"}, [&] { tokenizer_files(pieces); });
  pieces.back() = "\xFF";
  expect_error(ErrorKind::kUsage, {"UTF-8 text", "id 26"}, [&] { tokenizer_files(pieces); });
  pieces = small_pieces();
  pieces[3] = "[END]";
  expect_error(ErrorKind::kUsage, {"special tokens", "without [SEP]"}, [&] { tokenizer_files(pieces); });
  const TempFolder folder;
  expect_error(ErrorKind::kOther, {"missing"}, [&] { write_tokenizer_files(folder / "missing", small_pieces()); });
}

}  // namespace
}  // namespace attnflow
