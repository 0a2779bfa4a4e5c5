#include "attnflow/analysis/evaluate/evaluate_samples.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/files/files_for_test.h"

namespace attnflow::evaluate_samples_test {
namespace {

using test::expect_error;
using test::put;

class Samples : public ::testing::Test {
 protected:
  Samples() {
    info_.name = "a-model";
    info_.head = ModelHead::kClassification;
    info_.labels = {"Negative", "Positive"};
  }
  SampleFile read(const std::string& name, const std::string& content) {
    return read_samples(put(folder_ / name, content), info_);
  }
  void refuse(const std::string& name, const std::string& content, const std::vector<std::string>& words) {
    expect_error(ErrorKind::kBadFile, words, [&] { read(name, content); });
  }

  test::TempFolder folder_;
  ModelInfo info_;
};

TEST_F(Samples, TabsBetweenTextAndLabel) {
  const SampleFile file = read("a.tsv", "\xEF\xBB\xBFgood , \"film\"\t1\r\n\n  \t \nbad\tNegative\nso so\tpositive");
  ASSERT_EQ(file.samples.size(), 3U);
  EXPECT_EQ(file.samples[0].text, "good , \"film\"");
  EXPECT_EQ(file.samples[0].label, 1U);
  EXPECT_EQ(file.samples[1].label, 0U);
  EXPECT_EQ(file.samples[2].label, 1U);
  EXPECT_FALSE(file.samples[0].pair);
  EXPECT_EQ(file.empty_lines, 2U);
}

TEST_F(Samples, PairsAndHeaders) {
  SampleFile file = read("pairs.tsv", "one\ttwo\t0\nthree\tfour\t1\n");
  ASSERT_EQ(file.samples.size(), 2U);
  EXPECT_EQ(file.samples[1].text, "three");
  EXPECT_EQ(file.samples[1].pair, "four");
  EXPECT_EQ(file.samples[1].label, 1U);

  file = read("glue.tsv", "idx\tSentence\tsource\tLabel\n0\tgood\tx\t1\n");
  ASSERT_EQ(file.samples.size(), 1U);
  EXPECT_EQ(file.samples[0].text, "good");
  EXPECT_EQ(file.samples[0].label, 1U);
}

TEST_F(Samples, GroupsAndSources) {
  SampleFile file = read("a.tsv", "Source\ttext\tgroup\tlabel\nbook\tgood\tshort\t1\n\tbad\t\t0\n");
  ASSERT_EQ(file.samples.size(), 2U);
  EXPECT_EQ(file.samples[0].group, "short");
  EXPECT_EQ(file.samples[0].source, "book");
  EXPECT_EQ(file.samples[1].group, "");
  file = read("a.jsonl", "{\"text\": \"x\", \"label\": 1, \"attractors\": 2}\n{\"text\": \"y\", \"label\": 0}\n");
  EXPECT_EQ(file.samples[0].group, "2");
  EXPECT_EQ(file.samples[1].group, "");
  EXPECT_EQ(parse_samples_tsv("\xEF\xBB\xBFgood\t1\n", "here", info_).samples[0].text, "good");
  expect_error(ErrorKind::kBadFile, {"here, line 1"}, [&] { parse_samples_tsv("good\n", "here", info_); });
}

TEST_F(Samples, CommasAndQuotes) {
  const SampleFile file =
      read("a.csv", "label,text,pair\r\n1,\"a \"\"good\"\", long\nfilm\",second\r\n\r\n0,bad,\"x\"\n");
  ASSERT_EQ(file.samples.size(), 2U);
  EXPECT_EQ(file.samples[0].text, "a \"good\", long\nfilm");
  EXPECT_EQ(file.samples[0].pair, "second");
  EXPECT_EQ(file.samples[1].text, "bad");
  EXPECT_EQ(file.samples[1].pair, "x");
  EXPECT_EQ(file.empty_lines, 1U);
}

TEST_F(Samples, JsonLinesAndPlainText) {
  SampleFile file =
      read("a.jsonl", "{\"text\": \"gr\\u00fcn\", \"label\": 1}\n\n{\"label\": \"Negative\", \"text\": \"x\"}\n");
  ASSERT_EQ(file.samples.size(), 2U);
  EXPECT_EQ(file.samples[0].text, "gr\xC3\xBCn");
  EXPECT_EQ(file.samples[0].label, 1U);
  EXPECT_EQ(file.samples[1].label, 0U);
  file = read("plain.txt", "one\nand\ttwo\n");
  ASSERT_EQ(file.samples.size(), 2U);
  EXPECT_EQ(file.samples[1].text, "and\ttwo");
  EXPECT_FALSE(file.samples[0].label);
}

TEST_F(Samples, NamesBeforeNumbers) {
  info_.labels = {"1", "0"};
  EXPECT_EQ(label_named("1", info_.labels), 0U);
  EXPECT_EQ(label_named("id:1", info_.labels), 1U);  // the number all the same
  EXPECT_EQ(label_named("id:0", info_.labels), 0U);
  info_.labels = {"up", "UP"};
  EXPECT_EQ(label_named("UP", info_.labels), 1U);
  EXPECT_EQ(label_named("Up", info_.labels), 0U);
  EXPECT_EQ(label_named("1", info_.labels), 1U);
  for (const char* const wrong : {"2", "-1", "", "1.0", "1 ", "down", "id:2", "id:", "id:1x", "id:-1"})
    EXPECT_FALSE(label_named(wrong, info_.labels)) << wrong;
}

TEST_F(Samples, BadFilesAreRefusedWithTheLine) {
  refuse("a.tsv", "", {"at least one sample"});
  refuse("a.tsv", "\n \n", {"at least one sample", "2 empty lines"});
  refuse("a.tsv", "good\t1\nbad\n", {"a.tsv, line 2", "expected 2 columns", "found 1"});
  refuse("a.tsv", "good\n", {"line 1", "text TAB label", "found 1"});
  refuse("a.tsv", "a\tb\tc\td\n", {"line 1", "found 4", "header"});
  refuse("a.tsv", "good\t1\n\nbad\t2\n", {"line 3", "Negative, Positive", "0 to 1", "found '2'"});
  refuse("a.tsv", "good\t1\n \t0\n", {"line 2", "expected a text"});
  refuse("a.tsv",
         "good\t1\nb\xFF"
         "d\t0\n",
         {"line 2", "UTF-8", "offset 8"});
  refuse("a.tsv", "text\tlabel\n", {"at least one sample"});
  refuse("a.csv", "a,b\nx,1\n", {"line 1", "header", "sentence", "found a, b"});
  refuse("a.csv", "text,label\nx,1,2\n", {"line 2", "expected 2 columns", "found 3"});
  refuse("a.csv", "text,label\nx,1\n\"a\nb", {"line 3", "quoted cell", "end of the file"});
  refuse("a.csv", "text,label\n\"a\"b,1\n", {"line 2", "comma"});
  refuse("a.jsonl", "{\"text\": \"x\", \"label\": 1}\nnot json\n", {"line 2", "JSON object"});
  refuse("a.jsonl", "[1]\n", {"line 1", "JSON object"});
  refuse("a.jsonl", "{\"label\": 1}\n", {"line 1", "expected a text"});
  refuse("a.jsonl", "{\"text\": \"x\", \"label\": 1}\n{\"text\": \"y\"}\n", {"line 2", "expected a label"});
  refuse("a.jsonl", "{\"text\": \"x\"}\n{\"text\": \"y\", \"label\": 1}\n", {"line 2", "expected no label"});
  refuse("a.jsonl", "{\"text\": \"x\", \"label\": null}\n", {"line 1", "found ''"});
  expect_error(ErrorKind::kBadFile, {"missing.tsv"}, [&] { read_samples(folder_ / "missing.tsv", info_); });
  expect_error(ErrorKind::kUsage, {".tsv", ".jsonl", "a.xml"}, [&] { read("a.xml", "x"); });
}

}  // namespace
}  // namespace attnflow::evaluate_samples_test
