#include "training/agreement/agreement_rules.h"

#include <algorithm>
#include <array>
#include <utility>

#include "training/agreement/word_lists.h"

namespace attnflow {
namespace {

constexpr std::size_t kFirstLexicalVerb = 4;

}  // namespace

namespace internal {
namespace {

enum : WordClass {
  kAdverb = 1U << 0,  // may occur between subject and verb
  kPreposition = 1U << 1,
  kDeterminer = 1U << 2,    // begins a noun phrase and cannot be one
  kPronoun = 1U << 3,       // a subject by itself
  kPerson = 1U << 4,        // I, you: forms that do not show number
  kModal = 1U << 5,         // a base form follows, near or far
  kCausative = 1U << 6,     // a noun and then a base form may follow
  kMandative = 1U << 7,     // a subjunctive may follow (they require that it have)
  kUnreal = 1U << 8,        // "were" may follow in either number (if it were)
  kBoundary = 1U << 9,      // begins a clause
  kCoordinator = 1U << 10,  // and, but, or, nor
  kDisjunction = 1U << 11,  // or, nor
  kWh = 1U << 12,           // begins a clause as subject, or a question
  kRelative = 1U << 13,     // who, which, that
  kInverting = 1U << 14,    // directly before a verb: its subject follows
  kAmbiguous = 1U << 15,    // a subject of either number
  kHaveOrBe = 1U << 16,     // a participle may follow
  kNominative = 1U << 17,   // directly after a verb: the verb's subject
  kFronted = 1U << 18,      // an adjective that often precedes "is" and its subject
  kQuantity = 1U << 19,     // X of which
  kSubordinator = 1U << 20,
  kConditional = 1U << 26,  // begins a clause that may be in the subjunctive
  kQuote = 1U << 21,
  kOpening = 1U << 22,
  kClosing = 1U << 23,
  kDash = 1U << 24,
  kPunctuation = 1U << 25,
};

struct ClassWords {
  WordClass classes;
  std::string_view words;
};

constexpr ClassWords kClassWords[] = {
    {kAdverb,
     "also always often never still now then sometimes already just even soon ever again further thus therefore "
     "hence indeed however rather quite perhaps too instead nevertheless nonetheless seldom once likewise moreover "
     "furthermore today sooner later almost alike yet accordingly consequently though meanwhile otherwise itself "
     "himself herself themselves ourselves only simply long together"},
    {kPreposition,
     "in on at among amongst within behind under beneath above between beyond from with of to near along across "
     "against around for by inside outside throughout through toward towards upon amid amidst below beside besides "
     "into over during after before without about off out onto underneath opposite until till since up down except "
     "like unlike despite because per via"},
    {kDeterminer, "the a an my your his its our their every no whose thy her"},
    {kPronoun,
     "he she it they we this these those one ones everyone everybody everything someone somebody something anyone "
     "anybody anything nobody nothing each both many few several another others two three four five six either mine "
     "ours yours theirs hers much little less fewer"},
    {kPerson, "i you thou ye myself yourself me"},
    {kNominative, "i he she they we thou it you there ye"},
    {kModal,
     "can could may might must shall should will would cannot ought need dare do does did let lets ll couldn wouldn "
     "shouldn mustn won don doesn didn can't please shan durst canst wilt shalt doth dost"},
    {kCausative,
     "let lets letting make makes made making help helps helped helping see sees saw seen seeing watch watches "
     "watched watching hear hears heard hearing feel feels felt had having bid bade notice observe observed assist "
     "behold"},
    {kMandative,
     "require requires required requiring recommend recommends recommended recommending insist insists insisted "
     "insisting demand demands demanded demanding propose proposes proposed suggest suggests suggested suggesting "
     "request requests requested important essential necessary imperative crucial vital lest ask asked order ordered "
     "ordain ordained preferred advise advised advises urge urged mandate mandates mandated enjoin enjoined decree "
     "decreed wish god heaven"},
    {kUnreal, "if wish wished wishes unless suppose supposing lest would though imagine rather o oh"},
    {kBoundary,
     "but that although though while whilst whereas when whenever where wherever if unless than as which who whom "
     "whose what whatever how why whether so whoever whichever because lest yet ; : , that since once"},
    {kConditional, "if unless though although whether lest whatever whoever"},
    {kSubordinator,
     "if when whenever while once unless as because although though whereas where whether whilst then first next "
     "finally please second third lastly so since"},
    {kCoordinator, "and but or nor"},
    {kDisjunction, "or nor"},
    {kWh, "what whatever how whether why where who whoever whichever whom which"},
    {kRelative, "who which that whom"},
    {kInverting,
     "there here where how why when what whatever whenever wherever than as so such nor neither not if though "
     "although or because while whether unless whereas until till since thereby therein wherein herein hereby "
     "whereby thence hither thither yonder whilst like but"},
    {kAmbiguous,
     "species series means sheep fish deer data none all any some more most same former latter rest following "
     "remainder percent per half majority minority plenty lot lots etc other whichever whoever enough first last "
     "second third headquarters aircraft offspring politics statistics economics mathematics ethics"},
    {kHaveOrBe, "has have had having ve is are was were be been being am hath hast"},
    {kFronted,
     "important interesting notable noteworthy common clear striking significant remarkable crucial essential "
     "similar different true obvious evident likely great greater better worse worst best typical available present "
     "absent missing relevant surprising impressive problematic troubling helpful useful critical key central "
     "curious strange rare vital fortunate unfortunate happy blessed gone included dear famous prominent apparent "
     "worthy necessary fundamental closer close general serious severe such conspicuous powerful dangerous sad noble "
     "difficult"},
    {kQuantity,
     "one some many most all each both none any few several much part half two three four five six seven eight nine "
     "ten either neither majority"},
    {kQuote, "\" \xE2\x80\x9C \xE2\x80\x9D \xC2\xAB \xC2\xBB"},
    {kOpening, "( ["},
    {kClosing, ") ]"},
    {kDash | kBoundary, "\xE2\x80\x94 \xE2\x80\x93"},
};

constexpr WordClass kNothing = 0;

bool is_punctuation_word(std::string_view word) {
  const auto c = static_cast<unsigned char>(word.front());
  if (c < 0x80) return !((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'));
  return word.starts_with("\xE2\x80");  // general punctuation, U+2000 to U+203F
}

bool has_noun_ending(std::string_view word) {
  for (const std::string_view ending : {"ness", "ity", "tion", "sion", "ment", "ism", "ists", "ers", "ance", "ence",
                                        "ship", "hood", "ology", "ings", "ies", "ture", "dom", "ist"}) {
    if (word.size() > ending.size() + 2 && word.ends_with(ending)) return true;
  }
  return false;
}

bool is_participle(std::string_view word) { return word.ends_with("ed") || word.ends_with("en"); }

bool is_number(std::string_view word) { return word.front() >= '0' && word.front() <= '9'; }

}  // namespace

AgreementRules::AgreementRules(const AgreementDataOptions& options, const NounLexicon& lexicon)
    : options_(options), lexicon_(lexicon) {
  for (const ClassWords& entry : kClassWords) {
    for (const std::string_view word : listed_words(entry.words)) word_classes_[word] |= entry.classes;
  }
  const auto& verbs = agreement_verbs();
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    using Kind = Verb::Kind;
    constexpr std::array kFirst = {Kind::kBe, Kind::kPastBe, Kind::kHave, Kind::kDo};
    Kind kind = i < kFirstLexicalVerb ? kFirst[i] : Kind::kLexical;
    if (verbs[i].second.ends_with("come")) kind = Kind::kParticiple;
    verbs_[verbs[i].first] = {kind, false};
    verbs_[verbs[i].second] = {kind, true};
  }
  for (const std::string& word : options.placeholders) placeholders_.insert(word);
}

bool AgreementRules::any(std::size_t begin, std::size_t end, WordClass classes) const {
  for (std::size_t i = begin; i < end; ++i) {
    if (has(i, classes)) return true;
  }
  return false;
}

bool AgreementRules::is_capitalized(std::size_t at) const {
  const char c = sentence_[(*words_)[at].begin];
  return c >= 'A' && c <= 'Z';
}

bool AgreementRules::is_adverb(std::size_t at) const {
  if (has(at, kAdverb)) return true;
  const std::string& word = text(at);
  return word.size() > 4 && word.ends_with("ly") && numbers_[at] == GrammaticalNumber::kUnknown && !is_capitalized(at);
}

bool AgreementRules::is_nominal(std::size_t at) const {
  if (numbers_[at] != GrammaticalNumber::kUnknown || has(at, kPronoun | kPerson)) return true;
  if (at > 0 && is_capitalized(at)) return true;
  const std::string& word = text(at);
  if (is_number(word)) return true;
  return (word.size() > 5 && word.ends_with("ing")) || has_noun_ending(word);
}

// Whether the word, unknown to the lexicon, looks like a noun: then the last noun's number is unknown.
bool AgreementRules::may_be_noun(std::size_t at) const {
  const std::string& word = text(at);
  if (word.size() < 4 || has(at, kPunctuation) || classes_[at] != 0) return at > 0 && is_capitalized(at);
  return (at > 0 && is_capitalized(at)) || (word.ends_with("s") && !word.ends_with("ss") && !word.ends_with("ous")) ||
         has_noun_ending(word);
}

// Whether it is a full declarative sentence, without a sign of a reference, an address, a formula or a question.
bool AgreementRules::is_sentence(std::string_view sentence) const {
  const std::vector<ProseWord>& words = *words_;
  if (words.size() < 4 || !is_capitalized(0)) return false;
  std::size_t last = words.size();
  while (last > 0 && (has(last - 1, kQuote | kClosing) || text(last - 1) == "\xE2\x80\x99" || text(last - 1) == "'")) {
    --last;
  }
  if (last == 0 || text(last - 1) != ".") return false;
  if (has(0, kWh)) return false;  // a question, an exclamation or a clause as subject
  if (sentence.find_first_of("?|=@_<>{}\\^~") != std::string_view::npos) return false;
  return sentence.find("http") == std::string_view::npos && sentence.find("www.") == std::string_view::npos &&
         sentence.find("(s)") == std::string_view::npos;
}

void AgreementRules::find(std::string_view sentence, const std::vector<ProseWord>& words,
                          std::vector<AgreementSite>& sites, AgreementCounts& counts) {
  sites.clear();
  sentence_ = sentence;
  words_ = &words;
  classes_.assign(words.size(), kNothing);
  ++counts.sentences;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found = word_classes_.find(words[i].text);
    if (found != word_classes_.end()) classes_[i] = found->second;
    if (is_punctuation_word(words[i].text)) classes_[i] |= kPunctuation;
  }
  if (words.empty() || !is_sentence(sentence)) {
    ++counts.no_sentence;
    return;
  }
  numbers_.clear();
  for (const ProseWord& word : words) numbers_.push_back(lexicon_.number(word.text));

  bool seen = false;
  GrammaticalNumber last_noun = GrammaticalNumber::kUnknown;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found = verbs_.find(words[i].text);
    if (found != verbs_.end() && !(i > 0 && is_capitalized(i))) {
      seen = true;
      ++counts.verbs;
      bool pronoun_subject = false;
      const Verdict verdict = judge(i, found->second, pronoun_subject);
      if (verdict == kUsable) {
        const bool plural = found->second.plural;
        const auto other = plural ? GrammaticalNumber::kSingular : GrammaticalNumber::kPlural;
        sites.push_back({i, plural, last_noun == other, pronoun_subject});
      } else {
        ++(counts.*verdict);
      }
    }
    if (numbers_[i] != GrammaticalNumber::kUnknown || may_be_noun(i)) last_noun = numbers_[i];
  }
  if (!seen) ++counts.without_verb;
}

AgreementRules::Verdict AgreementRules::judge(std::size_t at, const Verb& verb, bool& pronoun_subject) {
  Context context;
  context.verb = at;
  for (const Verdict verdict : {judge_surroundings(at, verb), find_before(at, context)}) {
    if (verdict != kUsable) return verdict;
  }
  const Verdict verdict = judge_before(context, verb, pronoun_subject);
  if (verdict != kUsable) return verdict;
  if (may_be_base_form(context, verb)) return &AgreementCounts::base_form;
  return judge_segment(context, verb);
}

AgreementRules::Verdict AgreementRules::judge_surroundings(std::size_t at, const Verb& verb) const {
  const std::vector<ProseWord>& words = *words_;
  if (at < options_.min_words || at > options_.max_words) return &AgreementCounts::length;
  bool quoted = false;
  std::size_t open = 0;
  for (std::size_t i = 0; i < at; ++i) {
    if (placeholders_.contains(words[i].text)) return &AgreementCounts::placeholder;
    if (has(i, kQuote))
      quoted = words[i].text == "\"" ? !quoted : words[i].text == "\xE2\x80\x9C" || words[i].text == "\xC2\xAB";
    if (has(i, kOpening)) ++open;
    if (has(i, kClosing) && open > 0) --open;
  }
  if (quoted || open > 0 || has(at - 1, kQuote)) return &AgreementCounts::quotation;

  const auto joins = [&](std::size_t i) {  // a hyphen or an apostrophe
    const std::string& word = words[i].text;
    return word == "-" || word == "'" || word == "\xE2\x80\x99" || word == "\xE2\x80\x90" || word == "\xE2\x80\x91";
  };
  if (joins(at - 1) && words[at - 1].end == words[at].begin) return &AgreementCounts::not_a_verb;
  const bool more = at + 1 < words.size();
  if (more && joins(at + 1) && words[at].end == words[at + 1].begin) return &AgreementCounts::not_a_verb;
  if (verb.kind == Verb::Kind::kDo && !(more && words[at + 1].text == "not")) return &AgreementCounts::not_a_verb;
  if (more && has(at + 1, kNominative)) {
    // "tells you", "gives it" are not inversions, "says he" is.
    const bool object = words[at + 1].text == "it" || words[at + 1].text == "you" || words[at + 1].text == "there";
    const bool lexical = verb.kind == Verb::Kind::kLexical || verb.kind == Verb::Kind::kParticiple;
    if (!(object && lexical)) return &AgreementCounts::inverted;
  }
  return kUsable;
}

// Walks back from the verb over words that may occur between it and its subject.
AgreementRules::Verdict AgreementRules::find_before(std::size_t at, Context& context) const {
  std::size_t i = at;
  while (i > 0) {
    const std::size_t here = i - 1;
    if (has(here, kClosing)) {
      std::size_t depth = 1;
      std::size_t open = here;
      while (open > 0 && depth > 0) {
        --open;
        if (has(open, kClosing)) ++depth;
        if (has(open, kOpening)) --depth;
      }
      if (depth > 0) return &AgreementCounts::quotation;
      i = open;
    } else if (text(here) == ",") {
      context.comma = true;
      i = here;
    } else if (has(here, kDash)) {
      if (!any(0, here, kDash)) return &AgreementCounts::inverted;  // a single dash begins something new
      context.comma = true;
      i = here;
    } else if (is_adverb(here)) {
      i = here;
    } else {
      break;
    }
  }
  if (i == 0) return &AgreementCounts::inverted;  // only adverbs
  context.before = i - 1;
  std::size_t begin = context.before + 1;
  while (begin > 0 && !has(begin - 1, kBoundary)) --begin;
  context.segment = begin;
  return kUsable;
}

AgreementRules::Verdict AgreementRules::judge_before(const Context& context, const Verb& verb,
                                                     bool& pronoun_subject) const {
  const std::size_t before = context.before;
  const std::string& word = text(before);
  if (has(before, kPunctuation)) {
    // The full stop of an abbreviation (U.S., Inc.) ends a name; other punctuation cannot be a subject.
    const bool name = word == "." && before > 0 && text(before - 1).size() <= 4 && !has(before - 1, kPunctuation);
    if (!name) return word == ";" || word == ":" ? &AgreementCounts::inverted : &AgreementCounts::undetermined;
  }
  if (has(before, kRelative)) {
    const Verdict verdict = judge_relative(context);
    if (verdict != kUsable || before != 0) return verdict;
    pronoun_subject = true;
    return verdict;
  }
  if (has(before, kInverting)) return &AgreementCounts::inverted;
  if (has(before, kPerson)) return &AgreementCounts::person;
  if (has(before, kAmbiguous)) return &AgreementCounts::undetermined;
  if (has(before, kCoordinator)) {
    // "and are" continues with the subject of the preceding clause; the base forms may continue an infinitive.
    if (verb.kind != Verb::Kind::kBe && verb.kind != Verb::Kind::kPastBe) return &AgreementCounts::base_form;
    return any(0, before, kPerson) ? &AgreementCounts::person : kUsable;
  }
  if (context.comma && any(0, before, kPerson)) return &AgreementCounts::person;
  if (has(before, kPronoun)) {
    const bool floating = before > 0 && (word == "each" || word == "both") && is_nominal(before - 1);
    if (floating) return &AgreementCounts::undetermined;
    pronoun_subject = true;
    return kUsable;
  }
  if (has(before, kDeterminer | kHaveOrBe)) return &AgreementCounts::undetermined;
  return kUsable;
}

// The antecedent must directly precede who, which or that.
AgreementRules::Verdict AgreementRules::judge_relative(const Context& context) const {
  const std::size_t relative = context.before;
  const std::string& word = text(relative);
  const std::size_t next = context.verb + 1;
  if (relative == 0) return word == "that" && !context.comma ? kUsable : &AgreementCounts::inverted;
  std::size_t before = relative - 1;
  if (word == "that" && next < words_->size() && text(next) == ",") return &AgreementCounts::inverted;  // "that is,"
  if (has(before, kPreposition)) {
    // "in which is" is inverted, "some of whom are" is not.
    const bool quantity = text(before) == "of" && before > 0 && has(before - 1, kQuantity);
    if (!quantity) return &AgreementCounts::inverted;
    const std::string& amount = text(before - 1);
    const bool either = amount == "some" || amount == "all" || amount == "most" || amount == "none" ||
                        amount == "any" || amount == "half" || amount == "part" || amount == "majority" ||
                        amount == "neither";
    return either ? &AgreementCounts::undetermined : kUsable;
  }
  if (word == "whom") return &AgreementCounts::inverted;
  if (text(before) == ",") {
    // ", which" may refer to the whole clause; ", that" is not a relative.
    if (word != "who" || before == 0) return &AgreementCounts::undetermined;
    --before;
  }
  if (!is_nominal(before) || has(before, kPerson)) return &AgreementCounts::undetermined;
  // "one of the men who" is used with either number.
  const std::size_t from = before > 8 ? before - 8 : 0;
  for (std::size_t i = from; i < before; ++i) {
    if (text(i) == "one" && text(i + 1) == "of") return &AgreementCounts::undetermined;
  }
  return kUsable;
}

AgreementRules::Verdict AgreementRules::judge_segment(const Context& context, const Verb& verb) const {
  const std::size_t begin = context.segment;
  const std::size_t before = context.before;
  const bool be = verb.kind == Verb::Kind::kBe || verb.kind == Verb::Kind::kPastBe;
  // A comma before the verb means that the subject is earlier: "In the box, near the lamp, are" has none.
  if (context.comma && (has(0, kPreposition) || has(0, kFronted))) return &AgreementCounts::inverted;
  // "Included in this treatment are"
  if (be && has(1, kPreposition) && (has(0, kFronted) || (is_participle(text(0)) && begin == 0)))
    return &AgreementCounts::inverted;
  if (begin > before || has(before, kCoordinator)) return kUsable;  // directly after who, which, that; and
  const bool at_start = begin == 0;
  const std::string_view boundary = at_start ? std::string_view() : std::string_view(text(begin - 1));

  if (boundary == "what" || boundary == "whatever" || boundary == "whichever" || boundary == "whoever") {
    return &AgreementCounts::undetermined;
  }
  std::size_t first = begin;
  while (first < before && (is_adverb(first) || text(first) == "not" || text(first) == "and" || text(first) == "or")) {
    ++first;
  }
  if (has(first, kPreposition)) return &AgreementCounts::inverted;  // "in the box are"
  if (boundary == "so" || boundary == "such" || text(begin) == "never" || text(begin) == "nor")
    return &AgreementCounts::inverted;
  if (any(begin, before + 1, kDisjunction)) return &AgreementCounts::undetermined;

  const std::size_t next = context.verb + 1;
  if (be && next < words_->size() && has(next, kDeterminer)) {
    const std::string& word = text(before);
    const bool fronted = has(before, kFronted) || is_participle(word);
    if (fronted && numbers_[before] == GrammaticalNumber::kUnknown) return &AgreementCounts::inverted;
  }
  const bool relative = !at_start && (boundary == "that" || boundary == "who" || boundary == "which");
  if (relative) return kUsable;
  for (std::size_t i = begin; i <= before; ++i) {
    if (is_nominal(i) || (i < before && has(i, kDeterminer | kAmbiguous))) return kUsable;
  }
  return &AgreementCounts::undetermined;
}

// Whether the plural form could be an infinitive, imperative, participle or subjunctive (or "were" unreal).
bool AgreementRules::may_be_base_form(const Context& context, const Verb& verb) const {
  using Kind = Verb::Kind;
  const auto back = [&](std::size_t n) { return context.verb > n ? context.verb - n : 0; };
  if (verb.kind == Kind::kBe) return false;
  if (verb.kind == Kind::kPastBe) return any(back(15), context.verb, kUnreal);
  if (verb.kind == Kind::kParticiple && any(back(8), context.verb, kHaveOrBe)) return true;

  // "Only then did the number of towns in the valley begin"; "even if my figure prove"
  if (any(context.segment, context.verb, kModal)) return true;
  if (context.segment > 0 && has(context.segment - 1, kConditional)) return true;
  if (any(back(8), context.verb, kModal) || any(back(7), context.verb, kCausative)) return true;
  if (any(back(16), context.verb, kMandative)) return true;
  if (verb.kind != Kind::kHave && any(back(4), context.verb, kHaveOrBe)) return true;
  const auto to_before_a_verb = [&](std::size_t i) {
    return text(i) == "to" && (i + 1 >= context.verb || !has(i + 1, kDeterminer | kPronoun | kWh));
  };
  for (std::size_t i = back(7); i < context.verb; ++i) {
    if (to_before_a_verb(i)) return true;
  }
  if (!context.comma) return false;
  const bool adjunct = has(0, kPreposition | kSubordinator) || is_adverb(0) || text(0).ends_with("ing");
  if (adjunct || any(0, context.verb, kModal | kCausative)) return true;  // "Following the vote, write"
  for (std::size_t i = 0; i < context.verb; ++i) {
    if (to_before_a_verb(i)) return true;
  }
  return false;
}

}  // namespace internal
}  // namespace attnflow
