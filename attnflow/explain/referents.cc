#include "attnflow/explain/referents.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "attnflow/attribution/words.h"
#include "attnflow/base/format_error.h"
#include "attnflow/base/parse_number.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

[[noreturn]] void not_found(const std::vector<TextWord>& words, const std::string& asked, std::size_t tokens) {
  if (words.empty()) {
    throw internal::usage_error(
        "--referents: expected tokens with text, to find '{}' among them, found an attention file without tokens; "
        "store an array 'tokens' next to the attention, or give positions from 0 to {}",
        clean_line(asked), tokens - 1);
  }
  throw internal::usage_error(
      "--referents: expected words of the text or positions from 0 to {}, found '{}'; the words are {}", tokens - 1,
      clean_line(asked), list_words(words));
}

[[noreturn]] void ambiguous(const std::vector<TextWord>& words, const std::vector<std::size_t>& found,
                            const std::string& asked) {
  std::vector<std::size_t> positions;
  for (const std::size_t word : found) positions.push_back(words[word].tokens.front());
  const std::string text = clean_line(asked);
  throw internal::usage_error(
      "--referents: expected a word that occurs once, found '{}' {} times (at positions {}); write {}:1 for the first "
      "occurrence, {}:2 for the second, or a position",
      text, found.size(), fmt::join(positions, ", "), text, text);
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

ReportReferent resolve(const std::string& asked, const Report& report, const std::vector<TextWord>& words) {
  const std::size_t n = report.input.tokens.size();
  const std::vector<std::size_t> found = find_words(words, asked);
  if (const auto position = internal::parse_number(asked)) {
    const bool is_that_word = found.size() == 1 && words[found.front()].tokens == std::vector<std::size_t>{*position};
    if (!found.empty() && !is_that_word) {
      throw internal::usage_error(
          "--referents: expected a word or a position, found '{0}', which is both; write {0}:1 for the word, at "
          "position {1}, or name the token at position {0} by its text",
          asked, words[found.front()].tokens.front());
    }
    if (*position >= n) not_found(words, asked, n);
    return referent_at(report, words, *position);
  }
  if (found.size() == 1) return {words[found.front()].text, words[found.front()].tokens};
  if (!found.empty()) ambiguous(words, found, asked);

  const std::size_t colon = asked.rfind(':');
  const auto count = colon == std::string::npos ? std::nullopt : internal::parse_number(asked.substr(colon + 1));
  if (!count) not_found(words, asked, n);
  const std::string text = asked.substr(0, colon);
  const std::vector<std::size_t> occurrences = find_words(words, text);
  if (occurrences.empty()) not_found(words, text, n);
  if (*count < 1 || *count > occurrences.size()) {
    throw internal::usage_error("--referents: expected an occurrence of '{}' from 1 to {}, found {}", clean_line(text),
                                occurrences.size(), clean_line(asked));
  }
  const TextWord& word = words[occurrences[*count - 1]];
  return {word.text, word.tokens};
}

}  // namespace

void check_referents(const std::vector<std::string>& asked) {
  if (asked.empty()) return;
  if (asked.size() < 2 || asked.size() > kMaxReferents) {
    throw internal::usage_error("--referents: expected 2 to {} comma-separated words, such as author,Sara, found {}",
                                kMaxReferents, asked.size());
  }
  if (std::find(asked.begin(), asked.end(), "") != asked.end()) {
    throw internal::usage_error("--referents: expected comma-separated words, found an empty one");
  }
}

std::vector<ReportReferent> resolve_referents(const std::vector<std::string>& asked, const Report& report) {
  check_referents(asked);
  std::vector<ReportReferent> referents;
  if (asked.empty()) return referents;
  const std::vector<TextWord> words = text_words(report.input);
  const bool flow = report.settings.wants(Method::kFlow);
  for (const std::string& request : asked) {
    ReportReferent referent = resolve(request, report, words);
    for (const ReportReferent& other : referents) {
      if (std::find_first_of(other.tokens.begin(), other.tokens.end(), referent.tokens.begin(),
                             referent.tokens.end()) != other.tokens.end()) {
        throw internal::usage_error("--referents: expected different words, found '{}' twice",
                                    clean_line(referent.text));
      }
    }
    if (flow && !report.settings.words && referent.tokens.size() > 1) {
      throw internal::usage_error(
          "--referents: expected words of one token each, found '{}', which is {} tokens; the flow to a word is not "
          "the sum of the flows to its subword tokens: pass --words, or exclude flow with --method raw,rollout",
          clean_line(referent.text), referent.tokens.size());
    }
    referents.push_back(std::move(referent));
  }
  return referents;
}

}  // namespace attnflow
