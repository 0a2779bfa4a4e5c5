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

struct Language {
  std::vector<std::vector<std::string>> classes;
  std::vector<std::string> words;  // of all classes, sorted
};
using WordLists = std::map<std::string, Language>;

// stop_words.json has one text for each word class of a language. Some words are in two: articles that leave the number
// open come first, in a class of their own.
WordLists read_lists() {
  WordLists lists;
  const nlohmann::json table = nlohmann::json::parse(internal::kStopWordsTable);
  for (const auto& [name, classes] : table.items()) {
    Language& language = lists[name];
    for (const nlohmann::json& one : classes) {
      std::istringstream text(one.get<std::string>());
      std::vector<std::string>& words = language.classes.emplace_back();
      for (std::string word; text >> word;) words.push_back(word);
      language.words.insert(language.words.end(), words.begin(), words.end());
    }
    std::sort(language.words.begin(), language.words.end());
    language.words.erase(std::unique(language.words.begin(), language.words.end()), language.words.end());
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
  for (const auto& [name, language] : word_lists()) languages.emplace_back(name);
  return languages;
}

std::vector<std::string_view> stop_words(std::string_view language) {
  const auto list = word_lists().find(std::string(language));
  if (list == word_lists().end()) {
    fail_with(ErrorKind::kUsage, "expected a language that has a list of stop words, found {}; give one of {}",
              internal::quote_name(language), fmt::join(stop_word_languages(), ", "));
  }
  return {list->second.words.begin(), list->second.words.end()};
}

std::vector<std::string_view> words_of_the_class_of(std::string_view word) {
  const auto holds = [&](const std::vector<std::string>& words) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  const auto class_in = [&](const Language& language) -> const std::vector<std::string>* {
    const auto found = std::find_if(language.classes.begin(), language.classes.end(), holds);
    return found == language.classes.end() ? nullptr : &*found;
  };
  const std::vector<std::string>* words = class_in(word_lists().at("en"));  // "die" is an English word first
  for (auto language = word_lists().begin(); words == nullptr && language != word_lists().end(); ++language) {
    words = class_in(language->second);
  }
  if (words == nullptr) return {};
  return {words->begin(), words->end()};
}

}  // namespace attnflow
