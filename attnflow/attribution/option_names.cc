#include "attnflow/attribution/option_names.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <variant>
#include <vector>

#include "attnflow/attribution/setting_options.h"
#include "attnflow/base/error.h"

namespace attnflow {
namespace {

bool is_small_letter(std::string_view text, std::size_t at) {
  return at < text.size() && text[at] >= 'a' && text[at] <= 'z';
}

bool continues_word(std::string_view text, std::size_t at) {
  if (at >= text.size()) return false;
  const char c = text[at];
  return is_small_letter(text, at) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
}

// Returns the end of the quotation that begins at `at`, else `at`. A quote before a word character ("it's") is no end.
std::size_t behind_quotation(std::string_view text, std::size_t at) {
  const char quote = text[at];
  if (quote != '\'' && quote != '"') return at;
  if (at > 0 && text[at - 1] != ' ' && text[at - 1] != '(') return at;
  for (std::size_t end = at + 1; end < text.size(); ++end) {
    if (text[end] == quote && !continues_word(text, end + 1)) return end + 1;
  }
  return at;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts(1);
  for (const char c : list) {
    if (c == ',') {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

// Whether the option takes this word as its value. Free texts (a target's name) cannot be told from other words.
bool takes(const SettingOption& option, const std::string& word) {
  Settings settings;
  const OptionValue usual = option.get(settings);
  const std::string_view name = option.name;
  if (name == "target" || name == "against" || name == "output_token") return false;
  try {
    if (std::holds_alternative<std::string>(usual)) {
      option.set(settings, word);
    } else if (std::holds_alternative<std::vector<std::string>>(usual)) {
      option.set(settings, parts_of(word));
    } else {
      return !std::holds_alternative<bool>(usual) && is_digit(word.front());
    }
  } catch (const Error&) {
    return false;
  }
  return true;
}

// Python's spelling of the value that `word` is for the option of that field name; empty: it is none.
std::string python_value(const std::string& name, const std::string& word) {
  if (word.empty()) return "";
  if (name == "check") return word == "always" ? "True" : word == "never" ? "False" : "";
  const auto options = setting_options();
  const auto option =
      std::find_if(options.begin(), options.end(), [&](const SettingOption& one) { return one.name == name; });
  if (option == options.end() || !takes(*option, word)) return "";
  const bool is_number = std::all_of(word.begin(), word.end(), [](char c) { return is_digit(c) || c == '.'; });
  return is_number ? word : '"' + word + '"';
}

// The word at `at`, without the punctuation behind it.
std::string word_at(const std::string& message, std::size_t at) {
  std::size_t end = at;
  while (end < message.size() && (is_small_letter(message, end) || is_digit(message[end]) ||
                                  std::string_view("-.,").find(message[end]) != std::string_view::npos)) {
    ++end;
  }
  while (end > at && std::string_view("-.,").find(message[end - 1]) != std::string_view::npos) --end;
  return message.substr(at, end - at);
}

}  // namespace

std::string with_field_names(const std::string& message, OptionNames names) {
  if (names == OptionNames::kShell) return message;
  std::string result;
  for (std::size_t i = 0; i < message.size(); ++i) {
    if (const std::size_t behind = behind_quotation(message, i); behind > i) {
      result.append(message, i, behind - i);
      i = behind - 1;
      continue;
    }
    const bool begins = i == 0 || message[i - 1] == ' ' || message[i - 1] == '(';
    if (begins && message.compare(i, 2, "--") == 0 && is_small_letter(message, i + 2)) {
      std::size_t end = i + 2;
      std::string name;
      while (is_small_letter(message, end) ||
             (end < message.size() && message[end] == '-' && is_small_letter(message, end + 1))) {
        name += message[end] == '-' ? '_' : message[end];
        ++end;
      }
      result += name;
      if (names == OptionNames::kPython && end < message.size() && message[end] == ' ') {
        const std::string word = word_at(message, end + 1);
        if (const std::string value = python_value(name, word); !value.empty()) {
          result += '=' + value;
          end += 1 + word.size();
        }
      }
      i = end - 1;
      continue;
    }
    if (i == 0 && message.starts_with("-n:")) {
      result += "tokens";
      i = 1;
      continue;
    }
    result += message[i];
  }
  return result;
}

}  // namespace attnflow
