#include "attnflow/explain/referents.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "attnflow/attribution/words.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/parse_number.h"

namespace attnflow {
namespace {

AskedReferent take_apart(const std::string& text) {
  AskedReferent asked{
      .text = text, .readings = {{.word = text, .count = std::nullopt}}, .position = internal::parse_number(text)};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return asked;
  if (const auto count = internal::parse_number(text.substr(colon + 1))) {
    asked.readings.push_back({.word = text.substr(0, colon), .count = count});
  }
  return asked;
}

[[noreturn]] void not_found(const std::vector<TextWord>& words, const std::string& text, std::size_t tokens) {
  if (words.empty()) {
    throw internal::usage_error(
        "--referents: expected tokens with text, to find '{}' among them, found an attention file without tokens; "
        "store an array 'tokens' next to the attention, or give positions from 0 to {}",
        text, tokens - 1);
  }
  throw internal::usage_error(
      "--referents: expected words of the text or positions from 0 to {}, found '{}'; the words are {}", tokens - 1,
      text, list_words(words));
}

ReportReferent referent_at(const Report& report, const std::vector<TextWord>& words, std::size_t position) {
  if (report.settings.words) {
    const auto holds = [&](const TextWord& word) {
      return std::find(word.tokens.begin(), word.tokens.end(), position) != word.tokens.end();
    };
    if (const auto word = std::find_if(words.begin(), words.end(), holds); word != words.end()) {
      return {word->text, word->tokens};
    }
  }
  return {display_text(report.input, position), {position}};
}

const TextWord& occurrence(const std::vector<TextWord>& words, const std::vector<std::size_t>& found,
                           const WordReading& reading) {
  if (reading.count && (*reading.count < 1 || *reading.count > found.size())) {
    throw internal::usage_error("--referents: expected an occurrence of '{0}' from 1 to {1}, found {0}:{2}",
                                reading.word, found.size(), *reading.count);
  }
  if (reading.count || found.size() == 1) return words[found[reading.count.value_or(1) - 1]];
  std::vector<std::size_t> positions;
  for (const std::size_t word : found) positions.push_back(words[word].tokens.front());
  throw internal::usage_error(
      "--referents: expected a word that occurs once, found '{0}' {1} times (at positions {2}); write {0}:1 for the "
      "first occurrence, {0}:2 for the second, or a position",
      reading.word, positions.size(), fmt::join(positions, ", "));
}

ReportReferent resolve(const AskedReferent& asked, const Report& report, const std::vector<TextWord>& words) {
  for (const WordReading& reading : asked.readings) {
    const std::vector<std::size_t> found = find_words(words, reading.word);
    if (found.empty()) continue;
    if (!asked.position) {
      const TextWord& word = occurrence(words, found, reading);
      return {word.text, word.tokens};
    }
    const std::vector<std::size_t>& tokens = words[found.front()].tokens;
    if (found.size() == 1 && tokens == std::vector<std::size_t>{*asked.position}) break;
    throw internal::usage_error(
        "--referents: expected a word or a position, found '{0}', which is both; write {0}:1 for the word, at position "
        "{1}, or name the token at position {0} by its text",
        asked.text, tokens.front());
  }
  const std::size_t n = report.input.tokens.size();
  if (!asked.position || *asked.position >= n) not_found(words, asked.readings.back().word, n);
  return referent_at(report, words, *asked.position);
}

}  // namespace

OptionValue to_value(const std::vector<AskedReferent>& asked) {
  std::vector<std::string> texts;
  for (const AskedReferent& one : asked) texts.push_back(one.text);
  return texts;
}

void from_value(const OptionValue& from, std::vector<AskedReferent>& asked) {
  const auto& texts = std::get<std::vector<std::string>>(from);
  asked.clear();
  if (texts.empty()) return;
  if (texts.size() < 2 || texts.size() > kMaxReferents) {
    throw internal::usage_error("--referents: expected 2 to {} comma-separated words, such as author,Sara, found {}",
                                kMaxReferents, texts.size());
  }
  for (const std::string& text : texts) {
    if (text.empty()) throw internal::usage_error("--referents: expected comma-separated words, found an empty one");
    asked.push_back(take_apart(text));
  }
}

std::vector<ReportReferent> resolve_referents(const std::vector<AskedReferent>& asked, const Report& report) {
  std::vector<ReportReferent> referents;
  if (asked.empty()) return referents;
  const std::vector<TextWord> words = text_words(report.input);
  const bool flow = report.settings.wants(Method::kFlow);
  for (const AskedReferent& one : asked) {
    ReportReferent referent = resolve(one, report, words);
    for (const ReportReferent& other : referents) {
      if (std::find_first_of(other.tokens.begin(), other.tokens.end(), referent.tokens.begin(),
                             referent.tokens.end()) != other.tokens.end()) {
        throw internal::usage_error("--referents: expected different words, found '{}' twice", referent.text);
      }
    }
    if (flow && !report.settings.words && referent.tokens.size() > 1) {
      throw internal::usage_error(
          "--referents: expected words of one token each, found '{}', which is {} tokens; the flow to a word is not "
          "the sum of the flows to its subword tokens: pass --words, or exclude flow with --method raw,rollout",
          referent.text, referent.tokens.size());
    }
    referents.push_back(std::move(referent));
  }
  return referents;
}

}  // namespace attnflow
