#include "attnflow/attribution/shown_token.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/attribution/input.h"

namespace attnflow::shown_token_test {
namespace {

struct Token {
  std::string piece;
  std::size_t begin = 0;
  std::size_t end = 0;  // equal to begin: no characters of its own
};

InputText input_of(const std::string& text, const std::vector<Token>& tokens) {
  InputText input;
  input.text = text;
  for (const Token& token : tokens) {
    InputToken& one = input.tokens.emplace_back();
    one.text = token.piece;
    if (token.end > token.begin) one.begin = token.begin, one.end = token.end;
  }
  return input;
}

std::vector<std::string> shown(const InputText& input) {
  std::vector<std::string> texts;
  for (std::size_t t = 0; t < input.tokens.size(); ++t) texts.push_back(display_text(input, t));
  return texts;
}

using Texts = std::vector<std::string>;

TEST(ShownToken, PartsOfACharacterOfTheText) {
  const InputText bytes = input_of("a é", {{"a", 0, 1}, {"ĠÃ", 2, 4}, {"©", 2, 4}});
  EXPECT_EQ(shown(bytes), (Texts{"a", "é (1/2)", "é (2/2)"}));
  EXPECT_EQ(own_text(bytes, 1), "é");
  EXPECT_EQ(shown(input_of("éé", {{"<0xC3>", 0, 2}, {"<0xA9>", 0, 2}, {"<0xC3>", 2, 4}, {"<0xA9>", 2, 4}})),
            (Texts{"é (1/2)", "é (2/2)", "é (1/2)", "é (2/2)"}));
  // Tokens of generated text include the space before them; a token may also hold whole characters.
  EXPECT_EQ(shown(input_of(" ☃", {{"Ġâ", 0, 4}, {"ĺ", 1, 4}, {"ĥ", 1, 4}})), (Texts{"☃ (1/3)", "☃ (2/3)", "☃ (3/3)"}));
  EXPECT_EQ(shown(input_of("aéb c", {{"aÃ", 0, 3}, {"©b", 1, 4}, {"Ġc", 4, 6}})),
            (Texts{"aé (1/2)", "éb (2/2)", " c"}));
  // A space marker has the range of the token after it, but is not part of it.
  EXPECT_EQ(shown(input_of("日", {{"▁", 0, 3}, {"日", 0, 3}})), (Texts{"日", "日"}));
  // Equal byte ranges in two texts are different words.
  InputText pair = input_of("a", {{"a", 0, 1}, {"a", 0, 1}});
  pair.text_pair = "a";
  pair.tokens[1].segment = 1;
  EXPECT_EQ(shown(pair), (Texts{"a", "a"}));
}

TEST(ShownToken, PartsOfACharacterWithoutAText) {
  EXPECT_EQ(shown(input_of("", {{"Ġcaf"}, {"Ã"}, {"©"}, {"ĠðŁ"}, {"ĻĤ"}})),
            (Texts{"Ġcaf", "é (1/2)", "é (2/2)", "🙂 (1/2)", "🙂 (2/2)"}));
  EXPECT_EQ(shown(input_of("", {{"<0xF0>"}, {"<0x9F>"}, {"<0x99>"}, {"<0x82>"}, {"b"}})),
            (Texts{"🙂 (1/4)", "🙂 (2/4)", "🙂 (3/4)", "🙂 (4/4)", "b"}));
}

TEST(ShownToken, BytesWhoseCharacterIsNotAllThere) {
  EXPECT_EQ(shown(input_of("", {{"<0xC3>"}, {"b"}, {"<0xA9>"}})), (Texts{"\\xC3", "b", "\\xA9"}));
  EXPECT_EQ(shown(input_of("", {{"<0xF0>"}, {"<0x9F>"}, {"<0x99>"}})), (Texts{"\\xF0", "\\x9F", "\\x99"}));
  EXPECT_EQ(shown(input_of("", {{"Ġa"}, {"Ã"}, {"b"}})), (Texts{"Ġa", "\\xC3", "b"}));
  EXPECT_EQ(shown(input_of("", {{"Ġa"}, {"aÃ"}, {"©b"}})), (Texts{"Ġa", "a\\xC3", "\\xA9b"}));
  // Letters, since nothing indicates bytes.
  EXPECT_EQ(shown(input_of("", {{"«"}, {"É"}, {"»"}, {"Ö"}, {"³"}})), (Texts{"«", "É", "»", "Ö", "³"}));
  EXPECT_EQ(shown(input_of("", {{"a"}, {"Ã"}, {"b"}})), (Texts{"a", "Ã", "b"}));
  // Generated text has U+FFFD in place of the missing character.
  EXPECT_EQ(shown(input_of("\uFFFDb", {{"Ã", 0, 3}, {"b", 3, 4}})), (Texts{"\\xC3", "b"}));
  EXPECT_EQ(shown(input_of("\uFFFD", {{"ï", 0, 3}, {"¿½", 0, 3}})), (Texts{"\uFFFD (1/2)", "\uFFFD (2/2)"}));
}

}  // namespace
}  // namespace attnflow::shown_token_test
