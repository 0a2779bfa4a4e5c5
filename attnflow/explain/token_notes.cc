#include "attnflow/explain/token_notes.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxListed = 8;
constexpr std::size_t kLongestListed = 24;  // cells

}  // namespace

void note_special_twice(Report& report) {
  const std::vector<InputToken>& tokens = report.input.tokens;
  std::vector<std::string> found;  // without duplicates
  for (std::size_t t = 1; t < tokens.size(); ++t) {
    const InputToken& a = tokens[t - 1];
    const InputToken& b = tokens[t];
    // Exactly one is the user's.
    if (!a.special || !b.special || a.text != b.text || a.begin.has_value() == b.begin.has_value()) continue;
    std::string text = clean_line(a.text);
    if (std::find(found.begin(), found.end(), text) == found.end()) found.push_back(std::move(text));
  }
  if (!found.empty()) report.notes.push_back({NoteCode::kSpecialTokenTwice, {{"tokens", std::move(found)}}});
}

void mark_unknown_words(Report& report) {
  std::size_t count = 0;
  std::vector<std::string> texts;  // without duplicates
  const InputToken* last = nullptr;
  for (std::size_t t = 0; t < report.input.tokens.size(); ++t) {
    InputToken& token = report.input.tokens[t];
    token.unknown =
        !token.special && token.begin && is_unknown_piece(token.text) && own_text(report.input, t) != token.text;
    if (!token.unknown) continue;
    // Several unknown tokens of one word count once.
    const bool same_word = last != nullptr && token.word && last->word == token.word;
    last = &token;
    if (!same_word) ++count;
    std::string text = shorten(clean_line(display_text(report.input, t)), kLongestListed, "\u2026");
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  if (count == 0) return;
  const std::size_t listed = std::min(texts.size(), kMaxListed);
  const std::size_t not_listed = texts.size() - listed;
  texts.resize(listed);
  report.notes.push_back(
      {NoteCode::kUnknownWords, {{"count", count}, {"words", std::move(texts)}, {"not_listed", not_listed}}});
}

}  // namespace attnflow
