#include "training/agreement/agreement_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "attnflow/base/random.h"
#include "attnflow/files/files_for_test.h"

namespace attnflow::agreement_data_test {
namespace {

using test::expect_error;

// Random simple sentences: several usable verbs, repeated prefixes, more singular ones, many pronouns.
std::vector<ProseDocument> random_prose(std::size_t documents, std::size_t sentences, std::uint64_t seed) {
  const std::vector<std::string> nouns = {"key", "cabinet", "cell", "nurse",  "book",  "house",  "cat",  "lamp",
                                          "law", "state",   "sea",  "letter", "field", "window", "idea", "author"};
  Random random(seed);
  const auto noun = [&](std::uint64_t plural) { return nouns[random.below(nouns.size())] + (plural != 0 ? "s" : ""); };
  std::vector<ProseDocument> result(documents);
  for (std::size_t d = 0; d < documents; ++d) {
    result[d].name = "text" + std::to_string(d);
    for (std::size_t i = 0; i < sentences; ++i) {
      const std::uint64_t plural = random.below(3) == 0 ? 1 : 0;
      std::string text;
      if (random.below(4) == 0) {
        text = plural != 0 ? "Now they are " : "Now it is ";
        text += "near a " + noun(0) + ".";
      } else {
        text = "The " + noun(plural) + " of the " + noun(random.below(2)) + " near a " + noun(0);
        text += plural != 0 ? " are old and the " : " is old and the ";
        text += noun(plural) + " of the " + noun(random.below(2));
        text += plural != 0 ? " have doors." : " has doors.";
      }
      result[d].bytes += text.size();
      result[d].paragraphs.push_back(std::move(text));
    }
  }
  return result;
}

const std::vector<ProseDocument>& prose() {
  static const std::vector<ProseDocument> kProse = random_prose(20, 60, 7);
  return kProse;
}

std::vector<const AgreementSplit*> splits(const AgreementData& data) {
  return {&data.train, &data.validation, &data.test};
}

TEST(AgreementData, SplitsWholeSourcesByBytes) {
  const AgreementData data = build_agreement_data(prose());
  std::set<std::string> seen;
  for (const AgreementSplit* split : splits(data)) {
    EXPECT_FALSE(split->sources.empty());
    EXPECT_TRUE(std::is_sorted(split->sources.begin(), split->sources.end()));
    for (const std::string& source : split->sources) EXPECT_TRUE(seen.insert(source).second) << source;
    const std::set<std::string> sources(split->sources.begin(), split->sources.end());
    for (const AgreementExample& example : split->examples) EXPECT_TRUE(sources.contains(example.source));
  }
  EXPECT_EQ(seen.size(), prose().size());
  EXPECT_EQ(data.test.sources.size(), 2U);
  EXPECT_EQ(data.validation.sources.size(), 1U);
  EXPECT_EQ(data.lexicon.pairs().size(), 16U);
}

TEST(AgreementData, IsBalancedAndCountsEveryVerb) {
  AgreementDataOptions options;
  options.pronoun_share = 0.1;
  const AgreementData data = build_agreement_data(prose(), options);
  for (const AgreementSplit* split : splits(data)) {
    const auto& examples = split->examples;
    ASSERT_FALSE(examples.empty());
    const auto count = [&](auto test) {
      return static_cast<std::size_t>(std::count_if(examples.begin(), examples.end(), test));
    };
    EXPECT_EQ(2 * count([](const AgreementExample& e) { return e.plural; }), examples.size());
    EXPECT_EQ(count([](const AgreementExample& e) { return e.attractor; }), split->attractors);
    const std::size_t pronouns = count([](const AgreementExample& e) { return e.pronoun_subject; });
    EXPECT_LE(static_cast<double>(pronouns), split == &data.train ? 0.1 * static_cast<double>(examples.size()) : 0);
    const AgreementCounts& c = split->counts;
    EXPECT_EQ(c.used, examples.size());
    EXPECT_EQ(c.verbs, c.length + c.placeholder + c.not_a_verb + c.base_form + c.inverted + c.person + c.undetermined +
                           c.quotation + c.pronoun + c.same_sentence + c.duplicate + c.balance + c.used);
    EXPECT_EQ(c.sentences, split->sources.size() * 60);
  }
  EXPECT_GT(data.train.counts.balance, 0U);
  EXPECT_GT(data.test.counts.same_sentence, 0U);
  EXPECT_EQ(data.train.counts.same_sentence, 0U);
}

TEST(AgreementData, ExamplesAreWhatTheyClaim) {
  const AgreementData data = build_agreement_data(prose());
  for (const AgreementSplit* split : splits(data)) {
    for (const AgreementExample& example : split->examples) {
      EXPECT_EQ(example.plural, example.verb == "are" || example.verb == "have") << example.text;
      EXPECT_EQ(example.words, split_words(example.text).size());
      EXPECT_NE(example.source, "grammar");
      EXPECT_EQ(example.pronoun_subject, example.text.starts_with("Now ")) << example.text;
      if (example.pronoun_subject) continue;
      EXPECT_EQ(example.attractor, example.plural != example.text.ends_with("s")) << example.text;
    }
  }
}

TEST(AgreementData, NoPrefixOccursTwice) {
  const AgreementData data = build_agreement_data(prose());
  std::set<std::string> prefixes;
  for (const AgreementSplit* split : splits(data)) {
    for (const AgreementExample& example : split->examples) {
      EXPECT_TRUE(prefixes.insert(example.text).second) << example.text;
    }
  }
  EXPECT_GT(data.train.counts.duplicate, 0U);
}

TEST(AgreementData, HeldOutSentencesGiveOneExampleAtMost) {
  const AgreementData data = build_agreement_data(prose());
  const auto nouns = [](const AgreementCounts& counts) { return counts.used + counts.balance + counts.duplicate; };
  EXPECT_LE(nouns(data.test.counts), data.test.counts.sentences);
  EXPECT_LE(nouns(data.validation.counts), data.validation.counts.sentences);
  EXPECT_GT(nouns(data.train.counts), data.train.counts.sentences);
}

TEST(AgreementData, IsDeterminedByTheSeed) {
  const auto all_text = [](const AgreementData& data) {
    std::string text;
    for (const AgreementSplit* split : splits(data)) {
      for (const AgreementExample& example : split->examples) text += example.text + '\t' + example.verb + '\n';
      text += '\n';
    }
    return text;
  };
  AgreementDataOptions options;
  const std::string first = all_text(build_agreement_data(prose(), options));
  EXPECT_EQ(all_text(build_agreement_data(prose(), options)), first);
  options.seed = 2;
  EXPECT_NE(all_text(build_agreement_data(prose(), options)), first);
}

TEST(AgreementData, TakesNamedSources) {
  AgreementDataOptions options;
  options.test_sources = {"text3", "text1"};
  options.validation_sources = {"text0"};
  const AgreementData data = build_agreement_data(prose(), options);
  EXPECT_EQ(data.test.sources, (std::vector<std::string>{"text1", "text3"}));
  EXPECT_EQ(data.validation.sources, (std::vector<std::string>{"text0"}));
  EXPECT_EQ(data.train.sources.size(), 17U);

  options.validation_sources = {"text3"};
  expect_error(ErrorKind::kUsage, {"text3", "one split", "test", "validation"},
               [&] { build_agreement_data(prose(), options); });
  options.validation_sources = {"nowhere"};
  expect_error(ErrorKind::kUsage, {"nowhere", "none of that name", "text0"},
               [&] { build_agreement_data(prose(), options); });
}

TEST(AgreementData, SmallAndUnevenTextsStillGiveThreeParts) {
  std::vector<ProseDocument> documents = random_prose(3, 400, 3);
  documents[1].paragraphs.resize(60);
  documents[1].bytes /= 7;
  documents[2].paragraphs.resize(30);
  documents[2].bytes /= 14;
  const AgreementData data = build_agreement_data(documents);
  EXPECT_EQ(data.train.sources, std::vector<std::string>{"text0"});
}

TEST(AgreementData, SaysWhatIsMissing) {
  expect_error(ErrorKind::kBadFile, {"2 texts", "none left", "more texts"},
               [] { build_agreement_data(random_prose(2, 20, 1)); });
  expect_error(ErrorKind::kBadFile, {"0 texts", "none left"}, [] { build_agreement_data({}); });
  std::vector<ProseDocument> useless(3);
  for (std::size_t i = 0; i < 3; ++i) {
    useless[i].name = "list" + std::to_string(i);
    useless[i].paragraphs = {"one, two", "three"};
    useless[i].bytes = 10;
  }
  expect_error(ErrorKind::kBadFile, {"test part", "singular", "found 0 and 0", "English prose"},
               [&] { build_agreement_data(useless); });
}

}  // namespace
}  // namespace attnflow::agreement_data_test
