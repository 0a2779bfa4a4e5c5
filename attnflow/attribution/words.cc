#include "attnflow/attribution/words.h"

#include <fmt/format.h>

#include <algorithm>

#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxListedWords = 40;

}  // namespace

TokenGroups word_groups(const std::vector<InputToken>& tokens) {
  TokenGroups groups;
  for (std::size_t t = 0; t < tokens.size(); ++t) {
    const bool joins =
        t > 0 && tokens[t].word && tokens[t - 1].word == tokens[t].word && tokens[t - 1].segment == tokens[t].segment;
    if (joins) {
      groups.back().push_back(t);
    } else {
      groups.push_back({t});
    }
  }
  return groups;
}

InputToken merge_tokens(const InputText& input, const std::vector<std::size_t>& pieces) {
  InputToken merged = input.tokens[pieces.front()];
  if (pieces.size() == 1) return merged;
  merged.end = input.tokens[pieces.back()].end;
  for (const std::size_t p : pieces) merged.unknown = merged.unknown || input.tokens[p].unknown;
  merged.text = "";
  const std::string& text = merged.segment == 0 ? input.text : input.text_pair;
  if (merged.begin && merged.end && *merged.begin <= *merged.end && *merged.end <= text.size()) {
    merged.text = text.substr(*merged.begin, *merged.end - *merged.begin);
  } else {
    for (const std::size_t p : pieces) merged.text += input.tokens[p].text;
  }
  return merged;
}

std::string without_leading_spaces(std::string text) {
  text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
  return text;
}

std::vector<std::size_t> find_exact_words(const std::vector<TextWord>& words, const std::string& text) {
  std::vector<std::size_t> found;
  for (std::size_t w = 0; w < words.size(); ++w) {
    if (words[w].text == text) found.push_back(w);
  }
  return found;
}

std::vector<TextWord> text_words(const InputText& input) {
  std::vector<TextWord> words;
  for (const std::vector<std::size_t>& group : word_groups(input.tokens)) {
    const InputToken merged = merge_tokens(input, group);
    if (!merged.begin && input.kind == "text") continue;
    const std::string& source = merged.segment == 0 ? input.text : input.text_pair;
    const bool ranged = merged.begin && merged.end && *merged.begin < *merged.end && *merged.end <= source.size();
    std::string text =
        without_leading_spaces(ranged ? source.substr(*merged.begin, *merged.end - *merged.begin) : merged.text);
    if (!text.empty()) words.push_back({std::move(text), group});
  }
  return words;
}

std::vector<std::size_t> find_words(const std::vector<TextWord>& words, const std::string& text) {
  std::vector<std::size_t> found = find_exact_words(words, text);
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
    if (std::find(listed.begin(), listed.end(), word.text) == listed.end()) listed.push_back(word.text);
  }
  const std::size_t more = listed.size() - std::min(listed.size(), kMaxListedWords);
  listed.resize(listed.size() - more);
  return fmt::format("{}{}", fmt::join(listed, " "), more == 0 ? "" : fmt::format(" and {} more", more));
}

}  // namespace attnflow
