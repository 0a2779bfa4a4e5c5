// Word lists as literals, and tables that can be looked up with string views, without a copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace attnflow::internal {

inline std::vector<std::string_view> listed_words(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(' '), list.size());
    words.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

using WordSet = std::unordered_set<std::string_view>;

// `list` must outlive the set, as a literal does.
inline WordSet word_set(std::string_view list) {
  const std::vector<std::string_view> words = listed_words(list);
  return {words.begin(), words.end()};
}

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <typename T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

}  // namespace attnflow::internal
