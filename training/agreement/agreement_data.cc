#include "training/agreement/agreement_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <numeric>
#include <unordered_set>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/files/messages.h"
#include "training/agreement/agreement_rules.h"

namespace attnflow {
namespace {

// Independent random streams, so that one option does not change the other draws.
enum Stream : std::uint64_t { kSources = 1, kSentences = 16, kBalance = 32, kPronouns = 48 };

enum class Part : std::size_t { kTrain, kValidation, kTest, kNone };
constexpr std::array<std::string_view, 3> kPartNames = {"training", "validation", "test"};

std::string_view name_of(Part part) { return kPartNames[static_cast<std::size_t>(part)]; }

// Counts words split at white space, because only an ordering of styles is needed.
double mean_sentence_length(const ProseDocument& document) {
  std::size_t sentences = 0;
  std::size_t spaces = 0;
  for (const std::string_view sentence : sentences_of(document)) {
    ++sentences;
    spaces += static_cast<std::size_t>(std::count(sentence.begin(), sentence.end(), ' ')) + 1;
  }
  return sentences == 0 ? 0 : static_cast<double>(spaces) / static_cast<double>(sentences);
}

// Documents in strata of about equal bytes by mean sentence length, each in random order.
std::vector<std::vector<std::size_t>> strata_of(const std::vector<ProseDocument>& documents, std::uint64_t seed) {
  constexpr std::size_t kStrata = 4;
  std::vector<double> length;
  std::uint64_t total = 0;
  for (const ProseDocument& document : documents) {
    length.push_back(mean_sentence_length(document));
    total += document.bytes;
  }
  std::vector<std::size_t> order(documents.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return length[a] != length[b] ? length[a] < length[b] : documents[a].name < documents[b].name;
  });
  std::vector<std::vector<std::size_t>> strata(kStrata);
  std::uint64_t before = 0;
  for (const std::size_t document : order) {
    const std::uint64_t middle = before + documents[document].bytes / 2;
    const std::uint64_t stratum = total == 0 ? 0 : middle * kStrata / (total + 1);
    strata[static_cast<std::size_t>(stratum)].push_back(document);
    before += documents[document].bytes;
  }
  Random random(stream_seed(seed, kSources));
  for (std::vector<std::size_t>& stratum : strata) random.shuffle(stratum);
  return strata;
}

// Assigns documents without a part to `part` until it has about `bytes`, taking strata in turn and skipping documents
// that would overshoot. Assigns at least one, the smallest if need be.
void draw(const std::vector<ProseDocument>& documents, const std::vector<std::vector<std::size_t>>& strata, Part part,
          std::uint64_t bytes, std::vector<Part>& parts) {
  std::uint64_t taken = 0;
  // A document above two fifths of the split would dominate its style: the first round skips those.
  for (const std::uint64_t largest : {bytes * 2 / 5, bytes}) {
    bool more = true;
    while (more) {
      more = false;
      for (const std::vector<std::size_t>& stratum : strata) {
        const auto found = std::find_if(stratum.begin(), stratum.end(), [&](std::size_t document) {
          return parts[document] == Part::kNone && documents[document].bytes <= largest &&
                 taken + documents[document].bytes <= bytes + bytes / 20;
        });
        if (found == stratum.end()) continue;
        parts[*found] = part;
        taken += documents[*found].bytes;
        more = true;
      }
    }
  }
  if (taken > 0) return;
  std::size_t smallest = documents.size();
  for (const std::vector<std::size_t>& stratum : strata) {
    for (const std::size_t document : stratum) {
      const bool better = smallest == documents.size() || documents[document].bytes < documents[smallest].bytes;
      if (parts[document] == Part::kNone && better) smallest = document;
    }
  }
  if (smallest < documents.size()) parts[smallest] = part;
}

std::vector<Part> assign_parts(const std::vector<ProseDocument>& documents, const AgreementDataOptions& options) {
  std::vector<Part> parts(documents.size(), Part::kNone);
  const auto name_sources = [&](const std::vector<std::string>& names, Part part) {
    for (const std::string& name : names) {
      const auto found = std::find_if(documents.begin(), documents.end(),
                                      [&](const ProseDocument& document) { return document.name == name; });
      const std::string shown = internal::quote_name(name);
      if (found == documents.end()) {
        std::vector<std::string_view> known;
        for (const ProseDocument& document : documents) known.push_back(document.name);
        throw Error(ErrorKind::kUsage, fmt::format("{} source {}: expected the name of a text, found none of that name "
                                                   "among {}",
                                                   name_of(part), shown, internal::quote_names(known)));
      }
      Part& assigned = parts[static_cast<std::size_t>(found - documents.begin())];
      if (assigned != Part::kNone && assigned != part) {
        throw Error(ErrorKind::kUsage, fmt::format("source {}: expected it in one split, found it in {} and {}", shown,
                                                   name_of(assigned), name_of(part)));
      }
      assigned = part;
    }
  };
  name_sources(options.test_sources, Part::kTest);
  name_sources(options.validation_sources, Part::kValidation);

  std::uint64_t total = 0;
  for (const ProseDocument& document : documents) total += document.bytes;
  const auto strata = strata_of(documents, options.seed);
  const auto draw_share = [&](bool named, Part part, double share) {
    if (!named) draw(documents, strata, part, static_cast<std::uint64_t>(share * static_cast<double>(total)), parts);
  };
  draw_share(!options.test_sources.empty(), Part::kTest, options.test_share);
  draw_share(!options.validation_sources.empty(), Part::kValidation, options.validation_share);
  for (Part& part : parts) {
    if (part == Part::kNone) part = Part::kTrain;
  }
  for (const Part part : {Part::kTest, Part::kValidation, Part::kTrain}) {
    if (std::find(parts.begin(), parts.end(), part) == parts.end()) {
      throw Error(
          ErrorKind::kBadFile,
          fmt::format("expected a text for each of the training, validation and test parts, found {} text{} and "
                      "none left for the {} part; give more texts, or cut a long one into several files",
                      documents.size(), documents.size() == 1 ? "" : "s", name_of(part)));
    }
  }
  return parts;
}

class SplitBuilder {
 public:
  SplitBuilder(Part part, const AgreementDataOptions& options, AgreementSplit& split)
      : part_(part), options_(options), split_(split), random_(stream(kSentences)) {}

  void add(const ProseDocument& document, internal::AgreementRules& rules, std::unordered_set<std::string>& prefixes) {
    split_.sources.push_back(document.name);
    for (const std::string_view sentence : sentences_of(document)) {
      split_words(sentence, words_);
      rules.find(sentence, words_, sites_, split_.counts);
      if (sites_.empty()) continue;
      if (part_ != Part::kTrain) choose_one();
      for (const internal::AgreementSite& site : sites_) add_example(sentence, site, document.name, prefixes);
    }
  }

  void finish() {
    std::sort(split_.sources.begin(), split_.sources.end());
    std::vector<AgreementExample>& examples = split_.examples;
    std::array<std::vector<std::size_t>, 2> nouns;  // by plural
    std::array<std::vector<std::size_t>, 2> pronouns;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      const std::size_t plural = examples[i].plural ? 1 : 0;
      (examples[i].pronoun_subject ? pronouns : nouns)[plural].push_back(i);
    }
    const std::size_t each = std::min(nouns[0].size(), nouns[1].size());
    if (each == 0) {
      throw Error(
          ErrorKind::kBadFile,
          fmt::format("the {} part ({} sentences of {}): expected sentences with a singular and with a plural "
                      "verb of a noun subject, found {} and {}; give more English prose, one paragraph a line",
                      name_of(part_), split_.counts.sentences, source_list(), nouns[0].size(), nouns[1].size()));
    }
    const double share = options_.pronoun_share;
    const auto allowed = static_cast<std::size_t>(share / (1 - share) * static_cast<double>(each));
    const std::size_t each_pronoun = std::min({pronouns[0].size(), pronouns[1].size(), allowed});
    split_.counts.balance = nouns[0].size() + nouns[1].size() - 2 * each;
    split_.counts.pronoun += pronouns[0].size() + pronouns[1].size() - 2 * each_pronoun;

    std::vector<bool> kept(examples.size(), false);
    keep(nouns, each, kBalance, kept);
    keep(pronouns, each_pronoun, kPronouns, kept);
    std::size_t used = 0;
    for (std::size_t i = 0; i < examples.size(); ++i) {
      if (!kept[i]) continue;
      if (used != i) examples[used] = std::move(examples[i]);
      if (examples[used].attractor) ++split_.attractors;
      ++used;
    }
    examples.resize(used);
    examples.shrink_to_fit();
    split_.counts.used = used;
  }

 private:
  std::uint64_t stream(Stream purpose) const {
    return stream_seed(options_.seed, purpose + static_cast<std::uint64_t>(part_));
  }

  std::string source_list() const {
    const std::vector<std::string_view> names(split_.sources.begin(), split_.sources.end());
    return internal::quote_names(names);
  }

  void choose_one() {
    split_.counts.pronoun +=
        std::erase_if(sites_, [](const internal::AgreementSite& site) { return site.pronoun_subject; });
    if (sites_.size() < 2) return;
    const internal::AgreementSite chosen = sites_[static_cast<std::size_t>(random_.below(sites_.size()))];
    split_.counts.same_sentence += sites_.size() - 1;
    sites_.assign(1, chosen);
  }

  void add_example(std::string_view sentence, const internal::AgreementSite& site, const std::string& source,
                   std::unordered_set<std::string>& prefixes) {
    std::string prefix;
    for (std::size_t i = 0; i < site.word; ++i) prefix += words_[i].text + ' ';
    if (!prefixes.insert(std::move(prefix)).second) {
      ++split_.counts.duplicate;
      return;
    }
    AgreementExample example;
    example.text = sentence.substr(0, words_[site.word - 1].end);
    example.plural = site.plural;
    example.attractor = site.attractor;
    example.pronoun_subject = site.pronoun_subject;
    example.verb = words_[site.word].text;
    example.source = source;
    example.words = site.word;
    split_.examples.push_back(std::move(example));
  }

  void keep(std::array<std::vector<std::size_t>, 2>& groups, std::size_t each, Stream purpose,
            std::vector<bool>& kept) {
    Random random(stream(purpose));
    for (std::vector<std::size_t>& group : groups) {
      if (group.size() > each) random.shuffle(group);
      for (std::size_t i = 0; i < each; ++i) kept[group[i]] = true;
    }
  }

  Part part_;
  const AgreementDataOptions& options_;
  AgreementSplit& split_;
  Random random_;
  std::vector<ProseWord> words_;
  std::vector<internal::AgreementSite> sites_;
};

}  // namespace

AgreementData build_agreement_data(const std::vector<ProseDocument>& documents, const AgreementDataOptions& options) {
  assert(options.min_words > 0 && options.min_words <= options.max_words);
  assert(options.pronoun_share >= 0 && options.pronoun_share < 1);
  assert(options.test_share > 0 && options.validation_share > 0 && options.test_share + options.validation_share < 1);
  const std::vector<Part> parts = assign_parts(documents, options);

  AgreementData data;
  NounLexiconBuilder builder;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (parts[i] == Part::kTrain) builder.add(documents[i]);
  }
  data.lexicon = builder.build();

  internal::AgreementRules rules(options, data.lexicon);
  std::unordered_set<std::string> prefixes;
  const auto fill = [&](Part part, AgreementSplit& split) {
    SplitBuilder split_builder(part, options, split);
    for (std::size_t i = 0; i < documents.size(); ++i) {
      if (parts[i] == part) split_builder.add(documents[i], rules, prefixes);
    }
    split_builder.finish();
  };
  fill(Part::kTest, data.test);
  fill(Part::kValidation, data.validation);
  fill(Part::kTrain, data.train);
  return data;
}

}  // namespace attnflow
