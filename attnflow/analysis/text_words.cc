#include "attnflow/analysis/text_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "attnflow/analysis/fill_report.h"
#include "attnflow/analysis/settings.h"
#include "attnflow/base/error.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

constexpr std::size_t kMostListedWords = 40;
constexpr std::size_t kMostListedPositions = 20;

std::vector<std::size_t> find_exact(const std::vector<TextWord>& words, const std::string& text) {
  std::vector<std::size_t> found;
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (words[w].text == text) found.push_back(w);
  }
  return found;
}

// A byte-level piece may stand for the space before its word as well.
std::string without_leading_spaces(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::vector<std::size_t> last_tokens(const std::vector<TextWord>& words, const std::vector<std::size_t>& found) {
  std::vector<std::size_t> positions;
  for (const std::size_t word : found) positions.push_back(words[word].tokens.back());
  return positions;
}

std::vector<std::size_t> find_pieces(const Report& report, const std::string& text) {
  std::vector<std::size_t> found;
  for (std::size_t t = 0; t < report.input.tokens.size(); ++t) {
    const bool same = report.input.tokens[t].text == text || without_leading_spaces(display_text(report, t)) == text;
    if (same) found.push_back(t);
  }
  return found;
}

std::string list_positions(const std::vector<std::size_t>& positions) {
  const std::size_t listed = std::min(positions.size(), kMostListedPositions);
  const std::vector<std::size_t> some(positions.begin(), positions.begin() + static_cast<std::ptrdiff_t>(listed));
  return fmt::format("{}{}", fmt::join(some, ", "), listed < positions.size() ? ", ..." : "");
}

}  // namespace

std::vector<TextWord> text_words(const Report& report) {
  std::vector<TextWord> words;
  for (const std::vector<std::size_t>& group : word_groups(report.input.tokens)) {
    const ReportToken merged = merge_tokens(report, group);
    if (!merged.begin && report.input.kind == "text") continue;
    const std::string& source = merged.segment == 0 ? report.input.text : report.input.text_pair;
    const bool ranged = merged.begin && merged.end && *merged.begin < *merged.end && *merged.end <= source.size();
    std::string text =
        without_leading_spaces(ranged ? source.substr(*merged.begin, *merged.end - *merged.begin) : merged.text);
    if (!text.empty()) words.push_back({std::move(text), group});
  }
  return words;
}

std::vector<std::size_t> find_words(const std::vector<TextWord>& words, const std::string& text) {
  std::vector<std::size_t> found = find_exact(words, text);
  if (!found.empty() || text.empty()) return found;
  const std::string folded = fold_case(text);
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (fold_case(words[w].text) == folded) found.push_back(w);
  }
  return found;
}

std::string list_words(const std::vector<TextWord>& words) {
  std::vector<std::string> listed;
  for (const TextWord& word : words) {
    std::string text = clean_line(word.text);
    if (std::find(listed.begin(), listed.end(), text) == listed.end()) listed.push_back(std::move(text));
  }
  const std::size_t more = listed.size() - std::min(listed.size(), kMostListedWords);
  listed.resize(listed.size() - more);
  return fmt::format("{}{}", fmt::join(listed, " "), more == 0 ? "" : fmt::format(" and {} more", more));
}

std::size_t resolve_output_token(const Report& report, std::vector<std::string>& notes) {
  const std::string& asked = report.settings.output_token;
  const std::vector<ReportToken>& tokens = report.input.tokens;
  if (!names_token_by_text(asked)) return resolve_output_token(asked, tokens, report.model.causal, notes);

  const std::vector<TextWord> words = text_words(report);
  std::vector<std::size_t> found_words = find_exact(words, asked);
  std::vector<std::size_t> found = last_tokens(words, found_words);
  if (found.empty()) found = find_pieces(report, asked);
  if (found.empty()) {
    found_words = find_words(words, asked);
    found = last_tokens(words, found_words);
  }
  const std::string text = clean_line(asked);
  if (found.empty()) {
    throw Error(
        ErrorKind::kUsage,
        fmt::format("--output-token: expected auto, cls, mask, last, all, a position from 0 to {} or the text of a "
                    "token, found '{}'; {}",
                    tokens.size() - 1, text,
                    words.empty() ? std::string("the tokens have no text") : "the words are " + list_words(words)));
  }
  if (found.size() > 1) {
    throw Error(ErrorKind::kUsage, fmt::format("--output-token: expected a text that the input has once, found '{}' {} "
                                               "times, at positions {}; name one of them by its position",
                                               text, found.size(), list_positions(found)));
  }
  const std::size_t pieces = found_words.empty() ? 1 : words[found_words.front()].tokens.size();
  if (pieces > 1 && !report.settings.words) {
    notes.push_back(
        fmt::format("\"{}\" is {} tokens; the output token is the last of them, at position {}. --words "
                    "merges the pieces of words.",
                    text, pieces, found.front()));
  }
  return found.front();
}

}  // namespace attnflow
