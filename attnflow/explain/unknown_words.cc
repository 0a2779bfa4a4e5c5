#include "attnflow/explain/unknown_words.h"

#include <algorithm>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxListed = 8;
constexpr std::size_t kLongestListed = 24;  // cells

}  // namespace

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
