#include "attnflow/explain/referents.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/base/error_for_test.h"

namespace attnflow::referents_test {
namespace {

using Positions = std::vector<std::size_t>;

// [CLS] The author met Märy , the auth ##ors . [SEP], with the user's own capitals.
Report report_of_text() {
  Report report;
  report.input.text = "The author met M\xc3\xa4ry, the authors 7.";
  report.input.tokens = {
      {"[CLS]", {}, {}, true, {}, 0}, {"the", 0, 3, false, 0, 0},           {"author", 4, 10, false, 1, 0},
      {"met", 11, 14, false, 2, 0},   {"m\xc3\xa4ry", 15, 20, false, 3, 0}, {",", 20, 21, false, 4, 0},
      {"the", 22, 25, false, 5, 0},   {"auth", 26, 30, false, 6, 0},        {"##ors", 30, 33, false, 6, 0},
      {"7", 34, 35, false, 7, 0},     {".", 35, 36, false, 8, 0},           {"[SEP]", {}, {}, true, {}, 0}};
  return report;
}

std::vector<ReportReferent> resolved(const std::vector<std::string>& texts, const Report& report) {
  std::vector<AskedReferent> asked;
  from_value(texts, asked);
  EXPECT_EQ(to_value(asked), OptionValue(texts));
  return resolve_referents(asked, report);
}

Positions positions_of(const std::string& asked, const Report& report) {
  return resolved({asked, asked == "met" ? "author" : "met"}, report).front().tokens;
}

void expect_refused(const Report& report, const std::vector<std::string>& asked,
                    const std::vector<std::string>& parts) {
  test::expect_error(ErrorKind::kUsage, parts, [&] { resolved(asked, report); });
}

TEST(Referents, AreFoundByTheUsersSpellingThenByLetters) {
  const Report report = report_of_text();
  EXPECT_TRUE(resolved({}, report).empty());
  const std::vector<ReportReferent> two = resolved({"AUTHOR", "m\xc3\x84RY"}, report);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].text, "author");
  EXPECT_EQ(two[0].tokens, (Positions{2}));
  EXPECT_EQ(two[1].text, "M\xc3\xa4ry");
  EXPECT_EQ(two[1].tokens, (Positions{4}));
  EXPECT_EQ(positions_of("The", report), (Positions{1}));
  EXPECT_EQ(positions_of("the", report), (Positions{6}));
}

TEST(Referents, OccurrencesAndPositions) {
  const Report report = report_of_text();
  EXPECT_EQ(positions_of("THE:1", report), (Positions{1}));
  EXPECT_EQ(positions_of("THE:2", report), (Positions{6}));
  EXPECT_EQ(positions_of("the:1", report), (Positions{6}));
  EXPECT_EQ(positions_of("5", report), (Positions{5}));
  EXPECT_EQ(positions_of("8", report), (Positions{8}));
  EXPECT_EQ(positions_of("0", report), (Positions{0}));
  EXPECT_EQ(positions_of("7:1", report), (Positions{9}));
  expect_refused(report, {"THE", "met"}, {"'THE' 2 times", "positions 1, 6", "THE:1", "THE:2", "position"});
  expect_refused(report, {"THE:3", "met"}, {"'THE' from 1 to 2", "THE:3"});
  expect_refused(report, {"the:0", "met"}, {"from 1 to 1", "the:0"});
  expect_refused(report, {"7", "met"}, {"both", "7:1", "position 9"});
}

TEST(Referents, WordsOfSeveralPieces) {
  Report report = report_of_text();
  expect_refused(report, {"authors", "met"}, {"'authors', which is 2 tokens", "--words", "--method raw,rollout"});
  report.settings.methods = {Method::kRaw, Method::kRollout};
  EXPECT_EQ(positions_of("authors", report), (Positions{7, 8}));
  report.settings = {};
  report.settings.words = true;
  EXPECT_EQ(positions_of("authors", report), (Positions{7, 8}));
  EXPECT_EQ(positions_of("8", report), (Positions{7, 8}));  // the word that contains the token
  expect_refused(report, {"authors", "8"}, {"expected different words, found 'authors' twice"});
}

TEST(Referents, RefusesWhatIsNotThere) {
  const Report report = report_of_text();
  expect_refused(report, {"autor", "met"},
                 {"'autor'", "The author met M\xc3\xa4ry , the authors 7 .", "positions from 0 to 11"});
  expect_refused(report, {"autor:2", "met"}, {"'autor'"});
  expect_refused(report, {"12", "met"}, {"positions from 0 to 11", "'12'"});
  expect_refused(report, {"[CLS]", "met"}, {"'[CLS]'"});
  expect_refused(report, {"met"}, {"2 to 8", "found 1"});
  expect_refused(report, std::vector<std::string>(9, "met"), {"2 to 8", "found 9"});
  expect_refused(report, {"met", ""}, {"empty"});
}

TEST(Referents, LongTextsListSomeOfTheirWords) {
  Report report;
  for (std::size_t w = 0; w < 50; ++w) {
    const std::string word = "w" + std::to_string(w);
    report.input.tokens.push_back(
        {word, report.input.text.size(), report.input.text.size() + word.size(), false, w, 0});
    report.input.text += word + " ";
  }
  expect_refused(report, {"x", "w1"}, {"w0 w1 w2", "w39 and 10 more"});
}

TEST(Referents, BothTextsOfAPairAreSearched) {
  Report report;
  report.input.text = "her";
  report.input.text_pair = "Her";
  report.input.tokens = {{"her", 0, 3, false, 0, 0}, {"her", 0, 3, false, 1, 1}};
  EXPECT_EQ(resolved({"her", "Her"}, report)[1].tokens, (Positions{1}));
}

TEST(Referents, AttentionFiles) {
  Report report;
  report.input.kind = "attention";
  report.input.tokens.resize(3);
  expect_refused(report, {"a", "b"}, {"without tokens", "'tokens'", "positions from 0 to 2"});
  EXPECT_EQ(resolved({"0", "2"}, report)[1].tokens, (Positions{2}));
  report.input.tokens[0].text = "[CLS]";
  report.input.tokens[1].text = "Sara";
  EXPECT_EQ(resolved({"sara", "[CLS]"}, report)[0].tokens, (Positions{1}));
  EXPECT_EQ(resolved({"sara", "[CLS]"}, report)[0].text, "Sara");
}

}  // namespace
}  // namespace attnflow::referents_test
