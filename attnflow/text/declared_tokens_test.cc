// Tokens declared by the files next to a vocabulary. The expected ids are those of transformers 5.24;
// tests/families/test_declared_tokens.py compares them for more vocabularies.
#include "attnflow/text/declared_tokens.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "attnflow/text/model_folder_for_test.h"

namespace attnflow::declared_tokens_test {
namespace {

using nlohmann::json;

using Ids = std::vector<std::int64_t>;

json special(std::uint64_t id, const char* content) {
  return {{"id", id},        {"content", content},  {"single_word", false}, {"lstrip", false},
          {"rstrip", false}, {"normalized", false}, {"special", true}};
}

class DeclaredTokens : public ModelFolder {
 protected:
  void write_tokenizer() const {
    json pieces;
    for (const char* piece : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "key", "lost"}) {
      pieces[piece] = pieces.size();
    }
    const json document = {
        {"version", "1.0"},
        {"added_tokens",
         {special(0, "[PAD]"), special(1, "[UNK]"), special(2, "[CLS]"), special(3, "[SEP]"), special(4, "[MASK]")}},
        {"normalizer", {{"type", "Lowercase"}}},
        {"pre_tokenizer", {{"type", "BertPreTokenizer"}}},
        {"post_processor", {{"type", "BertProcessing"}, {"sep", {"[SEP]", 3}}, {"cls", {"[CLS]", 2}}}},
        {"decoder", nullptr},
        {"model",
         {{"type", "WordPiece"},
          {"unk_token", "[UNK]"},
          {"continuing_subword_prefix", "##"},
          {"max_input_chars_per_word", 100},
          {"vocab", pieces}}}};
    write("tokenizer.json", document.dump());
  }

  void declare(const json& files) {
    for (const char* name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
      std::filesystem::remove(folder_ / name);
      if (files.contains(name)) write(name, files.at(name).dump());
    }
  }

  Ids ids(const std::string& text, const std::string& model_type = "") const {
    return ids_of(Tokenizer::load(folder_, model_type).encode(text));
  }
};

constexpr const char* kConfig = "tokenizer_config.json";
constexpr const char* kMap = "special_tokens_map.json";
constexpr const char* kAdded = "added_tokens.json";

TEST_F(DeclaredTokens, HaveTheIdsOfTransformers) {
  write_tokenizer();
  const json entity = {{"content", "[ENT]"}};
  const json spaced = {{"content", "[ENT]"}, {"lstrip", true}, {"rstrip", true}, {"special", true}};
  const std::vector<std::string> two = {"<a>", "[ENT]"};
  struct Row {
    json files;
    Ids ids;  // of "the [ENT] key"
  };
  const Ids apart = {2, 5, 1, 1, 1, 6, 3};
  const Ids first = {2, 5, 8, 6, 3};
  const Ids second = {2, 5, 9, 6, 3};
  const std::vector<Row> rows = {
      {json::object(), apart},
      {{{kConfig, {{"added_tokens_decoder", {{"8", entity}}}}}}, first},
      {{{kConfig, {{"added_tokens_decoder", {{"8", spaced}}}}}}, first},
      {{{kConfig, {{"added_tokens_decoder", {{"8", {{"content", "<a>"}}}, {"9", entity}}}}}}, second},
      {{{kAdded, {{"[ENT]", 8}}}}, first},
      {{{kAdded, {{"[ENT]", 9}, {"<a>", 8}}}}, second},
      {{{kConfig, {{"additional_special_tokens", two}}}}, second},
      {{{kConfig, {{"extra_special_tokens", two}}}}, second},
      {{{kConfig, {{"extra_special_tokens", {{"b_token", "[ENT]"}}}, {"a_token", "<a>"}}}}, second},
      {{{kConfig, {{"extra_special_tokens", {"[ENT]"}}, {"additional_special_tokens", two}}}}, first},
      {{{kMap, {{"additional_special_tokens", two}}}}, second},
      {{{kMap, {{"mask_token", "[ENT]"}, {"pad_token", "<a>"}}}}, second},
      {{{kMap, {{"mask_token", nullptr}}}, {kConfig, {{"mask_token", "[ENT]"}}}}, apart},
      {{{kMap, {{"mask_token", "[ENT]"}}}, {kConfig, {{"added_tokens_decoder", json::object()}}}}, apart},
      {{{kConfig, {{"image_token", "<a>"}, {"mask_token", "[ENT]"}}}}, first},
      {{{kConfig, {{"z_token", "<a>"}, {"b_token", "[ENT]"}}}}, first},  // nlohmann writes keys in sorted order
      {{{kConfig, {{"cls_token", "[ENT]"}}}}, first},
      {{{kConfig, {{"mask_token", "[ENT]"}, {"split_special_tokens", true}}}}, apart},
  };
  for (const Row& row : rows) {
    declare(row.files);
    EXPECT_EQ(ids("the [ENT] key"), row.ids) << row.files;
  }
  declare(json::object());
  write(kConfig, R"({"z_token": "<a>", "b_token": "[ENT]"})");
  EXPECT_EQ(ids("the [ENT] key"), second);
}

TEST_F(DeclaredTokens, TakeTheirSpacesAndMakePiecesSpecial) {
  write_tokenizer();
  declare({{kConfig, {{"additional_special_tokens", {"lost"}}, {"split_special_tokens", false}}}});
  const Encoding encoding = Tokenizer::load(folder_).encode("thelost lost");
  EXPECT_EQ(ids_of(encoding), (Ids{2, 5, 7, 7, 3}));
  EXPECT_TRUE(encoding.tokens[2].special);
  declare({{kConfig, {{"split_special_tokens", true}}}});
  EXPECT_EQ(ids("the [MASK]"), (Ids{2, 5, 1, 1, 1, 3}));
}

TEST_F(DeclaredTokens, BeyondTheModelsRowsCountOnlyWhereTheyAreUsed) {
  write_tokenizer();
  declare({{kConfig, {{"pad_token", "<pad>"}}}, {kAdded, {{"[ENT]", 8}}}});
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.id_limit(), 8U);
  EXPECT_EQ(tokenizer.token_to_id("<pad>"), 9);
  EXPECT_EQ(tokenizer.token_to_id("[ENT]"), 8);
}

TEST_F(DeclaredTokens, WithAnIdThatTheVocabularyDoesNotGiveAreRefused) {
  write_tokenizer();
  for (const json& files : {json{{kConfig, {{"added_tokens_decoder", {{"11", {{"content", "[ENT]"}}}}}}}},
                            json{{kAdded, {{"[ENT]", 11}}}}}) {
    declare(files);
    expect_mentions(load_error(),
                    "\"[ENT]\" is declared with id 11 in added_tokens.json or tokenizer_config.json, but "
                    "the vocabulary gives it 8");
  }
}

// These classes put the tokens from their settings around a text, regardless of tokenizer.json.
TEST_F(DeclaredTokens, ThatBelongAroundATextMustStandThere) {
  write_tokenizer();
  declare({{kConfig, {{"cls_token", "[ENT]"}, {"sep_token", "[SEP]"}, {"tokenizer_class", "BertTokenizer"}}}});
  const std::string message = load_error();
  expect_mentions(message, "as cls_token one of the tokens");
  expect_mentions(message, "(\"[CLS]\", \"[SEP]\"), found \"[ENT]\"");
  declare({{kConfig, {{"cls_token", "[ENT]"}}}});
  expect_mentions(load_error("bert"), "as cls_token");
  EXPECT_EQ(ids("the key", "llama"), (Ids{2, 5, 6, 3}));
  declare({{kConfig, {{"cls_token", "[ENT]"}, {"tokenizer_class", "PreTrainedTokenizerFast"}}}});
  EXPECT_EQ(ids("the key", "bert"), (Ids{2, 5, 6, 3}));
}

// BertTokenizer takes only the vocabulary from a tokenizer.json; the added_tokens_decoder lists every other token.
TEST_F(DeclaredTokens, OfAClassOfItsOwnAreThoseOfTheDecoder) {
  write_tokenizer();
  json document = read_json(folder_ / "tokenizer.json");
  document["added_tokens"].push_back(special(8, "[ENT]"));
  write("tokenizer.json", document.dump());
  const json none = {{"added_tokens_decoder", {{"4", special(4, "[MASK]")}}}};
  declare({{kConfig, none}});
  EXPECT_EQ(ids("the [ENT] key", "llama"), (Ids{2, 5, 8, 6, 3}));
  EXPECT_EQ(ids("the [ENT] key", "bert"), (Ids{2, 5, 1, 1, 1, 6, 3}));
}

TEST_F(DeclaredTokens, OfSeveralFilesAreRefused) {
  write_tokenizer();
  declare({{kConfig, {{"fast_tokenizer_files", {"tokenizer.json"}}}}});
  EXPECT_EQ(ids("the key"), (Ids{2, 5, 6, 3}));
  declare({{kConfig, {{"fast_tokenizer_files", {"tokenizer.json", "tokenizer.4.0.json"}}}}});
  expect_mentions(load_error(), "tokenizer.json alone as fast_tokenizer_files, found \"tokenizer.4.0.json\"");
}

TEST_F(DeclaredTokens, BesideVocabularyFiles) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nkey\n");
  declare({{kConfig, {{"additional_special_tokens", {"[ENT]"}}, {"bos_token", "<a>"}}}});
  EXPECT_EQ(ids("the [ENT] key <a>", "bert"), (Ids{2, 5, 8, 6, 7, 3}));
}

}  // namespace
}  // namespace attnflow::declared_tokens_test
