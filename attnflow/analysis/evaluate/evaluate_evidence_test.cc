#include "attnflow/analysis/evaluate/evaluate_evidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/generate/decoder_for_test.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/files/files_for_test.h"

namespace attnflow::evaluate_evidence_test {
namespace {

using test::expect_error;

const std::vector<EvidenceSample> kSamples = {{"see the key", "a", "b", "key"}, {"ask the cat", "a", "b", "cat"}};
const std::size_t kTokens = 1 + kSamples[0].prefix.size();  // bytes behind the one that begins the text

EvidenceOptions options_for(const std::vector<std::string>& methods) {
  EvidenceOptions options;
  options.mixings = {Mixing::kAttention};
  options.scores = {};
  options.settings.methods = parse_methods(methods);
  options.resampling.resamples = 50;
  return options;
}

TEST(ReadEvidence, FindsColumnsInAnyCaseAndPassesOverBlankLines) {
  const test::TempFolder folder;
  test::put(folder / "a.csv", "Evidence,TEXT,Good\n\nkey,see the key,a\n  \n");
  const std::vector<EvidenceSample> samples = read_evidence(folder / "a.csv");
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].prefix, "see the key");
  EXPECT_EQ(samples[0].evidence, "key");
  EXPECT_EQ(samples[0].good, "a");
  EXPECT_EQ(samples[0].bad, std::nullopt);
  test::put(folder / "a.csv", "text,evidence\nsee the key\n");
  expect_error(ErrorKind::kBadFile, {"a.csv, line 2", "expected 2 columns, as in the header, found 1"},
               [&] { read_evidence(folder / "a.csv"); });
  test::put(folder / "a.csv", "text,evidence,bad\nsee,the,key\n");
  expect_error(ErrorKind::kBadFile, {"line 1", "expected a column named one_prefix_word_good or good, found none"},
               [&] { read_evidence(folder / "a.csv"); });
}

TEST(EvaluateEvidence, ScoresEverySampleAtEveryLayer) {
  ScriptedDecoder decoder("a", kTokens);
  const EvidenceReport report =
      evaluate_evidence(decoder, ByteCodec(), kSamples, options_for({"raw", "rollout", "flow"}));
  EXPECT_EQ(report.scored, 2U);
  EXPECT_EQ(report.right, 2U);
  EXPECT_EQ(report.words, 3.0);
  // Four variants of the mean and 4 layers each for raw and rollout, of the mean and the 4 quarters for flow; chance.
  EXPECT_EQ(report.cells.size(), 3U * 4U * 5U + 1U);
  for (const EvidenceCell& cell : report.cells) {
    EXPECT_GE(cell.reciprocal_rank.mean, 1.0 / 3.0 - 1e-12) << cell.method << cell.layer;
    EXPECT_LE(cell.reciprocal_rank.mean, 1.0) << cell.method << cell.layer;
  }
  EXPECT_NEAR(report.cells.back().reciprocal_rank.mean, (1.0 + 1.0 / 2.0 + 1.0 / 3.0) / 3.0, 1e-12);
}

// Raw and flow, by the mean over layers and at the last of two, a score, and chance.
EvidenceReport ranked_report(double raw, double flow, double lowest_above_chance) {
  EvidenceReport report;
  report.mixings = {Mixing::kAttention, Mixing::kRelevance};
  const auto add = [&](const char* method, std::optional<Mixing> mixing, std::size_t layer, double mean) {
    EvidenceCell& cell = report.cells.emplace_back();
    cell.method = method;
    cell.mixing = mixing;
    cell.layer = layer;
    cell.reciprocal_rank.count = 20;
    cell.reciprocal_rank.mean = mean;
  };
  add("raw", Mixing::kAttention, 0, 0.95);
  add("raw", Mixing::kAttention, 1, 0.99);
  add("raw", Mixing::kAttention, 2, raw);
  add("flow", Mixing::kRelevance, 0, 0.95);
  add("flow", Mixing::kRelevance, 2, flow);
  add("check", std::nullopt, 0, 0.9);
  add(kChance, std::nullopt, 0, 0.5);
  for (EvidenceCell& cell : report.cells) cell.above_chance.low = lowest_above_chance;
  return report;
}

TEST(EvaluateEvidence, BeginsWithItsAnswer) {
  const EvidenceReport found = ranked_report(0.6, 0.8, 0.1);
  const std::string best =
      "The map that finds the word that decides best is flow over relevance: its mean reciprocal rank at layer 2 is "
      "0.80, where chance is 0.50. The best ranking beside the maps, check, has 0.90.";
  EXPECT_TRUE(evaluation_table(found, 300).starts_with(best + "\n")) << evaluation_table(found, 300);
  test::expect_parts(evaluation_markdown(found), {"# Which map finds the word that decides?\n\n" + best + "\n\n"});
  const std::string none =
      "The best map, raw over attention, does not find the word that decides better than chance (0.50): its mean "
      "reciprocal rank at layer 2 is ";
  for (const EvidenceReport& report : {ranked_report(0.45, 0.4, 0.1), ranked_report(0.8, 0.6, -0.1)}) {
    EXPECT_TRUE(evaluation_table(report, 300).starts_with(none)) << evaluation_table(report, 300);
  }
  EvidenceReport earlier = found;
  earlier.cells[4].layer = 1;  // flow's own last layer
  test::expect_parts(evaluation_table(earlier, 300), {"is flow over relevance: its mean reciprocal rank at layer 1 "});
  EvidenceReport scores = found;
  scores.cells.erase(scores.cells.begin(), scores.cells.begin() + 5);
  EXPECT_EQ(evaluation_table(scores, 300).find("map"), std::string::npos);
  test::expect_parts(evaluation_csv(found), {"\nchance,"});
}

TEST(EvaluateEvidence, OneHeadIsRankedToo) {
  ScriptedDecoder decoder("a", kTokens);
  EvidenceOptions options = options_for({"raw", "rollout"});
  options.settings.heads = parse_heads("1");
  EXPECT_EQ(evaluate_evidence(decoder, ByteCodec(), kSamples, options).scored, 2U);
  options.settings.heads = parse_heads("3");
  expect_error(ErrorKind::kUsage, {"--heads"}, [&] { evaluate_evidence(decoder, ByteCodec(), kSamples, options); });
}

TEST(EvaluateEvidence, ByDefaultItTriesRelevance) {
  ScriptedDecoder decoder("a", kTokens);  // without gradients
  EvidenceOptions options;
  EXPECT_EQ(options.scores, std::vector<std::string>{"check"});
  options.scores = {};
  const EvidenceReport report = evaluate_evidence(decoder, ByteCodec(), kSamples, options);
  EXPECT_EQ(report.mixings, std::vector<Mixing>{Mixing::kAttention});
  ASSERT_EQ(report.impossible.size(), 1U);
  EXPECT_EQ(report.impossible.begin()->first, "relevance");
  EXPECT_TRUE(std::isnan(report.cells.front().reciprocal_rank.low));
  EXPECT_EQ(test::notes_of(report.notes, NoteCode::kNoIntervals).size(), 1U);
}

TEST(EvaluateEvidence, RefusesMatricesThatDoNotFitBeforeTheModelRuns) {
  ScriptedDecoder decoder("a", kTokens);
  decoder.on_append = [](std::size_t) { ADD_FAILURE() << "the model ran"; };
  // 3 matrices of 12 x 12 numbers for each of 10^12 layers: no machine has them, and the number fits.
  decoder.changeable_info().layers = 1'000'000'000'000;
  EvidenceOptions options = options_for({"raw"});
  options.settings.layers = {1};
  expect_error(ErrorKind::kOther,
               {"1000000000000 layers", "12 tokens of the longest prefix", "MiB", "Remove the longest"},
               [&] { evaluate_evidence(decoder, ByteCodec(), kSamples, options); });
  // An overflow must not look like a small number.
  decoder.changeable_info().layers = std::size_t{1} << 62U;
  expect_error(ErrorKind::kOther, {"longest prefix"},
               [&] { evaluate_evidence(decoder, ByteCodec(), kSamples, options); });
  decoder.on_append = nullptr;
  decoder.changeable_info().layers = 4;
  EXPECT_EQ(evaluate_evidence(decoder, ByteCodec(), kSamples, options).scored, 2U);
}

TEST(EvaluateEvidence, CountsWhatItLeavesOut) {
  ScriptedDecoder decoder("a", kTokens);
  std::vector<EvidenceSample> samples = kSamples;
  samples.push_back({"see the key", "a", "b", "dog"});
  samples.push_back({"key the key", "a", "b", "key"});
  samples.push_back({"see the key", "a", "a", "key"});
  // Adjacent letters of any script make it another word; marks of any kind do not.
  samples.push_back({"see the key\u00E9", "a", "b", "key"});
  samples.push_back({"t \u201Ckey\u201D", "a", "b", "key"});
  const EvidenceReport report = evaluate_evidence(decoder, ByteCodec(), samples, options_for({"raw"}));
  EXPECT_EQ(report.available, 7U);
  EXPECT_EQ(report.scored, 3U);
  EXPECT_EQ(report.left_out, (std::map<std::string, std::size_t>{
                                 {"the evidence does not occur in the prefix", 2},
                                 {"the evidence occurs more than once", 1},
                                 {"the right and the wrong word begin with the same token", 1},
                             }));
  samples = {{"see the key", "a", "b", "dog"}};
  expect_error(ErrorKind::kBadFile, {"found none", "does not occur"},
               [&] { evaluate_evidence(decoder, ByteCodec(), samples, options_for({"raw"})); });
}

// Every character is a word, as in a chemical formula.
class FormulaCodec : public ByteCodec {
 public:
  Encoding encode(std::string_view text, const std::optional<std::string>& pair,
                  const EncodeOptions& options) const override {
    Encoding encoding = ByteCodec::encode(text, pair, options);
    for (EncodedToken& token : encoding.tokens) {
      if (token.begin) token.word = token.begin;
    }
    return encoding;
  }
};

TEST(EvaluateEvidence, FindsEvidenceThatIsAWordOnlyToTheTokenizer) {
  ScriptedDecoder decoder("a", kTokens);
  const std::vector<EvidenceSample> samples = {{"CCNc1", "a", "b", "N"}, {"CNcN", "a", "b", "N"}};
  const EvidenceReport report = evaluate_evidence(decoder, FormulaCodec(), samples, options_for({"raw"}));
  EXPECT_EQ(report.scored, 1U);
  EXPECT_DOUBLE_EQ(report.words, 5.0);
  EXPECT_EQ(report.left_out, (std::map<std::string, std::size_t>{{"the evidence occurs more than once", 1}}));
  expect_error(ErrorKind::kBadFile, {"found none", "does not occur"},
               [&] { evaluate_evidence(decoder, ByteCodec(), samples, options_for({"raw"})); });
}

}  // namespace
}  // namespace attnflow::evaluate_evidence_test
