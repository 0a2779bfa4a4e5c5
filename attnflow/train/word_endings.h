// The border between an English word's stem and its ending.
#ifndef ATTNFLOW_TRAIN_WORD_ENDINGS_H_
#define ATTNFLOW_TRAIN_WORD_ENDINGS_H_

#include <array>
#include <string_view>
#include <vector>

#include "attnflow/train/word_counts.h"

namespace attnflow::internal {

// Endings in s that nouns take in the plural and verbs in the third person, and those of singular nouns and adjectives
// ("focus", "crisis", "kindness"). Among these are ess, iss and uss because a greedy cut would find es, is and us
// there.
inline constexpr std::array<std::string_view, 3> kInflectionsInS = {"s", "es", "ies"};
inline constexpr std::array<std::string_view, 9> kSingularInS = {"ss",  "ess", "iss",  "uss", "us",
                                                                 "ous", "is",  "ness", "less"};
// Endings of verb forms and adverbs; ally where there is no adjective in al ("basically").
inline constexpr std::array<std::string_view, 5> kOtherEndings = {"ed", "d", "ing", "ly", "ally"};

// A word as its stem and its endings: {"gadget", "s"}, {"draw", "ing", "s"}, {"table"}. Views into `word`. Spelling
// alone does not tell house+s from box+es nor like+d from walk+ed, so where two borders are possible that one is taken
// whose stem stands in `counts` more often, and if neither does, the one that spelling makes likely (es after ss, x, z,
// ch, sh; ed). "Seed" has no ending. Stems keep at least two characters. A word with other characters than letters a to
// z and digits has no ending.
std::vector<std::string_view> split_endings(std::string_view word, const WordCounts& counts);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TRAIN_WORD_ENDINGS_H_
