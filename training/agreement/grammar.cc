#include "training/agreement/grammar.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <string>
#include <string_view>
#include <utility>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "training/agreement/prose.h"

namespace attnflow {
namespace {

constexpr std::size_t kFewestPairs = 20;

using Forms = std::pair<std::string_view, std::string_view>;  // singular, plural

// Those that fit both numbers, and so do not reveal it, come first and are drawn three times out of four.
constexpr std::array<std::string_view, 6> kDeterminers = {"the", "the", "the", "our", "their", "his"};
constexpr std::array<std::string_view, 6> kSingularDeterminers = {"a", "a", "this", "that", "every", "each"};
constexpr std::size_t kCoordinated = 4;  // number of them usable in coordination; "each dog and each cat" is singular
constexpr std::array<std::string_view, 8> kPluralDeterminers = {"these", "those", "many",    "some",
                                                                "all",   "two",   "several", "most"};
constexpr std::array<std::string_view, 40> kAdjectives = {
    "old",     "new",       "large",    "small",     "important", "strange",  "modern",  "ancient",
    "simple",  "complex",   "common",   "rare",      "famous",    "early",    "late",    "powerful",
    "weak",    "strong",    "quiet",    "different", "similar",   "original", "recent",  "poor",
    "rich",    "beautiful", "great",    "little",    "young",     "special",  "useful",  "local",
    "foreign", "dangerous", "familiar", "central",   "distant",   "secret",   "perfect", "ordinary"};
constexpr std::array<std::string_view, 22> kPrepositions = {
    "of",     "of",    "of",    "of",      "to",     "near",   "in",      "in",     "behind",     "with", "for",
    "beside", "under", "above", "against", "beyond", "around", "without", "within", "concerning", "from", "on"};
constexpr std::array<Forms, 20> kVerbs = {
    {{"follows", "follow"},     {"supports", "support"}, {"describes", "describe"},
     {"needs", "need"},         {"sees", "see"},         {"knows", "know"},
     {"includes", "include"},   {"affects", "affect"},   {"requires", "require"},
     {"changes", "change"},     {"creates", "create"},   {"protects", "protect"},
     {"replaces", "replace"},   {"contains", "contain"}, {"represents", "represent"},
     {"resembles", "resemble"}, {"explains", "explain"}, {"produces", "produce"},
     {"uses", "use"},           {"has", "have"}}};
constexpr std::array<std::string_view, 12> kPast = {"saw",      "described", "made",    "followed", "knew",  "built",
                                                    "required", "created",   "changed", "found",    "wrote", "loved"};
constexpr std::array<std::string_view, 10> kAdverbs = {"often",   "usually",  "always", "never",     "also",
                                                       "already", "probably", "still",  "certainly", "therefore"};
constexpr std::array<Forms, 2> kBe = {{{"is", "are"}, {"was", "were"}}};

bool takes_an(std::string_view word) {
  for (const std::string_view beginning : {"hour", "honest", "honor", "honour", "heir"}) {
    if (word.starts_with(beginning)) return true;
  }
  for (const std::string_view beginning : {"uni", "use", "usu", "uti", "eu", "one", "once"}) {
    if (word.starts_with(beginning)) return false;
  }
  return !word.empty() && std::string_view("aeiou").find(word.front()) != std::string_view::npos;
}

class Grammar {
 public:
  Grammar(const std::vector<NounPair>& nouns, std::size_t count, Random& random)
      : nouns_(nouns), count_(count), random_(random) {}

  // last_plural() is then the number of its last noun.
  std::string subject(bool plural) {
    text_.clear();
    if (plural && random_.below(5) == 0) {
      phrase(flip(), kCoordinated);
      append("and");
      phrase(flip(), kCoordinated);
      return text_;
    }
    phrase(plural);
    switch (random_.below(6)) {
      case 0:
        break;
      case 1:
      case 2:
        modifier();
        break;
      case 3:
        modifier();
        modifier();
        break;
      case 4:
        relative(plural);
        break;
      default:
        modifier();
        relative(plural);
        break;
    }
    if (random_.below(8) == 0) append(pick(kAdverbs));
    return text_;
  }

  bool last_plural() const { return last_plural_; }

 private:
  bool flip() { return random_.below(2) == 1; }

  template <std::size_t N>
  std::string_view pick(const std::array<std::string_view, N>& words) {
    return words[static_cast<std::size_t>(random_.below(N))];
  }
  std::string_view pick_verb(bool plural) {
    const Forms& forms = kVerbs[static_cast<std::size_t>(random_.below(kVerbs.size()))];
    return plural ? forms.second : forms.first;
  }

  void append(std::string_view word) {
    if (!text_.empty()) text_ += ' ';
    text_ += word;
  }

  // A singular phrase begins with one of the first `determiners` singular determiners.
  void phrase(bool plural, std::size_t determiners = kSingularDeterminers.size()) {
    const NounPair& pair = nouns_[static_cast<std::size_t>(random_.below(count_))];
    const std::string& noun = plural ? pair.plural : pair.singular;
    std::string_view determiner = pick(kDeterminers);
    if (random_.below(4) == 0) {
      determiner = plural ? pick(kPluralDeterminers) : kSingularDeterminers[random_.below(determiners)];
    }
    const std::string_view adjective = random_.below(3) == 0 ? pick(kAdjectives) : std::string_view();
    if (determiner == "a" && takes_an(adjective.empty() ? std::string_view(noun) : adjective)) determiner = "an";
    append(determiner);
    if (!adjective.empty()) append(adjective);
    append(noun);
    last_plural_ = plural;
  }

  void modifier() {
    append(pick(kPrepositions));
    phrase(flip());
  }

  // Directly after a modifier, it may be read as attached to the modifier's noun. An object relative clause suits
  // either noun; in a subject relative clause the verb shows which is meant unless both have the same number, and then
  // the label holds for both readings.
  void relative(bool plural) {
    append("that");
    if (flip()) {
      append(pick_verb(plural));
      phrase(flip());
      return;
    }
    const bool agent = flip();
    phrase(agent);
    append(flip() ? pick_verb(agent) : pick(kPast));
  }

  const std::vector<NounPair>& nouns_;
  std::size_t count_;
  Random& random_;
  std::string text_;
  bool last_plural_ = false;
};

}  // namespace

std::vector<AgreementExample> grammar_examples(const NounLexicon& lexicon, const GrammarOptions& options) {
  const std::size_t nouns = std::min(options.nouns, lexicon.pairs().size());
  if (nouns < kFewestPairs) {
    throw Error(
        ErrorKind::kBadFile,
        fmt::format("sentences of the grammar: expected at least {} nouns with singular and plural in the text, "
                    "found {}; give more English prose",
                    kFewestPairs, nouns));
  }
  Random random(options.seed);
  Grammar grammar(lexicon.pairs(), nouns, random);
  std::vector<AgreementExample> examples;
  examples.reserve(options.count);
  std::vector<ProseWord> words;
  for (std::size_t i = 0; i < options.count; ++i) {
    AgreementExample example;
    example.plural = i % 2 == 1;
    example.attractor = i / 2 % 2 == 1;
    example.source = "grammar";
    do {  // about every second sentence has the wanted kind
      example.text = grammar.subject(example.plural);
    } while ((grammar.last_plural() != example.plural) != example.attractor);
    const Forms& forms = kBe[static_cast<std::size_t>(random.below(kBe.size()))];
    example.verb = example.plural ? forms.second : forms.first;
    assert(!example.text.empty() && example.text.front() >= 'a' && example.text.front() <= 'z');
    example.text.front() = static_cast<char>(example.text.front() - 'a' + 'A');
    split_words(example.text, words);
    example.words = words.size();
    examples.push_back(std::move(example));
  }
  return examples;
}

}  // namespace attnflow
