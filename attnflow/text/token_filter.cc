#include "attnflow/text/token_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/files/messages.h"
#include "attnflow/text/stop_words.h"
#include "attnflow/text/tokenizers_abi_text.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

using internal::borrow;
using internal::copy;
using internal::ErrorSlot;
using internal::Owned;
using internal::quote_name;

bool strip_front(std::string_view& text, std::string_view mark) {
  if (!text.starts_with(mark)) return false;
  text.remove_prefix(mark.size());
  return true;
}

// Strips the marks that vocabularies use for a space before a word.
std::string_view without_space_marks(std::string_view text) {
  while (strip_front(text, "Ġ") || strip_front(text, "▁") || strip_front(text, " ")) {
  }
  return text;
}

std::size_t byte_length(std::string_view text) {
  const auto is_digit = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
  };
  constexpr std::size_t kLength = 6;
  const bool is_byte =
      text.size() >= kLength && text.starts_with("<0x") && is_digit(text[3]) && is_digit(text[4]) && text[5] == '>';
  return is_byte ? kLength : 0;
}

bool has_letter_or_number(std::string_view text) { return attnflow_text_has_letter_or_number(borrow(text)); }

bool is_punctuation(const FilterToken& token) {
  std::string_view rest = without_space_marks(token.text);
  strip_front(rest, "##");
  std::string characters;
  bool has_bytes = false;
  while (!rest.empty()) {
    const std::size_t length = byte_length(rest);
    if (length == 0) characters += rest.front();
    has_bytes = has_bytes || length > 0;
    rest.remove_prefix(length == 0 ? 1 : length);
  }
  if (has_letter_or_number(characters)) return false;
  if (!has_bytes) return true;
  return !token.word.empty() && !has_letter_or_number(token.word);
}

// Empty if the token's word is unknown.
std::string word_of(const FilterToken& token) {
  const std::string_view text = without_space_marks(token.word.empty() ? token.text : token.word);
  if (token.word.empty() && text.starts_with("##")) return "";
  ErrorSlot error;
  const Owned<attnflow_string> folded(attnflow_text_fold(borrow(text), error.out()));
  if (!folded) fail_with(ErrorKind::kOther, "a word could not be compared: {}", error.message());
  return copy(folded);
}

Owned<attnflow_pattern> compile(const std::string& expression) {
  if (find_invalid_utf8(expression)) {
    fail_with(ErrorKind::kUsage, "expected a regular expression in UTF-8, found {}; convert it first",
              quote_name(expression));
  }
  ErrorSlot error;
  Owned<attnflow_pattern> pattern(attnflow_pattern_new(borrow(expression), error.out()));
  if (!pattern) {
    fail_with(ErrorKind::kUsage,
              "expected a regular expression (without look-around and back references), found {}: {}; "
              "correct it, and escape literal special characters with \\",
              quote_name(expression), quote_name(error.message(), 200));
  }
  return pattern;
}

struct Range {
  std::size_t first = 0;
  std::size_t last = 0;
};

Range parse_range(const std::string& text, std::size_t tokens) {
  const std::size_t dash = std::min(text.find('-'), text.size());
  const std::optional<std::size_t> first = internal::parse_number(std::string_view(text).substr(0, dash));
  const std::optional<std::size_t> last =
      dash == text.size() ? first : internal::parse_number(std::string_view(text).substr(dash + 1));
  if (!first || !last || *first > *last) {
    fail_with(ErrorKind::kUsage,
              "expected the position of a token, counted from 0, or a range such as "
              "3-7, found {}; correct it",
              quote_name(text));
  }
  if (*last >= tokens) {
    fail_with(ErrorKind::kUsage,
              "expected positions among the {} tokens (counted from 0), found {}; give "
              "smaller ones",
              tokens, quote_name(text));
  }
  return {*first, *last};
}

void check_filter_utf8(std::span<const FilterToken> tokens) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!find_invalid_utf8(tokens[i].text) && !find_invalid_utf8(tokens[i].word)) continue;
    fail_with(ErrorKind::kUsage,
              "expected tokens in UTF-8, found {} at position {}; give them as "
              "TextCodec::readable does",
              quote_name(tokens[i].text), i);
  }
}

}  // namespace

TokenFilterResult filter_tokens(std::span<const FilterToken> tokens, const TokenFilterOptions& options) {
  check_filter_utf8(tokens);
  TokenFilterResult result;
  result.excluded.assign(tokens.size(), false);
  const auto apply = [&](std::string reason, const auto& holds) {
    TokenFilterRule rule{.reason = std::move(reason)};
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      if (!holds(i)) continue;
      ++rule.tokens;
      if (!result.excluded[i]) ++result.tokens_excluded;
      result.excluded[i] = true;
    }
    result.rules.push_back(std::move(rule));
  };

  if (options.special) apply("special tokens", [&](std::size_t i) { return tokens[i].special; });
  if (!options.stop_words.empty()) {
    std::vector<std::string> words;
    words.reserve(tokens.size());
    for (const FilterToken& token : tokens) words.push_back(token.special ? "" : word_of(token));
    for (const std::string& language : options.stop_words) {
      const std::vector<std::string_view> list = stop_words(language);
      const std::set<std::string_view> known(list.begin(), list.end());
      apply(fmt::format("stop words ({})", language), [&](std::size_t i) { return known.count(words[i]) > 0; });
    }
  }
  if (options.punctuation) apply("punctuation", [&](std::size_t i) { return is_punctuation(tokens[i]); });
  for (const std::string& expression : options.patterns) {
    const Owned<attnflow_pattern> pattern = compile(expression);
    apply(fmt::format("pattern {}", quote_name(expression)),
          [&](std::size_t i) { return attnflow_pattern_matches(pattern.get(), borrow(tokens[i].text)); });
  }
  if (!options.indices.empty()) {
    std::vector<Range> ranges;
    for (const std::string& text : options.indices) ranges.push_back(parse_range(text, tokens.size()));
    apply("chosen positions", [&](std::size_t i) {
      return std::any_of(ranges.begin(), ranges.end(),
                         [&](Range range) { return range.first <= i && i <= range.last; });
    });
  }
  return result;
}

}  // namespace attnflow
