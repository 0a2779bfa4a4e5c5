#include "attnflow/analysis/generate/chat_prompt.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "attnflow/analysis/generate/decoder_for_test.h"

namespace attnflow::chat_prompt_test {
namespace {

using Messages = std::vector<ChatMessage>;

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
  // A date in every system turn, and a turn even without a text.
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

std::vector<std::string> written(const ChatPrompt& prompt) {
  std::vector<std::string> texts;
  for (const TextSpan& span : prompt.written) texts.push_back(prompt.text.substr(span.begin, span.end - span.begin));
  return texts;
}

TEST(ChatPrompt, KnowsWhatPeopleWrote) {
  const Templated codec(turns);
  EXPECT_EQ(written(chat_prompt(codec, std::nullopt, "user")), std::vector<std::string>{"user"});
  EXPECT_EQ(written(chat_prompt(codec, "system", "<user>")), (std::vector<std::string>{"system", "<user>"}));
  EXPECT_EQ(chat_prompt(codec, std::nullopt, "hi").text, "<user>\nhi</>\n<assistant>\n");
}

TEST(ChatPrompt, KnowsItsOwnTextFromPeoples) {
  const Templated codec(turns);
  EXPECT_EQ(written(chat_prompt(codec, "say AttnflowTurn", "AttnflowTurn")),
            (std::vector<std::string>{"say AttnflowTurn", "AttnflowTurn"}));
  const auto drops = [](const Messages& messages) { return turns({messages.back()}); };
  EXPECT_EQ(own_system_turn(Templated(drops), "about AttnflowTurn it"), std::nullopt);
}

TEST(ChatPrompt, HasNothingOfAnEmptyOrADroppedTurn) {
  EXPECT_TRUE(chat_prompt(Templated(turns), std::nullopt, "").written.empty());
  EXPECT_EQ(written(chat_prompt(Templated(turns), "", "hi")), std::vector<std::string>{"hi"});
  const auto drops = [](const Messages& messages) { return turns({messages.back()}); };
  EXPECT_EQ(written(chat_prompt(Templated(drops), "system", "hi")), std::vector<std::string>{"hi"});
}

TEST(ChatPrompt, DoesNotGuess) {
  // The text occurs twice, or its surroundings change.
  const Templated twice([](const Messages& messages) { return messages.back().text + "; " + messages.back().text; });
  EXPECT_TRUE(chat_prompt(twice, std::nullopt, "hi").written.empty());
  const Templated counts([](const Messages& messages) {
    return std::to_string(messages.back().text.size()) + ":" + messages.back().text;
  });
  EXPECT_TRUE(chat_prompt(counts, std::nullopt, "hi").written.empty());
  const Templated none(
      [](const Messages&) -> std::string { throw Error(ErrorKind::kUnsupportedModel, "no template"); });
  EXPECT_THROW(chat_prompt(none, std::nullopt, "hi"), Error);
}

}  // namespace
}  // namespace attnflow::chat_prompt_test
