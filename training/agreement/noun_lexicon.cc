#include "training/agreement/noun_lexicon.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>

namespace attnflow {
namespace {

using internal::word_set;
using internal::WordSet;

constexpr std::size_t kFewest = 3;
constexpr double kNounRatio = 2.0;
constexpr double kEndShare = 0.25;
constexpr std::size_t kFewestVerbs = 12;
constexpr double kVerbShare = 0.85;

constexpr std::string_view kIrregular =
    "man men woman women child children person people foot feet tooth teeth goose geese mouse mice louse lice "
    "ox oxen criterion criteria phenomenon phenomena bacterium bacteria medium media memorandum memoranda "
    "stratum strata spectrum spectra mitochondrion mitochondria ovum ova analysis analyses hypothesis hypotheses "
    "thesis theses crisis crises basis bases axis axes oasis oases diagnosis diagnoses synthesis syntheses "
    "parenthesis parentheses nucleus nuclei stimulus stimuli fungus fungi bacillus bacilli radius radii locus loci "
    "alumnus alumni vertebra vertebrae larva larvae alga algae antenna antennae formula formulae appendix appendices "
    "vertex vertices matrix matrices";

// As in gentleman, fisherwoman, schoolchild.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kIrregularEndings = {{
    {"man", "men"},
    {"child", "children"},
}};

// Nouns that have the same form in both numbers, or whose form may be either.
const WordSet& same_in_both() {
  static const WordSet kWords = word_set(
      "species series means sheep deer fish aircraft data offspring headquarters crossroads barracks works others "
      "kind lot");
  return kWords;
}

const WordSet& function_words() {
  static const WordSet kWords = word_set(
      "a about above across after again against all almost alone along already also although always am among an and "
      "another any anyone anything are around as at away back be because been before behind being below beneath "
      "between beyond both but by can cannot could did do does doing done down during each either else enough even "
      "ever every everyone everything except far few for former from further had has have having he hence her here "
      "hers herself him himself his how however i if in indeed inside into is it its itself just last latter least "
      "less like likewise many may me mere might mine more moreover most much must my myself near neither never "
      "nevertheless next no nobody none nor not nothing now nowhere of off often on once one only onto or other our "
      "ours ourselves out outside over own per perhaps quite rather same seldom several shall she should since so "
      "some somebody someone something sometimes soon still such than that the thee their theirs them themselves "
      "then there therefore these they this those thou though through throughout thus thy till to today together too "
      "toward towards under unless until up upon us very was we were what whatever when where whether which while "
      "who whom whose why will with within without would yes yet you your yours yourself first second third two "
      "three four five six seven eight nine ten hundred thousand million billion half following ago forth aside "
      "later earlier instead otherwise meanwhile well alike anew abroad good great true important necessary "
      "available present alive dead afterward afterwards due free low high equal common general past self nowadays "
      "elsewhere everywhere somewhat somehow anyway thereby whereas");
  return kWords;
}

bool is_word(std::string_view text) {
  if (text.size() < 2) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= 'a' && c <= 'z') || static_cast<unsigned char>(c) >= 0x80; });
}

bool is_adverb_or_participle(std::string_view word) {
  return word.ends_with("ly") || word.ends_with("ed") || word.ends_with("ing");
}

enum class Cue { kNone, kSingular, kNoun, kVerb };

Cue cue_of(std::string_view word) {
  static const WordSet kSingular = word_set("a an another each every");
  static const WordSet kNoun = word_set(
      "the of its his their our my your these those many several few two three four other various some such no this "
      "any certain different between among all new great");
  static const WordSet kVerb = word_set(
      "to they it he she we i you who which can could will would shall should may might must not cannot thou also "
      "often");
  if (kSingular.contains(word)) return Cue::kSingular;
  if (kNoun.contains(word)) return Cue::kNoun;
  if (kVerb.contains(word)) return Cue::kVerb;
  return Cue::kNone;
}

// The singulars to which a regular plural may belong, likeliest first.
std::vector<std::string> regular_singulars(std::string_view plural) {
  std::vector<std::string> singulars;
  const auto without = [&](std::size_t n, std::string_view add) {
    if (plural.size() > n + 1) singulars.push_back(std::string(plural.substr(0, plural.size() - n)) + std::string(add));
  };
  if (!plural.ends_with("s") || plural.ends_with("ss") || plural.ends_with("us")) return singulars;
  if (plural.ends_with("ies")) without(3, "y");
  if (plural.ends_with("ves")) {
    without(3, "f");
    without(3, "fe");
  }
  const bool hissing = plural.ends_with("ses") || plural.ends_with("xes") || plural.ends_with("zes") ||
                       plural.ends_with("ches") || plural.ends_with("shes") || plural.ends_with("oes");
  if (hissing) without(2, "");
  without(1, "");
  return singulars;
}

}  // namespace

GrammaticalNumber NounLexicon::number(std::string_view word) const {
  const auto found = numbers_.find(word);
  return found == numbers_.end() ? GrammaticalNumber::kUnknown : found->second;
}

void NounLexiconBuilder::add(const ProseDocument& document) {
  std::vector<ProseWord> words;
  for (const std::string_view sentence : sentences_of(document)) {
    split_words(sentence, words);
    add(words);
  }
}

void NounLexiconBuilder::add(const std::vector<ProseWord>& sentence) {
  Cue cue = Cue::kNone;
  Counts* before = nullptr;
  for (const ProseWord& word : sentence) {
    const std::string& text = word.text;
    if (before != nullptr) {
      if (!is_word(text) || function_words().contains(text)) ++before->before_end;
      if (text == "is" || text == "was" || text == "has") ++before->before_singular_verb;
      if (text == "are" || text == "were" || text == "have") ++before->before_plural_verb;
    }
    before = nullptr;
    if (is_word(text)) {
      Counts& counts = counts_[text];
      ++counts.total;
      if (cue == Cue::kSingular) ++counts.after_singular;
      if (cue == Cue::kSingular || cue == Cue::kNoun) ++counts.after_noun_cue;
      if (cue == Cue::kVerb) ++counts.after_verb_cue;
      before = &counts;
    }
    cue = cue_of(text);
  }
  if (before != nullptr) ++before->before_end;
}

NounLexicon NounLexiconBuilder::build() const {
  const auto counts_of = [this](const std::string& word) -> const Counts* {
    const auto found = counts_.find(word);
    return found == counts_.end() ? nullptr : &found->second;
  };
  const auto is_noun = [&](const Counts& counts) {
    return static_cast<double>(counts.after_noun_cue) >= kNounRatio * static_cast<double>(counts.after_verb_cue);
  };
  const auto excluded = [](std::string_view word) {
    return function_words().contains(word) || same_in_both().contains(word);
  };

  NounLexicon lexicon;
  const auto accept = [&](const std::string& singular, const std::string& plural) {
    if (excluded(singular) || excluded(plural) || singular == plural) return false;
    const Counts* const one = counts_of(singular);
    const Counts* const many = counts_of(plural);
    if (one == nullptr || many == nullptr) return false;
    if (one->after_singular < kFewest || many->total < kFewest) return false;
    if (!is_noun(*one) || !is_noun(*many)) return false;
    // "a need", "the needs": a word that often follows "a" is not a plural.
    if (many->after_singular * 4 > many->after_noun_cue) return false;
    if (lexicon.numbers_.contains(singular) || lexicon.numbers_.contains(plural)) return false;
    lexicon.numbers_[plural] = GrammaticalNumber::kPlural;
    // An adjective that is a noun only in the plural (American, Americans).
    if (static_cast<double>(one->before_end) < kEndShare * static_cast<double>(one->total)) return true;
    lexicon.numbers_[singular] = GrammaticalNumber::kSingular;
    lexicon.pairs_.push_back({singular, plural, one->total + many->total});
    return true;
  };

  std::vector<std::string> words;  // sorted, so that nothing depends on the hash table's order
  words.reserve(counts_.size());
  for (const auto& [word, counts] : counts_) words.push_back(word);
  std::sort(words.begin(), words.end());

  const std::vector<std::string_view> irregular = internal::listed_words(kIrregular);
  for (std::size_t i = 0; i < irregular.size(); i += 2)
    accept(std::string(irregular[i]), std::string(irregular[i + 1]));
  for (const std::string& word : words) {
    for (const auto& [singular, plural] : kIrregularEndings) {
      if (!word.ends_with(plural) || word.size() <= plural.size()) continue;
      accept(word.substr(0, word.size() - plural.size()) + std::string(singular), word);
    }
    for (const std::string& singular : regular_singulars(word)) {
      if (accept(singular, word)) break;
    }
  }

  for (const std::string& word : words) {
    const Counts& counts = *counts_of(word);
    const std::size_t verbs = counts.before_singular_verb + counts.before_plural_verb;
    if (verbs < kFewestVerbs || excluded(word) || is_adverb_or_participle(word)) continue;
    if (lexicon.numbers_.contains(word) || !is_noun(counts)) continue;
    const double share = static_cast<double>(counts.before_singular_verb) / static_cast<double>(verbs);
    if (share >= kVerbShare) lexicon.numbers_[word] = GrammaticalNumber::kSingular;
    if (1 - share >= kVerbShare) lexicon.numbers_[word] = GrammaticalNumber::kPlural;
  }

  std::sort(lexicon.pairs_.begin(), lexicon.pairs_.end(), [](const NounPair& a, const NounPair& b) {
    return a.count != b.count ? a.count > b.count : a.singular < b.singular;
  });
  return lexicon;
}

}  // namespace attnflow
