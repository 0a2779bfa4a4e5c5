#include "attnflow/text/tokenizer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "attnflow/base/error.h"
#include "attnflow/text/model_folder_for_test.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::tokenizer_test {
namespace {

using test::expect_error;

namespace fs = std::filesystem;
using nlohmann::json;

json as_json(const EncodedToken& token) {
  const auto optional = [](const std::optional<std::size_t>& value) { return value ? json(*value) : json(nullptr); };
  return json::array({token.id, token.text, optional(token.begin), optional(token.end), token.special,
                      optional(token.word), token.segment, token.type_id});
}

std::optional<std::string> optional_text(const json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<std::string>();
}

// Checks everything that the Python packages reported for this tokenizer. `added` is the number of special tokens that
// transformers adds for the model's class when the vocabulary lacks them.
void expect_as_in_python(const Tokenizer& tokenizer, const fs::path& expected_path, std::size_t added = 0) {
  const json expected = read_json(expected_path);
  ASSERT_GT(expected.at("cases").size(), 20U);
  EXPECT_EQ(tokenizer.vocabulary_size(), expected.at("vocabulary_size").get<std::size_t>() + added);
  for (const json& example : expected.at("cases")) {
    const std::string text = example.at("text");
    const Encoding encoding = tokenizer.encode(text, optional_text(example.at("pair")));
    EXPECT_FALSE(encoding.truncated);
    json found = json::array();
    for (const EncodedToken& token : encoding.tokens) found.push_back(as_json(token));
    EXPECT_EQ(found.dump(), example.at("tokens").dump()) << json(text).dump();
  }
  for (const json& example : expected.at("truncations")) {
    const Encoding encoding = tokenizer.encode(example[0].get<std::string>(), optional_text(example[1]),
                                               {.max_tokens = example[2].get<std::size_t>()});
    EXPECT_EQ(json(ids_of(encoding)), example[3]);
    EXPECT_EQ(encoding.truncated,
              ids_of(tokenizer.encode(example[0].get<std::string>(), optional_text(example[1]))) != ids_of(encoding));
  }
  for (const auto& [word, ids] : expected.at("words").items())
    EXPECT_EQ(json(tokenizer.word_to_ids(word)), ids) << word;
}

using ContradictedTokenizer = ModelFolder;

TEST_F(ContradictedTokenizer, IsRefusedByBothFiles) {
  const auto check = [&](const std::string& tokenizer_class, const json& settings,
                         const std::vector<std::string>& words) {
    json config = settings;
    if (!tokenizer_class.empty()) config["tokenizer_class"] = tokenizer_class;
    write("tokenizer_config.json", config.dump());
    if (words.empty()) {
      EXPECT_NO_THROW((void)Tokenizer::load(folder_)) << config;
      return;
    }
    const std::string message = load_error();
    expect_mentions(message, (folder_ / "tokenizer_config.json").string());
    expect_mentions(message, (folder_ / "tokenizer.json").string());
    for (const std::string& word : words) expect_mentions(message, word);
  };
  copy_from("llama", "tokenizer.json");
  for (const char* family : {"LlamaTokenizer", "LlamaTokenizerFast", ""}) {
    check(family, {{"add_prefix_space", false}}, {"add_prefix_space true", "found false"});
    check(family, {{"add_prefix_space", true}}, {});
    check(family, {{"add_prefix_space", nullptr}}, {});
  }
  // With the general class, tokenizer.json decides everything; with any class, it decides the tokens around a text.
  check("PreTrainedTokenizerFast", {{"add_prefix_space", false}}, {});
  check("TokenizersBackend", {{"add_prefix_space", false}}, {});
  const std::vector<std::int64_t> usual = ids_of(Tokenizer::load(folder_).encode("a key"));
  for (const bool begin : {true, false}) {
    check("LlamaTokenizer", {{"add_bos_token", begin}, {"add_eos_token", !begin}, {"eos_token", "</s>"}}, {});
    EXPECT_EQ(ids_of(Tokenizer::load(folder_).encode("a key")), usual);
  }

  json document = read_json(testdata() / "llama" / "tokenizer.json");
  document["normalizer"] = {{"type", "BertNormalizer"},
                            {"clean_text", true},
                            {"handle_chinese_chars", true},
                            {"strip_accents", nullptr},
                            {"lowercase", true}};
  write("tokenizer.json", document.dump());
  check("BertTokenizer", {{"do_lower_case", false}}, {"do_lower_case true", "found false"});
  check("BertTokenizer", {{"do_lower_case", true}}, {});
  check("", {{"do_lower_case", false}}, {"do_lower_case true"});
  check("BertTokenizer", {{"strip_accents", false}}, {"strip_accents true", "found false"});
  check("BertTokenizer", {{"strip_accents", nullptr}, {"tokenize_chinese_chars", true}}, {});
  check("BertTokenizer", {{"tokenize_chinese_chars", false}}, {"tokenize_chinese_chars true", "found false"});
  document["normalizer"]["lowercase"] = false;
  document["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  write("tokenizer.json", document.dump());
  check("DistilBertTokenizer", {{"do_lower_case", true}}, {"do_lower_case false", "found true"});
  check("RobertaTokenizer", {{"add_prefix_space", true}}, {"add_prefix_space false", "found true"});
  // transformers takes a byte-level tokenizer.json as it is for Llama's class.
  check("LlamaTokenizerFast", {{"add_prefix_space", true}}, {});
}

TEST_F(ContradictedTokenizer, WhoseReplacementsExplodeIsRefused) {
  json document = read_json(testdata() / "llama" / "tokenizer.json");
  json steps = json::array();
  for (int i = 0; i < 6; ++i) {
    steps.push_back({{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", std::string(200, 'a')}});
  }
  document["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
  expect_refused("tokenizer.json", document.dump(), "times as long");
}

class SmallTokenizer : public testing::TestWithParam<const char*> {};

TEST_P(SmallTokenizer, EncodesAsThePythonPackagesDo) {
  expect_as_in_python(Tokenizer::load(testdata() / GetParam()), testdata() / GetParam() / "expected.json");
}

void check_encoding(const Encoding& encoding, const std::string& text, const std::string& pair) {
  std::size_t next_word = 0;
  std::set<std::size_t> segments;
  for (const EncodedToken& token : encoding.tokens) {
    RC_ASSERT(token.begin.has_value() == token.word.has_value());
    RC_ASSERT(token.begin.has_value() == token.end.has_value());
    if (!token.begin) {
      RC_ASSERT(token.special);
      continue;
    }
    const std::string& source = token.segment == 0 ? text : pair;
    RC_ASSERT(*token.begin <= *token.end);
    RC_ASSERT(*token.end <= source.size());
    // Whole characters, so every slice of the text is valid text.
    RC_ASSERT(!find_invalid_utf8(std::string_view(source).substr(0, *token.begin)));
    RC_ASSERT(!find_invalid_utf8(std::string_view(source).substr(*token.begin, *token.end - *token.begin)));
    // Words are numbered without gaps, and none spans both segments.
    RC_ASSERT(*token.word == next_word || *token.word + 1 == next_word);
    if (segments.insert(token.segment).second) RC_ASSERT(*token.word == next_word);
    next_word = *token.word + 1;
  }
}

TEST_P(SmallTokenizer, RandomTextIsCoveredByWholeCharacters) {
  const Tokenizer tokenizer = Tokenizer::load(testdata() / GetParam());
  const std::vector<std::string> parts = {
      "the",    "key",    " ",           "  ",      "\n",     "\r\n",   std::string(1, '\0'),
      "[MASK]", "<mask>", "é",           "e\u0301", "\u0301", "我",     "日本",
      "\u200d", "😀",      "👩‍👧", "س",       "\u064e", "\ufeff", "\u3000",
      "'s",     ".",      "▁",           "İ",       "각",     "\ufffd", "##s",
      "</s>",   "1"};
  const auto texts = rc::gen::map(rc::gen::container<std::vector<std::string>>(rc::gen::elementOf(parts)),
                                  [](const std::vector<std::string>& chosen) {
                                    std::string text;
                                    for (const std::string& part : chosen) text += part;
                                    return text;
                                  });
  EXPECT_TRUE(rc::check([&] {
    const std::string text = *texts;
    const std::string pair = *texts;
    const Encoding encoding = tokenizer.encode(text, pair);
    check_encoding(encoding, text, pair);
    for (const EncodedToken& token : encoding.tokens) {
      RC_ASSERT(tokenizer.id_to_token(token.id) == token.text);
      RC_ASSERT(token.id < static_cast<std::int64_t>(tokenizer.id_limit()));
      RC_ASSERT(!find_invalid_utf8(tokenizer.readable(token.id)));
    }
    const std::size_t limit = 4 + *rc::gen::inRange<std::size_t>(0, 20);
    const Encoding cut = tokenizer.encode(text, pair, {.max_tokens = limit});
    check_encoding(cut, text, pair);
    RC_ASSERT(cut.tokens.size() == std::min(limit, encoding.tokens.size()));
    RC_ASSERT(cut.truncated == (encoding.tokens.size() > limit));
  }));
}

INSTANTIATE_TEST_SUITE_P(Testdata, SmallTokenizer,
                         testing::Values("bert", "bert-cased", "roberta", "roberta-prefix", "unigram", "gpt2", "chatml",
                                         "llama"),
                         [](const testing::TestParamInfo<const char*>& tested) {
                           std::string name = tested.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST(Tokenizer, MiniLmEncodesAsThePythonPackagesDo) {
  const char* folder = std::getenv("ATTNFLOW_MINILM_DIR");
  if (folder == nullptr) GTEST_SKIP() << "ATTNFLOW_MINILM_DIR is not set";
  const Tokenizer tokenizer = Tokenizer::load(folder, "bert");
  expect_as_in_python(tokenizer, testdata() / "expected-minilm.json");
  EXPECT_EQ(tokenizer.id_limit(), 30522U);
  EXPECT_EQ(tokenizer.mask_id(), 103);
  EXPECT_EQ(tokenizer.word_to_ids("his"), std::vector<std::int64_t>{2010});
}

TEST_F(ModelFolder, WithMiniLmsVocabularyFileGivesTheSame) {
  const char* folder = std::getenv("ATTNFLOW_MINILM_DIR");
  if (folder == nullptr) GTEST_SKIP() << "ATTNFLOW_MINILM_DIR is not set";
  for (const char* name : {"vocab.txt", "tokenizer_config.json", "special_tokens_map.json"}) {
    fs::copy_file(fs::path(folder) / name, folder_ / name);
  }
  expect_as_in_python(Tokenizer::load(folder_, "bert"), testdata() / "expected-minilm.json");
}

TEST(Tokenizer, AlbertOnMoleculesEncodesAsThePythonPackagesDo) {
  const char* data = std::getenv("ATTNFLOW_SHARED_DATA");
  if (data == nullptr) GTEST_SKIP() << "ATTNFLOW_SHARED_DATA is not set";
  const Tokenizer tokenizer = Tokenizer::load(fs::path(data) / "albert-uspto", "albert");
  expect_as_in_python(tokenizer, testdata() / "expected-albert-uspto.json", 2);  // "<unk>" and "<pad>"
  EXPECT_EQ(tokenizer.mask_id(), 14);
  const Encoding encoding = tokenizer.encode("CC(=O)[MASK]");
  EXPECT_TRUE(encoding.tokens.at(7).special);
}

TEST(Tokenizer, PiecesAndIds) {
  const Tokenizer bert = Tokenizer::load(testdata() / "bert", "bert");
  EXPECT_EQ(bert.mask_id(), 4);
  EXPECT_EQ(bert.token_to_id("[CLS]"), 2);
  EXPECT_EQ(bert.token_to_id("no such piece"), std::nullopt);
  EXPECT_EQ(bert.id_to_token(4), "[MASK]");
  EXPECT_EQ(bert.id_limit(), bert.vocabulary_size());
  EXPECT_EQ(bert.readable(bert.token_to_id("##s").value()), "s");
  EXPECT_EQ(bert.readable(1000000), "<id 1000000>");
  EXPECT_EQ(bert.word_to_ids(""), std::vector<std::int64_t>{});
  EXPECT_EQ(bert.word_to_ids(std::string(90, 'x')).size(), 90U);
  EXPECT_NE(bert.source().find("vocab.txt"), std::string::npos);

  const Tokenizer roberta = Tokenizer::load(testdata() / "roberta", "roberta");
  EXPECT_EQ(roberta.mask_id(), roberta.token_to_id("<mask>"));
  EXPECT_EQ(roberta.readable(roberta.token_to_id("Ġthe").value()), "the");
  EXPECT_EQ(roberta.readable(roberta.token_to_id("Ã").value()), "\\xC3");
  EXPECT_EQ(roberta.readable(roberta.token_to_id("</s>").value()), "</s>");
  const Tokenizer unigram = Tokenizer::load(testdata() / "unigram");
  EXPECT_EQ(unigram.readable(unigram.token_to_id("▁the").value()), "the");
  EXPECT_EQ(unigram.mask_id(), 4);
}

TEST(Tokenizer, SeveralThreadsShareOne) {
  const Tokenizer tokenizer = Tokenizer::load(testdata() / "roberta");
  const std::vector<std::int64_t> expected = ids_of(tokenizer.encode("The key to the cabinets"));
  std::vector<std::thread> threads;
  std::vector<int> agreed(4, 0);
  for (std::size_t i = 0; i < agreed.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 50; ++round) {
        agreed[i] += ids_of(tokenizer.encode("The key to the cabinets")) == expected ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(agreed, std::vector<int>(4, 50));
}

TEST(Tokenizer, MovesLeaveOneOwner) {
  Tokenizer first = Tokenizer::load(testdata() / "bert");
  Tokenizer second = std::move(first);
  second = Tokenizer::load(testdata() / "roberta");
  EXPECT_EQ(second.encode("the").tokens.front().text, "<s>");
}

TEST(Tokenizer, TextMustBeUtf8) {
  const Tokenizer tokenizer = Tokenizer::load(testdata() / "bert");
  expect_error(ErrorKind::kUsage, {"0xFF at offset 3"}, [&] { (void)tokenizer.encode("the\xff key"); });
  expect_error(ErrorKind::kUsage, {"second text"}, [&] { (void)tokenizer.encode("the", "\xe2\x82"); });
  expect_error(ErrorKind::kUsage, {"word"}, [&] { (void)tokenizer.word_to_ids("\x80"); });
}

TEST(Tokenizer, TheLimitMustLeaveRoomForTheTemplate) {
  const Tokenizer tokenizer = Tokenizer::load(testdata() / "bert");
  EXPECT_EQ(tokenizer.encode("the key", std::nullopt, {.max_tokens = 2}).tokens.size(), 2U);
  const auto too_small = [&] { (void)tokenizer.encode("the", "key", {.max_tokens = 2}); };
  expect_error(ErrorKind::kUsage, {"expected room for at least the 3 special tokens"}, too_small);
}

TEST_F(ModelFolder, WithoutATokenizerIsAnError) {
  expect_mentions(load_error(), "found none of them");
  expect_mentions(load_error(), "or a SentencePiece model");
  expect_refused("vocab.json", "{}", "only vocab.json");
  expect_error(ErrorKind::kBadFile, {"nothing there"}, [&] { (void)Tokenizer::load(folder_ / "missing"); });
  expect_error(ErrorKind::kBadFile, {"not a folder"}, [&] { (void)Tokenizer::load(folder_ / "vocab.json"); });
}

TEST_F(ModelFolder, DamagedTokenizerJsonIsAnError) {
  std::ifstream stream(testdata() / "unigram/tokenizer.json", std::ios::binary);
  const std::string whole((std::istreambuf_iterator<char>(stream)), {});
  const std::size_t end = whole.find_last_of('}');
  for (std::size_t cut = 0; cut <= end; cut += 211) {
    expect_refused("tokenizer.json", whole.substr(0, cut), "tokenizer.json");
  }
  expect_refused("tokenizer.json", "\xff\xfe{", "offset 0");
  expect_refused("tokenizer.json", R"({"model": )" + std::string(1 << 20, '['), "recursion limit");
  expect_refused("tokenizer.json", R"({"version": "1.0", "model": {"type": "New", "vocab": {}}})", "tokenizer.json");
  fs::remove(folder_ / "tokenizer.json");
  fs::create_directory(folder_ / "tokenizer.json");
  expect_mentions(load_error(), "tokenizer.json");
}

TEST_F(ModelFolder, PanicsInsideTheLibraryAreErrors) {
  write("tokenizer.json", R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "b"},
      "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "B", "type_id": 0}}],
                         "pair": [], "special_tokens": {}}})");
  testing::internal::CaptureStderr();
  expect_mentions(load_error(), "failed inside");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  write("tokenizer.json", R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 1}, "unk_token": "b"},
      "pre_tokenizer": {"type": "FixedLength", "length": 0}})");
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  expect_error(ErrorKind::kBadFile, {"tokenizer.json"}, [&] { (void)tokenizer.encode("ab"); });
  EXPECT_TRUE(tokenizer.encode("").tokens.empty());
}

TEST_F(ModelFolder, SettingsAndSpecialTokensMustHaveTheRightForm) {
  copy_from("bert", "vocab.txt");
  (void)Tokenizer::load(folder_);  // the settings files are optional
  expect_refused("tokenizer_config.json", R"({"do_lower_case": "yes"})", "do_lower_case");
  expect_refused("tokenizer_config.json", "[]", "tokenizer_config.json");
  expect_refused("tokenizer_config.json", R"({"added_tokens_decoder": {"x1": "[NEW]"}})", "added_tokens_decoder");
  expect_refused("tokenizer_config.json", R"({"added_tokens_decoder": {"9999": {"content": "[NEW]"}}})", "[NEW]");
  expect_refused("tokenizer_config.json", R"({"mask_token": {"lstrip": true}})", "mask_token");
  expect_refused("tokenizer_config.json", R"({"cls_token": "[NONE]"})", "[NONE]");
  expect_refused("tokenizer_config.json", "{", "JSON");
}

TEST_F(ModelFolder, AddedTokensGetTheIdsThatTheyDeclare) {
  copy_from("bert", "vocab.txt");
  const std::size_t size = Tokenizer::load(folder_).vocabulary_size();
  write("tokenizer_config.json",
        fmt::format(R"({{"added_tokens_decoder": {{"{}": {{"content": "[NEW]", "special": true}}}}}})", size));
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.vocabulary_size(), size + 1);
  const EncodedToken token = tokenizer.encode("the[NEW]key").tokens.at(2);
  EXPECT_EQ(token.id, static_cast<std::int64_t>(size));
  EXPECT_TRUE(token.special);
  EXPECT_EQ(token.begin, 3U);
}

TEST_F(ModelFolder, AMaskThatOnlyTheSettingsNameIsFoundInTheText) {
  write("tokenizer.json", R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "@": 1, "?": 2}, "unk_token": "?"},
      "pre_tokenizer": {"type": "WhitespaceSplit"}})");
  EXPECT_EQ(Tokenizer::load(folder_).mask_id(), std::nullopt);
  write("special_tokens_map.json", R"({"mask_token": "@", "cls_token": "[not in the vocabulary]"})");
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.mask_id(), 1);
  EXPECT_EQ(ids_of(tokenizer.encode("a@a")), (std::vector<std::int64_t>{0, 1, 0}));
  EXPECT_TRUE(tokenizer.encode("a@a").tokens.at(1).special);
  EXPECT_EQ(tokenizer.vocabulary_size(), 4U);
  EXPECT_EQ(tokenizer.id_limit(), 3U);
}

TEST_F(ModelFolder, VocabularyFilesWithOddLines) {
  write("vocab.txt", "[UNK]\r\n[CLS]\r\n[SEP]\r\nthe\r\n\r\nkey\r\nthe\r\n##s");
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.token_to_id("the"), 6);  // the later line wins
  EXPECT_EQ(tokenizer.id_to_token(3), std::nullopt);
  EXPECT_EQ(tokenizer.token_to_id("##s"), 7);
  EXPECT_EQ(tokenizer.id_limit(), 8U);
  EXPECT_EQ(tokenizer.mask_id(), std::nullopt);
  EXPECT_EQ(ids_of(tokenizer.encode("The keys")), (std::vector<std::int64_t>{1, 6, 5, 7, 2}));

  expect_refused("vocab.txt", "[UNK]\n[CLS]\n\xff\n", "offset 12");
  expect_refused("vocab.txt", "[UNK]\n[CLS]\n", "[SEP]");
  expect_refused("vocab.txt", "", "[UNK]");
}

TEST_F(ModelFolder, ByteLevelFilesMustHaveTheRightForm) {
  write_byte_level(R"({"<s>": 0, "</s>": 1, "a": 2, "b": 3, "ab": 4})", "#version: 0.2\na b\n\n");
  EXPECT_EQ(ids_of(Tokenizer::load(folder_).encode("aba")), (std::vector<std::int64_t>{0, 4, 2, 1}));
  struct Case {
    const char* vocabulary;
    const char* merges;
    const char* words;
  };
  for (const Case& wrong :
       {Case{R"({"<s>": 0, "</s>": 1, "a": 2, "b": 3})", "a b\n", "vocab.json"},  // "ab" is no piece
        Case{R"({"<s>": 0, "</s>": 1, "a": 2, "b": 2})", "", "each id once"},
        Case{R"({"<s>": 0, "</s>": -1})", "", "an id for each piece"},
        Case{R"({"<s>": 0, "</s>": 99999999999})", "", "an id for each piece"}, Case{R"({"<s>": 0})", "", "</s>"},
        Case{R"({"<s>": 0, "</s>": 1})", "a b c\n", "line 1"}, Case{R"(["<s>"])", "", "JSON object"}}) {
    write_byte_level(wrong.vocabulary, wrong.merges);
    expect_mentions(load_error(), wrong.words);
  }
}

TEST_F(ModelFolder, TheModelTypeChoosesBetweenTwoVocabularies) {
  copy_from("bert", "vocab.txt");
  copy_from("roberta", "vocab.json");
  copy_from("roberta", "merges.txt");
  EXPECT_EQ(Tokenizer::load(folder_, "bert").mask_id(), 4);
  EXPECT_EQ(Tokenizer::load(folder_, "bert").encode("").tokens.front().text, "[CLS]");
  EXPECT_EQ(Tokenizer::load(folder_, "roberta").encode("").tokens.front().text, "<s>");
  // Without settings, <mask> still absorbs the space before it, as RoBERTa was trained.
  const Encoding encoding = Tokenizer::load(folder_, "roberta").encode("the <mask>");
  EXPECT_EQ(encoding.tokens.size(), Tokenizer::load(folder_, "roberta").encode("the").tokens.size() + 1);
}

}  // namespace
}  // namespace attnflow::tokenizer_test
