#include "attnflow/train/word_endings.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

namespace attnflow::internal {
namespace {

constexpr std::size_t kShortestStem = 2;

bool has_vowel(std::string_view text) { return text.find_first_of("aeiouy") != std::string_view::npos; }

class Splitter {
 public:
  explicit Splitter(const WordCounts& counts) : counts_(counts) {}

  // The ending that `word` has, or nothing.
  std::string_view ending(std::string_view word) const {
    if (word.ends_with('s')) return ending_in_s(word);
    if (word.ends_with("eed"))
      return count(without(word, 1)) > 0 ? last(word, 1) : std::string_view();  // agree|d, seed
    if (word.ends_with("ed") && has_vowel(without(word, 2))) {
      return count(without(word, 1)) > count(without(word, 2)) ? last(word, 1) : last(word, 2);
    }
    if (word.ends_with("ing") && has_vowel(without(word, 3))) return last(word, 3);
    if (word.ends_with("ically") && count(without(word, 2)) == 0) return last(word, 4);
    if (word.ends_with("ly") && has_vowel(without(word, 2))) return last(word, 2);
    return {};
  }

 private:
  static std::string_view without(std::string_view word, std::size_t size) {
    return word.substr(0, word.size() - std::min(size, word.size()));
  }
  static std::string_view last(std::string_view word, std::size_t size) { return word.substr(word.size() - size); }

  std::uint64_t count(std::string_view word) const {
    const auto found = counts_.find(std::string(word));
    return found == counts_.end() ? 0 : found->second;
  }

  std::string_view ending_in_s(std::string_view word) const {
    for (const std::string_view ending : {"ness", "less", "ess", "iss", "uss"}) {
      if (word.ends_with(ending) && word.size() >= ending.size() + kShortestStem) return last(word, ending.size());
    }
    if (word.ends_with("ss")) return last(word, 2);
    const std::uint64_t bare = count(without(word, 1));
    for (const std::string_view ending : {"ous", "us", "is"}) {
      if (word.ends_with(ending)) return last(word, bare > count(word) ? 1 : ending.size());
    }
    if (word.ends_with("ies")) {
      const std::uint64_t with_y = count(std::string(without(word, 3)) + "y");
      return last(word, bare > with_y ? 1 : 3);
    }
    if (word.ends_with("es")) {
      const std::string_view stem = without(word, 2);
      const std::uint64_t shorter = count(stem);
      if (bare != shorter) return last(word, bare > shorter ? 1 : 2);
      for (const std::string_view sibilant : {"ss", "x", "z", "ch", "sh"}) {
        if (stem.ends_with(sibilant)) return last(word, 2);
      }
    }
    return last(word, 1);
  }

  const WordCounts& counts_;
};

bool is_inflection(std::string_view ending) {
  return std::find(kInflectionsInS.begin(), kInflectionsInS.end(), ending) != kInflectionsInS.end();
}

bool is_plain(std::string_view word) {
  return std::all_of(word.begin(), word.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); });
}

}  // namespace

std::vector<std::string_view> split_endings(std::string_view word, const WordCounts& counts) {
  std::vector<std::string_view> parts = {word};
  if (!is_plain(word)) return parts;
  const Splitter splitter(counts);
  // "drawings", "kindnesses" and "supposedly" have two; an ending in s stands only before es.
  for (int level = 0; level < 2; ++level) {
    const std::string_view stem = parts.front();
    const std::string_view ending = splitter.ending(stem);
    if (ending.empty() || stem.size() < ending.size() + kShortestStem) break;
    if (level == 1 && ending.ends_with('s') && (parts[1] != "es" || is_inflection(ending))) break;
    parts.front() = stem.substr(0, stem.size() - ending.size());
    parts.insert(parts.begin() + 1, ending);
  }
  return parts;
}

}  // namespace attnflow::internal
