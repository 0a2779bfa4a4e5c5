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

// A request as words and positions of the input.
struct Request {
  std::string shown;                    // safe to print
  std::vector<std::size_t> words;       // with that text
  std::optional<std::size_t> position;  // the number that it is
  std::string counted;                  // of "author:2", its word and number
  std::vector<std::size_t> counted_words;
  std::optional<std::size_t> count;
};

Request read_request(const std::string& asked, const std::vector<TextWord>& words) {
  Request request;
  request.words = find_words(words, asked);
  const std::size_t colon = asked.rfind(':');
  if (colon != std::string::npos) {
    request.counted_words = find_words(words, asked.substr(0, colon));
    request.counted = clean_line(asked.substr(0, colon));
    request.count = internal::parse_number(asked.substr(colon + 1));
  }
  request.position = internal::parse_number(asked);
  request.shown = clean_line(asked);
  return request;
}

[[noreturn]] void not_found(const std::vector<TextWord>& words, const std::string& shown, std::size_t tokens) {
  if (words.empty()) {
    throw internal::usage_error(
        "--referents: expected tokens with text, to find '{}' among them, found an attention file without tokens; "
        "store an array 'tokens' next to the attention, or give positions from 0 to {}",
        shown, tokens - 1);
  }
  throw internal::usage_error(
      "--referents: expected words of the text or positions from 0 to {}, found '{}'; the words are {}", tokens - 1,
      shown, list_words(words));
}

[[noreturn]] void ambiguous(const std::vector<TextWord>& words, const Request& request) {
  std::vector<std::size_t> positions;
  for (const std::size_t word : request.words) positions.push_back(words[word].tokens.front());
  throw internal::usage_error(
      "--referents: expected a word that occurs once, found '{0}' {1} times (at positions {2}); write {0}:1 for the "
      "first occurrence, {0}:2 for the second, or a position",
      request.shown, positions.size(), fmt::join(positions, ", "));
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

ReportReferent numbered(const Report& report, const std::vector<TextWord>& words, const Request& request) {
  const std::size_t position = *request.position;
  if (!request.words.empty()) {
    const std::vector<std::size_t>& tokens = words[request.words.front()].tokens;
    if (request.words.size() > 1 || tokens != std::vector<std::size_t>{position}) {
      throw internal::usage_error(
          "--referents: expected a word or a position, found '{0}', which is both; write {0}:1 for the word, at "
          "position {1}, or name the token at position {0} by its text",
          request.shown, tokens.front());
    }
  }
  const std::size_t n = report.input.tokens.size();
  if (position >= n) not_found(words, request.shown, n);
  return referent_at(report, words, position);
}

ReportReferent counted(const Report& report, const std::vector<TextWord>& words, const Request& request) {
  const std::size_t n = report.input.tokens.size();
  if (!request.count) not_found(words, request.shown, n);
  const std::vector<std::size_t>& found = request.counted_words;
  if (found.empty()) not_found(words, request.counted, n);
  if (*request.count < 1 || *request.count > found.size()) {
    throw internal::usage_error("--referents: expected an occurrence of '{}' from 1 to {}, found {}", request.counted,
                                found.size(), request.shown);
  }
  const TextWord& word = words[found[*request.count - 1]];
  return {word.text, word.tokens};
}

ReportReferent resolve(const Request& request, const Report& report, const std::vector<TextWord>& words) {
  if (request.position) return numbered(report, words, request);
  if (request.words.size() > 1) ambiguous(words, request);
  if (request.words.empty()) return counted(report, words, request);
  const TextWord& word = words[request.words.front()];
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
    ReportReferent referent = resolve(read_request(request, words), report, words);
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
