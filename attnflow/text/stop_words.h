// Function words of some languages: words that a reader of a ranking already expects to be there.
//
// Articles, pronouns, prepositions, conjunctions, auxiliary and modal verbs, and particles, in lower case; of content
// words none. Words that are as often a content word are left out (English "might" is in, "will" is in, "own" is in,
// "like" is not). What tokenizers make of contractions is in: "don" and "t" of "don't", "l" and "qu" of French
// elisions.
//
// The lists were written for this project from the closed word classes that grammars of each language name. Lists made
// for search engines serve another purpose. Those of Stopwords ISO hold the content words that a ranking is read for:
// 1,298 English ones, "computer", "fire" and "world" among them. Those of NLTK leave many function words out: "could",
// "must" and "without" in English, "où", "quand" and "alors" in French (81 of the 172 here), "wij" and "waarom" in
// Dutch.
#ifndef ATTNFLOW_TEXT_STOP_WORDS_H_
#define ATTNFLOW_TEXT_STOP_WORDS_H_

#include <string_view>
#include <vector>

namespace attnflow {

// Codes of ISO 639-1, in alphabetical order.
std::vector<std::string_view> stop_word_languages();

// The words of a language, each once, in lower case and composed form (NFC). Throws Error(kUsage) for a language that
// has no list.
std::vector<std::string_view> stop_words(std::string_view language);

}  // namespace attnflow

#endif  // ATTNFLOW_TEXT_STOP_WORDS_H_
