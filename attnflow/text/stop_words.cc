#include "attnflow/text/stop_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "attnflow/base/fail.h"
#include "attnflow/files/messages.h"
#include "attnflow/text/stop_words_table.h"

namespace attnflow {
namespace {

using WordLists = std::map<std::string, std::vector<std::string>>;

// stop_words.json has one text for each word class of a language; some words are in two.
WordLists read_lists() {
  WordLists lists;
  const nlohmann::json table = nlohmann::json::parse(internal::kStopWordsTable);
  for (const auto& [language, classes] : table.items()) {
    std::vector<std::string>& words = lists[language];
    for (const nlohmann::json& one : classes) {
      std::istringstream text(one.get<std::string>());
      for (std::string word; text >> word;) words.push_back(word);
    }
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
  }
  return lists;
}

const WordLists& word_lists() {
  static const WordLists lists = read_lists();
  return lists;
}

}  // namespace

std::vector<std::string_view> stop_word_languages() {
  std::vector<std::string_view> languages;
  for (const auto& [language, words] : word_lists()) languages.emplace_back(language);
  return languages;
}

std::vector<std::string_view> stop_words(std::string_view language) {
  const auto list = word_lists().find(std::string(language));
  if (list == word_lists().end()) {
    fail_with(ErrorKind::kUsage, "expected a language that has a list of stop words, found {}; give one of {}",
              internal::quote_name(language), fmt::join(stop_word_languages(), ", "));
  }
  return {list->second.begin(), list->second.end()};
}

}  // namespace attnflow
