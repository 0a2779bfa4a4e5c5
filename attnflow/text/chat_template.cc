#include "attnflow/text/chat_template.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/files/messages.h"
#include "attnflow/text/tokenizer_settings.h"
#include "attnflow/text/tokenizers_abi_text.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

using nlohmann::json;

constexpr const char* kHowToDoWithout =
    "give the prompt as plain text (without --chat), in the format that the model card describes";

std::tm present_time() {
  std::tm parts{};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): nothing here changes the environment
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH"); epoch != nullptr && *epoch != '\0') {
    const std::string_view text = epoch;
    const auto seconds = internal::parse_number<long long>(text);
    const auto time = static_cast<std::time_t>(seconds.value_or(0));
    if (!seconds || gmtime_r(&time, &parts) == nullptr) {
      fail_with(ErrorKind::kUsage,
                "the environment variable SOURCE_DATE_EPOCH must hold seconds since "
                "1970, found {}; correct it, or unset it to use today's date",
                quote_name(text));
    }
    return parts;
  }
  const std::time_t now = std::time(nullptr);
  if (localtime_r(&now, &parts) == nullptr) throw Error(ErrorKind::kOther, "the system's clock gives no date");
  return parts;
}

extern "C" std::size_t attnflow_format_present_time(const void* time, const char* format, char* buffer,
                                                    std::size_t capacity) {
  return std::strftime(buffer, capacity, format, static_cast<const std::tm*>(time));
}

std::string choose(const json& value, std::string& problem) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) {
    problem = fmt::format("a chat_template that is {} instead of a string", value.type_name());
    return "";
  }
  std::vector<std::string> names;
  for (const json& entry : value) {
    const auto name = entry.is_object() ? entry.find("name") : entry.end();
    const auto text = entry.is_object() ? entry.find("template") : entry.end();
    if (name == entry.end() || text == entry.end() || !name->is_string() || !text->is_string()) {
      problem = "a list as chat_template with an entry that is not {name, template}";
      return "";
    }
    if (*name == "default") return text->get<std::string>();
    names.push_back(name->get<std::string>());
  }
  const std::vector<std::string_view> views(names.begin(), names.end());
  problem = fmt::format("a list as chat_template without \"default\" ({})", quote_names(views));
  return "";
}

}  // namespace

ChatTemplate::ChatTemplate(const Folder& folder) : folder_(folder.label()) {
  const SettingsFile file(folder, "chat_template.jinja");
  const SettingsFile config(folder, "tokenizer_config.json");
  if (file.is_there()) {
    source_ = file.label();
    try {
      text_ = read_utf8(file);
    } catch (const Error& error) {
      problem_ = error.what();
    }
    return;
  }
  const json settings = read_optional_json_object(config);
  const auto found = settings.find("chat_template");
  if (found == settings.end() || found->is_null()) return;
  source_ = config.label();
  text_ = choose(*found, problem_);
}

ChatTemplate::ChatTemplate(std::string text, std::string source) : text_(std::move(text)), source_(std::move(source)) {}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages,
                                 const std::map<std::string, std::string>& special_tokens) const {
  if (source_.empty()) {
    fail_with(ErrorKind::kUnsupportedModel,
              "{}: expected a chat template (chat_template.jinja, or chat_template in "
              "tokenizer_config.json), found none: the model was not trained on conversations, or its "
              "template was not copied; {}",
              folder_, kHowToDoWithout);
  }
  const auto fail = [&](const std::string& reason) {
    fail_file(source_, fmt::format("expected a chat template that can be run, found: {}; restore the "
                                   "file from the model's source, or {}",
                                   quote_name(reason, 400), kHowToDoWithout));
  };
  if (!problem_.empty()) fail(problem_);
  if (messages.empty()) {
    throw Error(ErrorKind::kUsage, "expected a conversation of at least one message, found none; give the user's text");
  }
  // Templates may print whole messages, so the order of keys matters.
  nlohmann::ordered_json context = {{"messages", nlohmann::ordered_json::array()}};
  for (const auto& [role, text] : messages) {
    check_utf8(role, "role of a message");
    check_utf8(text, "text of a message");
    context["messages"].push_back({{"role", role}, {"content", text}});
  }
  for (const auto& [role, piece] : special_tokens) context[role] = piece;
  context["tools"] = nullptr;
  context["documents"] = nullptr;
  context["add_generation_prompt"] = true;

  const std::tm now = present_time();
  bool refused = false;
  ErrorSlot error;
  const Owned<attnflow_string> rendered(attnflow_chat_render(
      borrow(text_), borrow(context.dump()), attnflow_format_present_time, &now, &refused, error.out()));
  if (rendered) return copy(rendered);
  if (refused) {
    fail_with(ErrorKind::kUsage,
              "{}: the model's chat template rejects the conversation: {}; change the messages, or {}", source_,
              quote_name(error.message(), 400), kHowToDoWithout);
  }
  fail(error.message());
  return "";
}

}  // namespace attnflow::internal
