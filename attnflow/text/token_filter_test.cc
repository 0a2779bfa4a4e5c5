#include "attnflow/text/token_filter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"
#include "attnflow/text/model_folder_for_test.h"
#include "attnflow/text/stop_words.h"
#include "attnflow/text/tokenizers_abi_text.h"

namespace attnflow::token_filter_test {
namespace {

using test::expect_error;
using test::refusal;

std::vector<FilterToken> tokens_of(const std::vector<std::string>& texts) {
  std::vector<FilterToken> tokens;
  for (const std::string& text : texts) tokens.push_back({.text = text, .word = "", .special = false});
  return tokens;
}

std::vector<std::string> kept(const std::vector<FilterToken>& tokens, const TokenFilterOptions& options) {
  const TokenFilterResult result = filter_tokens(tokens, options);
  EXPECT_EQ(result.excluded.size(), tokens.size());
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!result.excluded[i]) texts.push_back(tokens[i].text);
  }
  EXPECT_EQ(result.tokens_excluded, tokens.size() - texts.size());
  return texts;
}

using Texts = std::vector<std::string>;

TEST(TokenFilter, DropsNothingUnasked) {
  const std::vector<FilterToken> tokens = tokens_of({"the", ",", "key"});
  const TokenFilterResult result = filter_tokens(tokens, {});
  EXPECT_EQ(result.tokens_excluded, 0U);
  EXPECT_EQ(result.excluded, std::vector<bool>(3, false));
  EXPECT_TRUE(result.rules.empty());
  EXPECT_TRUE(filter_tokens({}, {.special = true, .punctuation = true, .stop_words = {"en"}}).excluded.empty());
}

TEST(TokenFilter, SaysWhichRuleDroppedHowMany) {
  std::vector<FilterToken> tokens = tokens_of({"<s>", "The", "key", ",", "the", "table", "!"});
  tokens[0].special = true;
  const TokenFilterResult result = filter_tokens(tokens, {.special = true,
                                                          .punctuation = true,
                                                          .stop_words = {"de", "en"},
                                                          .patterns = {"^ta", "e$"},
                                                          .indices = {"0-1"}});
  EXPECT_EQ(result.excluded, (std::vector<bool>{true, true, false, true, true, true, true}));
  EXPECT_EQ(result.tokens_excluded, 6U);
  const std::vector<std::pair<std::string, std::size_t>> expected = {
      {"special tokens", 1},  {"stop words (de)", 0}, {"stop words (en)", 2}, {"punctuation", 2},
      {"pattern \"^ta\"", 1}, {"pattern \"e$\"", 3},  {"chosen positions", 2}};
  ASSERT_EQ(result.rules.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(result.rules[i].reason, expected[i].first);
    EXPECT_EQ(result.rules[i].tokens, expected[i].second) << expected[i].first;
  }
}

TEST(TokenFilter, StopWordsAreWholeWords) {
  const TokenFilterOptions english = {.stop_words = {"en"}};
  EXPECT_EQ(kept(tokens_of({"The", "ĠTHE", "▁the", "Ġthe", " the", "key"}), english), Texts{"key"});
  EXPECT_EQ(kept(tokens_of({"##the", "▁key", "##s"}), english), (Texts{"##the", "▁key", "##s"}));
  const std::vector<FilterToken> pieces = {{.text = "the", .word = "theory"}, {.text = "ory", .word = "theory"},
                                           {.text = "th", .word = "The,"},    {.text = "e", .word = "The,"},
                                           {.text = "a", .word = "Å"},        {.text = "'t", .word = "’t"}};
  EXPECT_EQ(kept(pieces, english), (Texts{"the", "ory", "a"}));
  EXPECT_EQ(kept({{.text = "the", .word = "", .special = true}}, english), Texts{"the"});
}

TEST(TokenFilter, StopWordsCompareWithAccentsInAnyForm) {
  EXPECT_EQ(kept(tokens_of({"À", "à", "a\u0300", "où", "ou", "o\u00fc"}), {.stop_words = {"fr"}}), Texts{"o\u00fc"});
  EXPECT_EQ(kept(tokens_of({"für", "FÜR", "fu\u0308r", "fur"}), {.stop_words = {"de"}}), Texts{"fur"});
  EXPECT_EQ(kept(tokens_of({"L’", "qu'", "eau"}), {.stop_words = {"fr"}}), Texts{"eau"});
}

TEST(TokenFilter, PunctuationHasNoLetterAndNoNumber) {
  const Texts words = {"a", "Ж", "日", "س", "7", "٣", "½", "x.", "it's", "##s", "Ġé", "<s>"};
  EXPECT_EQ(kept(tokens_of(words), {.punctuation = true}), words);
  const Texts marks = {".", ",", "Ġ,", "▁—", "##.", "...", "’", "。", "¿", "😀", "$", "+", "\n", " ", "Ġ", "▁▁", ""};
  EXPECT_EQ(kept(tokens_of(marks), {.punctuation = true}), Texts{});
}

TEST(TokenFilter, SingleBytesGoByTheirWord) {
  const std::vector<FilterToken> bytes = {{.text = "<0xF0><0x9F>", .word = "😀"}, {.text = "<0x80>", .word = "😀"},
                                          {.text = "<0xD8>", .word = "س"},       {.text = "<0xF0>", .word = ""},
                                          {.text = "<0xZZ>", .word = "😀"},       {.text = "a<0xD8>", .word = "aس"}};
  EXPECT_EQ(kept(bytes, {.punctuation = true}), (Texts{"<0xD8>", "<0xF0>", "<0xZZ>", "a<0xD8>"}));
}

TEST(TokenFilter, PatternsAreFoundAnywhereInTheText) {
  const std::vector<FilterToken> tokens = tokens_of({"France", "from", "of", "42", "日本"});
  EXPECT_EQ(kept(tokens, {.patterns = {"^f", R"(\d)"}}), (Texts{"France", "of", "日本"}));
  EXPECT_EQ(kept(tokens, {.patterns = {"(?i)^f"}}), (Texts{"of", "42", "日本"}));
  EXPECT_EQ(kept(tokens, {.patterns = {R"(\p{Han})", "^(?:of|from)$"}}), (Texts{"France", "42"}));
  EXPECT_EQ(kept(tokens, {.patterns = {""}}), Texts{});
}

TEST(TokenFilter, WrongPatternsAreNamed) {
  const std::vector<FilterToken> tokens = tokens_of({"a"});
  for (const char* wrong : {"(", "[a", "a{2", "(?=a)", R"((a)\1)", "((a{1000}){1000}){1000}", "*"}) {
    const std::string message = refusal(ErrorKind::kUsage, [&] { (void)filter_tokens(tokens, {.patterns = {wrong}}); });
    expect_mentions(message, internal::quote_name(wrong));
  }
  expect_error(ErrorKind::kUsage, {"UTF-8"}, [&] { (void)filter_tokens(tokens, {.patterns = {"\xff"}}); });
  refusal(ErrorKind::kUsage, [&] { (void)filter_tokens(tokens, {.patterns = {std::string(100000, '(')}}); });
}

TEST(TokenFilter, NoPatternTakesLong) {
  const std::vector<FilterToken> tokens = tokens_of({std::string(20000, 'a') + "!"});
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(kept(tokens, {.patterns = {"^(a+)+$", "^(a|aa)*$", "(.*)*b"}}).size(), 1U);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(TokenFilter, IndicesCountFromZero) {
  const std::vector<FilterToken> tokens = tokens_of({"a", "b", "c", "d", "e"});
  EXPECT_EQ(kept(tokens, {.indices = {"0", "2-3", "3-3"}}), (Texts{"b", "e"}));
  EXPECT_EQ(kept(tokens, {.indices = {"0-4"}}), Texts{});
  for (const char* wrong : {"", "x", "-1", "1-", "3-2", "1-2-3", " 1", "+1", "1.5", "99999999999999999999"}) {
    const std::string message = refusal(ErrorKind::kUsage, [&] { (void)filter_tokens(tokens, {.indices = {wrong}}); });
    expect_mentions(message, std::string("\"") + wrong + "\"");
  }
  for (const char* beyond : {"5", "0-5", "18446744073709551615"}) {
    const std::string message = refusal(ErrorKind::kUsage, [&] { (void)filter_tokens(tokens, {.indices = {beyond}}); });
    expect_mentions(message, "5 tokens");
  }
}

TEST(TokenFilter, TextsMustBeUtf8) {
  const std::vector<FilterToken> tokens = {{.text = "a"}, {.text = "a", .word = "\xff"}};
  expect_error(ErrorKind::kUsage, {"position 1"}, [&] { (void)filter_tokens(tokens, {}); });
}

TEST(StopWords, ListsAreInTheFormThatWordsAreComparedIn) {
  const std::vector<std::string_view> languages = stop_word_languages();
  EXPECT_EQ(languages, (std::vector<std::string_view>{"de", "en", "es", "fr", "it", "nl", "pt"}));
  for (const std::string_view language : languages) {
    const std::vector<std::string_view> words = stop_words(language);
    EXPECT_GE(words.size(), 80U) << language;
    EXPECT_LE(words.size(), 180U) << language;
    EXPECT_EQ(std::set<std::string_view>(words.begin(), words.end()).size(), words.size()) << language;
    for (const std::string_view word : words) {
      const internal::Owned<attnflow_string> folded(attnflow_text_fold(internal::borrow(word), nullptr));
      EXPECT_EQ(internal::copy(folded), word) << language;
    }
  }
  expect_error(ErrorKind::kUsage, {"de, en, es"}, [] { (void)stop_words("xx"); });
}

}  // namespace
}  // namespace attnflow::token_filter_test
