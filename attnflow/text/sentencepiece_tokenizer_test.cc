#include "attnflow/text/sentencepiece_tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "attnflow/text/language_codes.h"
#include "attnflow/text/model_folder_for_test.h"
#include "attnflow/text/sentencepiece_families.h"
#include "attnflow/text/sentencepiece_for_test.h"

namespace attnflow::internal {
namespace {

using Ids = std::vector<std::int64_t>;

const std::vector<std::string> kPieces = {"▁", "▁the", "▁key", "s", "a", "e"};
const std::string kFairseqModel = sentencepiece({"<unk>", "<s>", "</s>"}, kPieces);
const std::string kT5Model = sentencepiece({"<pad>", "</s>", "<unk>"}, kPieces);

class SentencePieceFolder : public ModelFolder {
 protected:
  void write_class(const std::string& name, const std::string& more = "") const {
    write("tokenizer_config.json", fmt::format(R"({{"tokenizer_class": "{}"{}}})", name, more));
  }
  Tokenizer load(const std::string& model_type = "") const { return Tokenizer::load(folder_, model_type); }
  Ids encode(const std::string& text, const std::optional<std::string>& pair = std::nullopt,
             const std::string& model_type = "") const {
    return ids_of(load(model_type).encode(text, pair));
  }
};

TEST(SentencePieceFamilies, EachClassAndEachLanguageStandsOnce) {
  std::set<std::string> classes;
  for (const SentencePieceFamily& family : sentencepiece_families()) {
    for (const std::string& name : words_of(family.classes)) EXPECT_TRUE(classes.insert(name).second) << name;
    const std::vector<std::string> languages = words_of(family.languages);
    EXPECT_EQ(std::set<std::string>(languages.begin(), languages.end()).size(), languages.size()) << family.name;
    EXPECT_EQ(words_of(family.specials).size() % 2, 0U) << family.name;
  }
  EXPECT_EQ(words_of(kMbartLanguages).size(), 25U);
  EXPECT_EQ(words_of(kMbart50Languages).size(), 52U);
  EXPECT_EQ(words_of(kM2m100Languages).size(), 100U);
  EXPECT_EQ(words_of(kWmt21Languages).size(), 8U);
  EXPECT_EQ(words_of(kNllbLanguages).size(), 202U);
  EXPECT_EQ(words_of(" a  b "), (std::vector<std::string>{"a", "b"}));
}

TEST_F(SentencePieceFolder, T5HasItsSentinelsBehindThePieces) {
  write("spiece.model", kT5Model);
  write_class("T5TokenizerFast");
  EXPECT_EQ(encode("the keys"), (Ids{4, 5, 6, 1}));
  EXPECT_EQ(encode("  the\n key ", "z"), (Ids{4, 2, 5, 1, 3, 2, 1}));  // the character map would make "\n" a space
  EXPECT_EQ(encode("the<extra_id_0> a"), (Ids{4, 9 + 99, 3, 7, 1}));
  const Tokenizer tokenizer = load();
  EXPECT_EQ(tokenizer.source(), (folder_ / "spiece.model").string());
  EXPECT_EQ(tokenizer.token_to_id("<extra_id_99>"), 9);
  EXPECT_TRUE(tokenizer.is_special(9 + 99));
  EXPECT_TRUE(tokenizer.is_end(1));
  EXPECT_EQ(tokenizer.bytes(4), " the");
  EXPECT_EQ(tokenizer.readable(4), "the");
  write_class("T5Tokenizer", R"(, "extra_ids": 0)");
  EXPECT_EQ(load().id_limit(), 9U);
}

TEST_F(SentencePieceFolder, FairseqNumbersItsOwnSpecialPieces) {
  write("sentencepiece.bpe.model", kFairseqModel);
  write_class("XLMRobertaTokenizer");
  EXPECT_EQ(encode("the key"), (Ids{0, 5, 6, 2}));
  EXPECT_EQ(encode("the", "key"), (Ids{0, 5, 2, 2, 6, 2}));
  EXPECT_EQ(encode("the <mask>z"), (Ids{0, 5, 10, 4, 3, 2}));
  EXPECT_EQ(load().mask_id(), 10);
  write_class("CamembertTokenizer");
  EXPECT_EQ(encode("the key<mask>"), (Ids{5, 8, 9, 13, 6}));
  write_class("MBartTokenizer", R"(, "src_lang": "ro_RO")");
  const std::int64_t romanian = 10 + 19;
  EXPECT_EQ(encode("the", "key"), (Ids{5, 6, 2, romanian}));
  EXPECT_EQ(load().mask_id(), 10 + 25);
  write_class("MBart50Tokenizer");
  EXPECT_EQ(encode("the key"), (Ids{10 + 3, 5, 6, 2}));
  write_class("NllbTokenizer", R"(, "src_lang": "zul_Latn")");
  EXPECT_EQ(encode("the key"), (Ids{10 + 201, 5, 6, 2}));
  EXPECT_EQ(load().mask_id(), 10 + 202);
  write_class("NllbTokenizer", R"(, "legacy_behaviour": true)");
  EXPECT_EQ(encode("the"), (Ids{5, 2, *load().token_to_id("eng_Latn")}));
}

TEST_F(SentencePieceFolder, PegasusIsAHundredAndThreeFurther) {
  write("spiece.model", kT5Model);
  write_class("PegasusTokenizer");
  EXPECT_EQ(encode("the z<mask_1>", "key"), (Ids{107, 106, 105, 2, 108, 1}));
  EXPECT_EQ(load().token_to_id("<unk_102>"), 104);
  write_class("PegasusTokenizer", R"(, "offset": 0)");
  expect_mentions(load_error(), "expected 103 as Pegasus' offset, found 0");
}

TEST_F(SentencePieceFolder, BertsRelativesPrepareTheText) {
  write("spiece.model",
        sentencepiece({"<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]"}, {"▁", "\"", "▁the", "e", "1", "1,", ","}));
  write_class("AlbertTokenizer");
  EXPECT_EQ(encode("The  ``é''", "e [MASK]"), (Ids{2, 7, 5, 6, 8, 6, 3, 5, 8, 4, 3}));
  EXPECT_EQ(encode("1,"), (Ids{2, 5, 9, 11, 3}));
  EXPECT_EQ(load().encode("e", "e").tokens[4].type_id, 1);
  write_class("AlbertTokenizer", R"(, "do_lower_case": false, "keep_accents": true)");
  EXPECT_EQ(encode("The é"), (Ids{2, 5, 1, 8, 5, 1, 3}));
  write("spiece.model", sentencepiece({"<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"}, kPieces));
  write_class("XLNetTokenizer");
  const Encoding encoding = load().encode("the", "key");
  EXPECT_EQ(ids_of(encoding), (Ids{8, 4, 9, 4, 3}));
  EXPECT_EQ(encoding.tokens[4].type_id, 2);
  std::filesystem::rename(folder_ / "spiece.model", folder_ / "spm.model");
  write("spm.model", sentencepiece({"[PAD]", "[CLS]", "[SEP]", "[UNK]"}, kPieces));
  write("added_tokens.json", R"({"[MASK]": 10})");
  write_class("DebertaV2Tokenizer", R"(, "do_lower_case": true, "split_by_punct": true)");
  EXPECT_EQ(encode("THE-key[MASK]"), (Ids{1, 5, 4, 3, 6, 10, 2}));
  EXPECT_EQ(load().mask_id(), 10);
}

TEST_F(SentencePieceFolder, LlamaMergesAndPutsTokensAroundAsItIsTold) {
  const std::vector<std::string> pieces = {"ke", "y", "k", "e", "▁", "▁ke", "▁key"};
  write("tokenizer.model",
        sentencepiece({"<unk>", "<s>", "</s>"}, pieces, SentencePieceKind::kBpe) + bytes_field(3, number_field(4, 0)));
  EXPECT_EQ(encode("key", std::nullopt, "llama"), (Ids{1, 9}));
  EXPECT_EQ(encode(" key", "y", "llama"), (Ids{1, 7, 9, 1, 7, 4}));
  write_class("LlamaTokenizer");
  EXPECT_EQ(encode("key</s>key"), (Ids{1, 9, 2, 9}));
  write_class("LlamaTokenizer", R"(, "legacy": false, "add_bos_token": false, "add_eos_token": true)");
  EXPECT_EQ(encode("key</s>key"), (Ids{9, 2, 3, 4, 2}));
  write_class("LlamaTokenizer", R"(, "add_prefix_space": false)");
  EXPECT_EQ(encode("key"), (Ids{1, 3, 4}));
  write("added_tokens.json", R"({"<end>": 10})");
  write("special_tokens_map.json", R"({"pad_token": "<padding>"})");
  EXPECT_EQ(encode("y<end>y<padding>"), (Ids{1, 4, 10, 4, 11}));
  expect_refused("added_tokens.json", R"({"<end>": 12})", "declared with id 12");
}

TEST_F(SentencePieceFolder, GemmaPutsNoSpaceBefore) {
  write("tokenizer.model",
        sentencepiece({"<pad>", "<eos>", "<bos>", "<unk>"}, {"▁", "k", "▁k"}, SentencePieceKind::kBpe) +
            piece_field("<start_of_turn>", 0, PieceType::kUserDefined) +
            bytes_field(3, number_field(3, 0) + number_field(4, 0)));
  EXPECT_EQ(encode("k k  k<start_of_turn>", std::nullopt, "gemma2"), (Ids{2, 5, 6, 4, 6, 7}));
  EXPECT_TRUE(load("gemma2").is_special(7));
}

TEST_F(SentencePieceFolder, MarianHasIdsOfAListAndReadsCodesOfLanguages) {
  write("source.spm", kFairseqModel);
  write("target.spm", kFairseqModel);
  write("vocab.json",
        R"({"</s>": 0, "▁key": 1, "<unk>": 2, "▁the": 3, ">>fr<<": 4, "▁": 5, "▁clé": 6, "ß": 7, "<pad>": 8})");
  EXPECT_EQ(encode(">>fr<< the key"), (Ids{4, 3, 1, 0}));
  EXPECT_EQ(encode("ß </s>the", "key"), (Ids{5, 7, 0, 3, 1, 0}));
  EXPECT_EQ(encode("<s>"), (Ids{5, 2, 2, 2, 0}));  // text never matches SentencePiece's own; "s" is not listed
  const Tokenizer tokenizer = load("marian");
  EXPECT_EQ(tokenizer.bytes(6), " clé");
  EXPECT_EQ(tokenizer.spelled(6), "▁clé");
  EXPECT_TRUE(tokenizer.is_end(0));
  expect_mentions(tokenizer.source(), "source.spm with vocab.json");
  // A target is cut into pieces of its own file.
  EXPECT_EQ(ids_of(tokenizer.encode_target("the key")), (Ids{3, 1, 0}));
  write("target.spm", sentencepiece({"<unk>", "<s>", "</s>"}, {"▁", "▁clé", "ß"}));
  EXPECT_EQ(ids_of(tokenizer.encode_target("clé")), (Ids{6, 0}));
  EXPECT_EQ(ids_of(tokenizer.encode_target("key")), (Ids{5, 2, 0}));
  EXPECT_EQ(encode("key"), (Ids{1, 0}));
  write_class("MarianTokenizer", R"(, "separate_vocabs": true)");
  expect_mentions(load_error(), "one vocabulary for source and target");
  write_class("MarianTokenizer");
  expect_refused("vocab.json", R"({"</s>": 0, "<unk>": 0})", "expected each id once");
  expect_refused("vocab.json", R"({"</s>": 0})", "expected the unk_token \"<unk>\", found a vocabulary without it");
  std::filesystem::remove(folder_ / "target.spm");
  expect_mentions(load_error(), "expected target.spm for a MarianTokenizer, found none");
}

TEST_F(SentencePieceFolder, M2m100HasItsLanguagesBehindTheList) {
  write("sentencepiece.bpe.model", kFairseqModel);
  write("vocab.json", R"({"<s>": 0, "<pad>": 1, "</s>": 2, "<unk>": 3, "▁key": 4, "▁the": 5})");
  EXPECT_EQ(encode("the key"), (Ids{6 + 18, 5, 4, 2}));
  write_class("M2M100Tokenizer", R"(, "src_lang": "zu")");
  EXPECT_EQ(encode("the key", "__af__ s"), (Ids{6 + 99, 5, 4, 6, 3, 3, 2}));
  write_class("M2M100Tokenizer", R"(, "src_lang": "de", "language_codes": "wmt21")");
  EXPECT_EQ(encode("the"), (Ids{6 + 7, 5, 2}));
  write_class("M2M100Tokenizer", R"(, "src_lang": "xx")");
  expect_mentions(load_error(), "expected a language code of M2M100 as src_lang, found \"xx\"");
}

TEST_F(SentencePieceFolder, TheFamilyIsSaidOrAskedFor) {
  expect_refused("spiece.model", kT5Model,
                 "spiece.model: expected a tokenizer_class that says which family this file belongs to");
  expect_mentions(load_error(), "name the class in tokenizer_config.json");
  expect_mentions(load_error("roberta"), "found none, and the model type \"roberta\"");
  EXPECT_EQ(encode("the", std::nullopt, "mt5"), (Ids{4, 1}));
  EXPECT_EQ(encode("the", std::nullopt, "pegasus"), (Ids{107, 1}));
  write("config.json", R"({"tokenizer_class": "PegasusTokenizer"})");
  EXPECT_EQ(encode("the", std::nullopt, "t5"), (Ids{107, 1}));
  write_class("PreTrainedTokenizerFast");
  EXPECT_EQ(encode("the", std::nullopt, "t5"), (Ids{107, 1}));
  write_class("T5Tokenizer");
  EXPECT_EQ(encode("the", std::nullopt, "pegasus"), (Ids{4, 1}));
  write_class("BigBirdTokenizer");
  expect_mentions(load_error("t5"), "found \"BigBirdTokenizer\"");
  write_class("LlamaTokenizer");
  expect_mentions(load_error("t5"), "expected tokenizer.model for a LlamaTokenizer, found none");
  std::filesystem::remove(folder_ / "tokenizer_config.json");
  std::filesystem::remove(folder_ / "config.json");
  expect_mentions(load_error("llama"), "expected tokenizer.model for a model of type llama, found none");
}

TEST_F(SentencePieceFolder, AnotherTokenizerWins) {
  write("spiece.model", "damaged");
  write_class("T5Tokenizer");
  expect_mentions(load_error(), "spiece.model: expected a SentencePiece model");
  copy_from("unigram", "tokenizer.json");
  expect_mentions(load().source(), "tokenizer.json");
}

TEST_F(SentencePieceFolder, WhatNoTokenizerHereDoesIsRefused) {
  const auto refused = [&](const std::string& more) {
    write("spiece.model", kT5Model + more);
    return load_error("t5");
  };
  const auto trainer = [](std::uint64_t field, std::uint64_t value) {
    return bytes_field(2, number_field(field, value));
  };
  expect_mentions(refused(trainer(3, 3)), "expected a model of type unigram or BPE, found word");
  expect_mentions(refused(trainer(24, 1)), "treat_whitespace_as_suffix");
  expect_mentions(refused(bytes_field(3, number_field(5, 0))), "escape_whitespaces");
  expect_mentions(refused(piece_field("x", 0, PieceType::kUnused)), "expected pieces that are used, found \"x\"");
  expect_mentions(refused(piece_field("<extra_id_5>")), "expected pieces that differ, found \"<extra_id_5>\" twice");
}

TEST_F(SentencePieceFolder, PiecesOfAnotherFamilyAreNoticed) {
  write("sentencepiece.bpe.model", sentencepiece({"<unk>"}, kPieces));
  write_class("XLMRobertaTokenizer");
  expect_mentions(load_error(), "expected the first 3 pieces to be special, as in XLM-R, found \"▁\" as piece 1");
  write("sentencepiece.bpe.model", sentencepiece({"<unk>", "<s>"}, {}));
  EXPECT_EQ(encode("a"), (Ids{0, 3, 2}));
  write("source.spm", kFairseqModel + piece_field("x", 0, PieceType::kUserDefined));
  write("target.spm", kFairseqModel);
  write("vocab.json", R"({"</s>": 0, "<unk>": 1})");
  write_class("MarianTokenizer");
  expect_mentions(load_error(), "expected only trained pieces, as in Marian, found \"x\"");
}

TEST_F(SentencePieceFolder, UserDefinedPiecesNeedTextsWithoutASpaceBefore) {
  const std::string defined = kT5Model + piece_field("(", 0, PieceType::kUserDefined);
  write("spiece.model", defined);
  write_class("T5Tokenizer");
  expect_mentions(load_error(), "expected no user-defined pieces where a space is put before the text, found \"(\"");
  write("spiece.model", kT5Model + piece_field("▁<x>", 0, PieceType::kUserDefined));  // mT5 has such a piece
  EXPECT_EQ(encode("the"), (Ids{4, 1}));
  write("spiece.model", defined + bytes_field(3, number_field(3, 0)));  // no space before
  EXPECT_NO_THROW(load());
}

TEST_F(SentencePieceFolder, FileNamesSayTheFamilyWhereNothingElseDoes) {
  write("spm.model", sentencepiece({"[PAD]", "[CLS]", "[SEP]", "[UNK]"}, kPieces));
  EXPECT_EQ(encode("the", std::nullopt, "bert").front(), 1);
  write("sentencepiece.bpe.model", kFairseqModel);
  std::filesystem::remove(folder_ / "spm.model");
  expect_mentions(load_error("mbart"), "expected a tokenizer_class");  // mBART-50 has the same model type
}

TEST_F(SentencePieceFolder, SpacesAreThoseOfTheFile) {
  write("spiece.model",
        sentencepiece({"<pad>", "</s>", "<unk>"}, {"▁", "a", "▁a", "a▁b"}) + bytes_field(3, number_field(4, 0)));
  EXPECT_EQ(encode(" a  b", std::nullopt, "t5"), (Ids{3, 5, 3, 3, 2, 1}));
  EXPECT_EQ(encode("a b", std::nullopt, "t5"), (Ids{3, 6, 1}));
  write("spiece.model",
        sentencepiece({"<pad>", "</s>", "<unk>"}, {"▁", "a", "▁a"}) + bytes_field(3, number_field(3, 0)));
  EXPECT_EQ(encode("  a  a ", std::nullopt, "t5"), (Ids{4, 5, 1}));
}

}  // namespace
}  // namespace attnflow::internal
