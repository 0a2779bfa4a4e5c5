#include "attnflow/attribution/text_places.h"

#include <fmt/format.h>

#include <algorithm>

#include "attnflow/base/error.h"

namespace attnflow {
namespace internal {

CharacterClass class_at(std::string_view text, std::size_t at) {
  std::size_t begin = code_point_begin(text, at);
  return character_class(next_or_replacement(text, begin));
}

std::size_t skip_spaces(std::string_view text, std::size_t at) {
  while (at < text.size()) {
    std::size_t next = at;
    if (character_class(next_or_replacement(text, next)) != CharacterClass::kSpace) break;
    at = next;
  }
  return at;
}

}  // namespace internal

namespace {

using internal::class_at;
using internal::skip_spaces;

// The byte offset of each code point, and the end.
std::vector<std::size_t> code_point_begins(std::string_view text) {
  std::vector<std::size_t> begins;
  for (std::size_t at = 0; at < text.size(); next_code_point(text, at)) begins.push_back(at);
  begins.push_back(text.size());
  return begins;
}

// The end of the visible character that contains `at`, or `at` if it is between two.
std::size_t visible_end(std::string_view text, std::size_t at) {
  if (at == text.size() || is_grapheme_boundary(text, at)) return at;
  std::size_t begin = at;
  do {
    begin = code_point_begin(text, begin - 1);
  } while (begin > 0 && !is_grapheme_boundary(text, begin));
  return grapheme_end(text, begin);
}

// Normalization drops accents, vowel signs and joiners, but the word in the text ends after them.
void extend_to_visible(std::string_view text, std::vector<ByteRange>& ranges) {
  std::size_t limit = text.size();  // where the next range begins
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range) {
    const std::size_t covered_after = std::max(limit, range->end);
    if (range->begin < range->end && range->end < covered_after) {
      range->end = std::min(visible_end(text, range->end), covered_after);
    }
    limit = std::min(limit, range->begin);
  }
}

// Whether white space separates two tokens; a token of only white space belongs to the next word.
bool space_between(std::string_view text, const ByteRange& previous, const ByteRange& next) {
  const auto is_space = [&](const ByteRange& range) {
    return range.begin < range.end && skip_spaces(text.substr(0, range.end), range.begin) == range.end;
  };
  if (is_space(previous)) return false;
  if (is_space(next)) return true;
  for (std::size_t at = std::min(previous.end, next.begin); at < next.begin; next_code_point(text, at)) {
    if (class_at(text, at) == CharacterClass::kSpace) return true;
  }
  return false;
}

}  // namespace

ByteRange readable_range(std::string_view text, ByteRange range) {
  range.begin = code_point_begin(text, range.begin);
  while (!is_code_point_boundary(text, range.end)) ++range.end;
  ByteRange trimmed = range;
  trimmed.begin = std::min(skip_spaces(text.substr(0, range.end), range.begin), range.end);
  if (trimmed.begin == range.end) return range;
  while (trimmed.end > trimmed.begin && class_at(text, trimmed.end - 1) == CharacterClass::kSpace) {
    trimmed.end = std::max(code_point_begin(text, trimmed.end - 1), trimmed.begin);
  }
  return trimmed;
}

void place_tokens(InputText& input, const std::vector<std::optional<TokenPlace>>& places) {
  const std::string_view text = input.text;
  check_utf8(text, "text");
  if (places.size() != input.tokens.size()) {
    throw Error(ErrorKind::kBadFile, fmt::format("tokens: expected {} places in the text, one for each token, found {}",
                                                 input.tokens.size(), places.size()));
  }
  const std::vector<std::size_t> begins = code_point_begins(text);
  std::vector<std::size_t> tokens;
  std::vector<ByteRange> ranges;
  for (std::size_t t = 0; t < places.size(); ++t) {
    if (!places[t]) continue;
    const TokenPlace& place = *places[t];
    if (place.begin > place.end || place.end >= begins.size()) {
      throw Error(ErrorKind::kBadFile,
                  fmt::format("tokens: expected places in a text of {} code points, found {} to {} of token {}",
                              begins.size() - 1, place.begin, place.end, t));
    }
    tokens.push_back(t);
    ranges.push_back(readable_range(text, {begins[place.begin], begins[place.end]}));
  }
  extend_to_visible(text, ranges);
  std::size_t word = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (i > 0 &&
        (places[tokens[i]]->split != places[tokens[i - 1]]->split || space_between(text, ranges[i - 1], ranges[i]))) {
      ++word;
    }
    InputToken& token = input.tokens[tokens[i]];
    token.begin = ranges[i].begin;
    token.end = ranges[i].end;
    token.word = word;
  }
}

}  // namespace attnflow
