#include "attnflow/analysis/generate/chat_prompt.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "attnflow/analysis/generate/decoder_for_test.h"

namespace attnflow::chat_prompt_test {
namespace {

using Messages = std::vector<ChatMessage>;

// A tokenizer whose template is a function.
class Templated : public ByteCodec {
 public:
  explicit Templated(std::function<std::string(const Messages&)> write) : write_(std::move(write)) {}
  std::string chat(const Messages& messages) const override { return write_(messages); }

 private:
  std::function<std::string(const Messages&)> write_;
};

std::string turns(const Messages& messages) {
  std::string text;
  for (const ChatMessage& message : messages) text += "<" + message.role + ">\n" + message.text + "</>\n";
  return text + "<assistant>\n";
}

std::optional<std::string> own_turn(std::function<std::string(const Messages&)> write) {
  return own_system_turn(Templated(std::move(write)), "Who are you?");
}

TEST(OwnSystemTurn, IsWhatStandsInThePlaceOfOurs) {
  const auto with_default = [](Messages messages) {
    if (messages.front().role != "system") messages.insert(messages.begin(), {"system", "You are\nhelpful."});
    return turns(messages);
  };
  EXPECT_EQ(own_turn(with_default), "You are\nhelpful.");
  EXPECT_EQ(own_turn(turns), std::nullopt);
}

TEST(OwnSystemTurn, OfATemplateThatWritesOneEachTime) {
  // A date in every system's turn, and a turn even without a text.
  const auto dated = [](Messages messages) {
    if (messages.front().role != "system") messages.insert(messages.begin(), {"system", ""});
    messages.front().text = "Today: Monday\n\n" + messages.front().text;
    return turns(messages);
  };
  EXPECT_EQ(own_turn(dated), "");
}

TEST(OwnSystemTurn, IsNoneWhereTheTextGoesIntoTheUsersTurn) {
  const auto inside = [](const std::string& between) {
    return [between](const Messages& messages) {
      std::string text = "[INST] ";
      for (const ChatMessage& message : messages) text += message.text + (message.role == "system" ? between : "");
      return text + " [/INST]";
    };
  };
  EXPECT_EQ(own_turn(inside("\n\n")), std::nullopt);
  EXPECT_EQ(own_turn(inside("")), std::nullopt);
}

TEST(OwnSystemTurn, IsNoneWhereThereIsNoTemplateOrItTakesNone) {
  const auto refuses = [](const Messages& messages) -> std::string {
    if (messages.front().role == "system") throw Error(ErrorKind::kUsage, "system role not supported");
    return turns(messages);
  };
  EXPECT_EQ(own_turn(refuses), std::nullopt);
  const auto none = [](const Messages&) -> std::string { throw Error(ErrorKind::kUnsupportedModel, "no template"); };
  EXPECT_EQ(own_turn(none), std::nullopt);
  const auto drops = [](const Messages& messages) { return turns({messages.back()}); };
  EXPECT_EQ(own_turn(drops), std::nullopt);
}

}  // namespace
}  // namespace attnflow::chat_prompt_test
