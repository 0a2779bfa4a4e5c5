#include "attnflow/analysis/unknown_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "attnflow/attribution/resolve.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxListed = 8;
constexpr std::size_t kLongestListed = 24;  // cells

}  // namespace

void mark_unknown_words(Report& report) {
  std::size_t count = 0;
  std::vector<std::string> texts;  // each once
  const InputToken* last = nullptr;
  for (std::size_t t = 0; t < report.input.tokens.size(); ++t) {
    InputToken& token = report.input.tokens[t];
    token.unknown =
        !token.special && token.begin && is_unknown_piece(token.text) && display_text(report.input, t) != token.text;
    if (!token.unknown) continue;
    // Several unknown pieces of one word are one word.
    const bool same_word = last != nullptr && token.word && last->word == token.word;
    last = &token;
    if (!same_word) ++count;
    std::string text = shorten(clean_line(display_text(report.input, t)), kLongestListed, "\u2026");
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
  }
  if (count == 0) return;
  const std::string more = texts.size() > kMaxListed ? fmt::format(" and {} more", texts.size() - kMaxListed) : "";
  if (texts.size() > kMaxListed) texts.resize(kMaxListed);
  report.notes.push_back(fmt::format(
      "{} not in the model's vocabulary and {}: {}{}.", count == 1 ? "1 word is" : fmt::format("{} words are", count),
      count == 1 ? "looks to it like any other such word" : "look the same to it", fmt::join(texts, ", "), more));
}

}  // namespace attnflow
