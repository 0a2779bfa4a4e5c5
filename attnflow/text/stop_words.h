// Function words of several languages: words that a reader of a ranking expects anyway and learns nothing from.
//
// Articles, pronouns, prepositions, conjunctions, auxiliary and modal verbs, and particles, in lower case. Words that
// are just as often content words are left out (English "might" is in, "will" is in, "own" is in, "like" is not). The
// parts that tokenizers split off contractions are in: "don" and "t" of "don't", "l" and "qu" of French elisions.
//
// The lists were written for this project from the closed word classes given by grammars of each language, because
// lists made for search engines serve another purpose. The Stopwords ISO lists contain the content words that a ranking
// is read for: 1,298 English words, among them "computer", "fire" and "world". The NLTK lists omit many function words:
// "could", "must" and "without" in English, "où", "quand" and "alors" in French (81 of the 172 here), "wij" and
// "waarom" in Dutch.
//
// stop_words.json holds the lists, one text for each word class. The build embeds it, and the page reads it.
#pragma once

#include <string_view>
#include <vector>

namespace attnflow {

// ISO 639-1 codes, in alphabetical order.
std::vector<std::string_view> stop_word_languages();

// Each word once, in lower case and composed form (NFC). Throws Error(kUsage) for a language that has no list.
std::vector<std::string_view> stop_words(std::string_view language);

// The function words of the same class (articles and the like, pronouns, prepositions, ...) as `word`, which is one of
// them, in the first language that has it, English before others. For "the" and other determiners that leave the
// number open, only such determiners. Empty for a word that no list has.
std::vector<std::string_view> words_of_the_class_of(std::string_view word);

}  // namespace attnflow
