#include "attnflow/text/chat_template.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/text/model_folder_for_test.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::chat_template_test {
namespace {

using internal::ChatTemplate;
using nlohmann::json;
using test::refusal;

class DateIs {
 public:
  explicit DateIs(const std::string& seconds) { setenv("SOURCE_DATE_EPOCH", seconds.c_str(), 1); }
  ~DateIs() { unsetenv("SOURCE_DATE_EPOCH"); }
  DateIs(const DateIs&) = delete;
  DateIs& operator=(const DateIs&) = delete;
};

std::vector<ChatMessage> messages_of(const json& list) {
  std::vector<ChatMessage> messages;
  for (const json& message : list) messages.push_back({message.at(0), message.at(1)});
  return messages;
}

TEST(ChatTemplate, WritesWhatTransformersWrites) {
  const json expected = read_json(testdata() / "chat.json");
  const DateIs date(expected.at("now").dump());
  const std::map<std::string, std::string> special_tokens = expected.at("special_tokens");
  std::size_t written = 0;
  std::size_t refused = 0;
  for (const json& family : expected.at("families")) {
    const ChatTemplate chat(family.at("template"), "test");
    for (const json& example : family.at("cases")) {
      const std::vector<ChatMessage> messages = messages_of(example.at("messages"));
      if (example.contains("text")) {
        EXPECT_EQ(chat.render(messages, special_tokens), example.at("text")) << family.at("name");
        ++written;
      } else {
        const std::string message = refusal(ErrorKind::kUsage, [&] { (void)chat.render(messages, special_tokens); });
        expect_mentions(message, example.at("refused").get<std::string>());
        ++refused;
      }
    }
  }
  EXPECT_GE(written, 40U);
  EXPECT_GE(refused, 4U);
}

TEST(ChatTemplate, TokensAreThoseOfTransformers) {
  const json expected = read_json(testdata() / "chat.json");
  ASSERT_EQ(expected.at("tokenizers").size(), 2U);
  for (const auto& [folder, cases] : expected.at("tokenizers").items()) {
    const Tokenizer tokenizer = Tokenizer::load(testdata() / folder);
    ASSERT_EQ(cases.size(), 4U);
    for (const json& example : cases) {
      const std::string text = tokenizer.chat(messages_of(example.at("messages")));
      EXPECT_EQ(json(ids_of(tokenizer.encode(text))), example.at("ids")) << folder << text;
    }
  }
}

class ChatFolder : public ModelFolder {
 protected:
  std::string chat_error(ErrorKind kind, const std::vector<ChatMessage>& messages = {{"user", "Hi"}}) const {
    return refusal(kind, [&] { (void)ChatTemplate(Folder(folder_)).render(messages, {}); });
  }
  void expect_refused(const std::string& name, std::string_view content, std::string_view part) const {
    write(name, content);
    expect_mentions(chat_error(ErrorKind::kBadFile), part);
  }
  std::string chat() const { return ChatTemplate(Folder(folder_)).render({{"user", "Hi"}}, {}); }
};

TEST_F(ChatFolder, TheFileComesBeforeTheSetting) {
  expect_mentions(chat_error(ErrorKind::kUnsupportedModel), "--chat");
  write("tokenizer_config.json", R"({"chat_template": null})");
  expect_mentions(chat_error(ErrorKind::kUnsupportedModel), "found none");
  write("tokenizer_config.json", R"({"chat_template": "one {{ messages[0].content }}"})");
  EXPECT_EQ(chat(), "one Hi");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "no"},
                                                       {"name": "default", "template": "two"}]})");
  EXPECT_EQ(chat(), "two");
  expect_refused("tokenizer_config.json", R"({"chat_template": [{"name": "rag", "template": "no"}]})", "rag");
  expect_refused("tokenizer_config.json", R"({"chat_template": ["no"]})", "{name, template}");
  expect_refused("tokenizer_config.json", R"({"chat_template": 3})", "number");
  write("chat_template.jinja", "three");
  EXPECT_EQ(chat(), "three");
  expect_refused("chat_template.jinja", "\xff", "chat_template.jinja");
}

TEST_F(ChatFolder, WrongTemplatesAndConversationsAreErrors) {
  expect_refused("chat_template.jinja", "a\n{% if %}", "line 2");
  expect_mentions(chat_error(ErrorKind::kBadFile), "chat_template.jinja");
  expect_refused("chat_template.jinja", "{{ unknown_function() }}", "unknown_function");
  expect_refused("chat_template.jinja",
                 "{% for a in range(90000) %}{% for b in range(90000) %}{% endfor %}{% endfor %}", "fuel");
  write("chat_template.jinja", "{{ raise_exception('one\x1b[2Jturn') }}");
  const std::string refused = chat_error(ErrorKind::kUsage);
  expect_mentions(refused, "turn");
  EXPECT_EQ(refused.find('\x1b'), std::string::npos);
  write("chat_template.jinja", "{{ messages | length }}");
  expect_mentions(chat_error(ErrorKind::kUsage, {}), "at least one message");
  expect_mentions(chat_error(ErrorKind::kUsage, {{"user", "a\xff"}}), "offset 1");
  EXPECT_EQ(chat(), "1");
}

TEST_F(ChatFolder, TheDateIsTodaysOrTheOneGiven) {
  write("chat_template.jinja", "{{ strftime_now('%Y-%m-%d %H') }}");
  {
    const DateIs date("951782400");
    EXPECT_EQ(chat(), "2000-02-29 00");
  }
  for (const char* wrong : {"today", "99999999999999999999"}) {
    const DateIs date(wrong);
    expect_mentions(chat_error(ErrorKind::kUsage), "SOURCE_DATE_EPOCH");
  }
  EXPECT_GE(std::stoi(chat()), 2024);
  expect_refused("chat_template.jinja", "{{ strftime_now('" + std::string(300, 'x') + "') }}.", "time format");
}

TEST_F(ChatFolder, AWrongTemplateDoesNotKeepATokenizerFromLoading) {
  copy_from("chatml", "tokenizer.json");
  write("chat_template.jinja", "{% if %}\xff");
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.bytes(tokenizer.encode("a").tokens.at(0).id), "a");
  refusal(ErrorKind::kBadFile, [&] { (void)tokenizer.chat({{"user", "Hi"}}); });
}

TEST_F(ChatFolder, WhatEncodeAddsIsNotWrittenTwice) {
  copy_from("llama", "tokenizer.json");
  copy_from("llama", "tokenizer_config.json");
  write("chat_template.jinja", "{{ bos_token }}{{ bos_token }}[{{ messages[0].content }}");
  EXPECT_EQ(Tokenizer::load(folder_).chat({{"user", "Hi"}}), "<s>[Hi");
}

}  // namespace
}  // namespace attnflow::chat_template_test
