#include "attnflow/model/llama/pieces.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

using internal::class_at;
using internal::skip_spaces;

// Finds `piece` at `at` in the text, apart from a space that the tokenizer added or white space that it dropped.
std::optional<ByteRange> match_at(std::string_view text, std::size_t at, std::string_view piece) {
  for (const std::size_t begin : {at, skip_spaces(text, at)}) {
    if (text.substr(begin).starts_with(piece)) return ByteRange{begin, begin + piece.size()};
    if (piece.size() > 1 && piece.front() == ' ' && text.substr(begin).starts_with(piece.substr(1)))
      return ByteRange{begin, begin + piece.size() - 1};
  }
  if (piece == " ") return ByteRange{at, at};  // only the added space
  return std::nullopt;
}

// GPT-2's rule takes each of these as a word, whatever letters follow.
constexpr std::array<std::string_view, 7> kContractions = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

class WordScanner {
 public:
  WordScanner(std::string_view text, WordRule rule) : text_(text), rule_(rule) {}

  // `at` < text.size() must be the beginning of a word.
  std::size_t end_of_word(std::size_t at) const {
    std::size_t first = at;
    if (class_at(text_, at) == CharacterClass::kSpace) {
      const std::size_t spaces = skip_spaces(text_, at);
      if (spaces == text_.size()) return spaces;
      // All white space except the last character forms one word; the last one belongs to the word after it if it is a
      // plain space, except before separate digits.
      const std::size_t last = code_point_begin(text_, spaces - 1);
      if (last != at) return last;
      const bool joins = text_[last] == ' ' &&
                         !(rule_ == WordRule::kClassesAndDigits && class_at(text_, spaces) == CharacterClass::kNumber);
      if (!joins) return spaces;
      first = spaces;
    }
    if (rule_ == WordRule::kSpaces)
      return end_of_run(first, [](CharacterClass c) { return c != CharacterClass::kSpace; });
    if (first == at && text_[at] == '\'') {
      for (const std::string_view contraction : kContractions) {
        if (text_.substr(at).starts_with(contraction)) return at + contraction.size();
      }
    }
    const CharacterClass kind = class_at(text_, first);
    if (rule_ == WordRule::kClassesAndDigits && kind == CharacterClass::kNumber) return next(first);
    return end_of_run(first, [&](CharacterClass c) { return c == kind; });
  }

 private:
  std::size_t next(std::size_t at) const {
    next_code_point(text_, at);
    return at;
  }
  template <typename Belongs>
  std::size_t end_of_run(std::size_t at, const Belongs& belongs) const {
    // Accents and vowel signs stay with their letters, unlike in GPT-2's rule.
    const auto goes_on = [&](CharacterClass c) { return c == CharacterClass::kMark || belongs(c); };
    do {
      at = next(at);
    } while (at < text_.size() && goes_on(class_at(text_, at)));
    return at;
  }

  std::string_view text_;
  WordRule rule_;
};

}  // namespace

std::vector<ByteRange> locate_pieces(std::string_view text, const std::vector<std::string>& pieces) {
  std::vector<ByteRange> ranges(pieces.size());
  std::size_t at = 0;
  std::size_t unplaced = 0;  // the first piece without a location
  const auto place = [&](std::size_t piece, ByteRange range) {
    for (std::size_t i = unplaced; i < piece; ++i) ranges[i] = {at, range.begin};
    ranges[piece] = range;
    at = range.end;
    unplaced = piece + 1;
  };
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view piece = pieces[i];
    if (piece.empty()) continue;
    if (unplaced == i) {
      if (const auto range = match_at(text, at, piece)) place(i, *range);
      continue;
    }
    // Takes the next occurrence after pieces without a match.
    const std::string_view bare = piece.size() > 1 && piece.front() == ' ' ? piece.substr(1) : piece;
    if (const std::size_t found = text.find(bare, at); found != std::string_view::npos && bare != " ")
      place(i, {found, found + bare.size()});
  }
  for (std::size_t i = unplaced; i < pieces.size(); ++i) ranges[i] = {at, text.size()};
  return ranges;
}

std::vector<std::size_t> number_words(std::string_view text, const std::vector<ByteRange>& ranges, WordRule rule,
                                      const std::vector<bool>& alone) {
  const auto is_alone = [&](std::size_t piece) { return !alone.empty() && alone[piece]; };
  std::vector<std::size_t> words(ranges.size());
  std::size_t count = 0;
  for (std::size_t begin = 0; begin < ranges.size();) {
    std::size_t end = begin + 1;
    if (is_alone(begin)) {
      words[begin] = count++;
      begin = end;
      continue;
    }
    while (end < ranges.size() && !is_alone(end)) ++end;
    // Words do not extend beyond the text between two separate pieces.
    const std::string_view stretch = text.substr(0, ranges[end - 1].end);
    const WordScanner scanner(stretch, rule);
    std::size_t word_end = ranges[begin].begin;
    ++count;
    for (std::size_t piece = begin; piece < end; ++piece) {
      bool starts = false;
      while (word_end <= ranges[piece].begin && word_end < stretch.size()) {
        word_end = scanner.end_of_word(word_end);
        starts = true;
      }
      if (starts && piece != begin) ++count;
      words[piece] = count - 1;
    }
    begin = end;
  }
  return words;
}

}  // namespace attnflow
