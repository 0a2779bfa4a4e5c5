#include "attnflow/model/prediction.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>

#include "attnflow/base/error.h"
#include "attnflow/files/files_for_test.h"

namespace attnflow::prediction_test {
namespace {

using test::expect_error;

std::string name(std::int64_t id) { return "t" + std::to_string(id); }

TEST(Softmax, KnownValues) {
  const std::vector<float> logits = {0.0F, std::log(3.0F)};
  const std::vector<double> p = softmax(logits);
  EXPECT_NEAR(p[0], 0.25, 1e-7);  // log(3) is rounded to float32
  EXPECT_NEAR(p[1], 0.75, 1e-7);
  EXPECT_TRUE(softmax({}).empty());
}

TEST(Softmax, LargeLogitsDoNotOverflow) {
  const std::vector<double> p = softmax(std::vector<float>{3e38F, -3e38F, 3e38F});
  EXPECT_EQ(p, (std::vector<double>{0.5, 0.0, 0.5}));
}

TEST(Softmax, RefusesWhatIsNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    expect_error(ErrorKind::kBadFile, {"finite", "number 1", "weights"}, [&] {
      softmax(std::vector<float>{0.0F, bad});
    });
  }
}

RC_GTEST_PROP(Softmax, SumsToOneAndKeepsTheOrder, ()) {
  const auto numbers = *rc::gen::nonEmpty(rc::gen::container<std::vector<int>>(rc::gen::inRange(-30000, 30000)));
  std::vector<float> logits;
  for (const int number : numbers) logits.push_back(static_cast<float>(number) / 1000.0F);
  const std::vector<double> p = softmax(logits);
  double sum = 0.0;
  for (const double value : p) sum += value;
  RC_ASSERT(std::abs(sum - 1.0) < 1e-12);
  const std::vector<Prediction> ranked = top_predictions(logits, logits.size(), name);
  for (std::size_t i = 1; i < ranked.size(); ++i) {
    RC_ASSERT(ranked[i - 1].probability >= ranked[i].probability);
    RC_ASSERT(ranked[i - 1].logit > ranked[i].logit || ranked[i - 1].id < ranked[i].id);
  }
}

TEST(ClassPredictions, MostProbableFirst) {
  ModelInfo info;
  info.labels = {"no", "maybe", "yes"};
  const std::vector<Prediction> p = class_predictions(info, std::vector<float>{0.0F, 0.0F, 1.0F});
  ASSERT_EQ(p.size(), 3U);
  EXPECT_EQ(p[0].text, "yes");
  EXPECT_EQ(p[0].id, 2);
  EXPECT_NEAR(p[0].probability, std::exp(1.0) / (2.0 + std::exp(1.0)), 1e-15);
  EXPECT_EQ(p[1].text, "no");  // a tie: ordered by number
  EXPECT_EQ(p[2].text, "maybe");
  expect_error(ErrorKind::kUsage, {"3 classes", "found 1"}, [&] { class_predictions(info, std::vector<float>{0.0F}); });
}

TEST(ClassPredictions, ClassesThatDoNotExcludeEachOtherAreJudgedAlone) {
  ModelInfo info;
  info.labels = {"polite", "short"};
  info.multi_label = true;
  const std::vector<Prediction> p = class_predictions(info, std::vector<float>{2.0F, 2.0F});
  EXPECT_NEAR(p[0].probability, 1.0 / (1.0 + std::exp(-2.0)), 1e-15);
  EXPECT_NEAR(p[1].probability, 1.0 / (1.0 + std::exp(-2.0)), 1e-15);

  info.multi_label = false;
  info.labels = {"relevant"};  // one class: softmax would always give 1
  EXPECT_NEAR(class_predictions(info, std::vector<float>{-2.0F})[0].probability, 1.0 / (1.0 + std::exp(2.0)), 1e-15);
}

TEST(TopPredictions, AsManyAsAskedAndThere) {
  const std::vector<float> logits = {1.0F, 3.0F, 2.0F, 3.0F};
  const std::vector<Prediction> p = top_predictions(logits, 3, name);
  ASSERT_EQ(p.size(), 3U);
  EXPECT_EQ(p[0].text, "t1");
  EXPECT_EQ(p[1].text, "t3");
  EXPECT_EQ(p[2].text, "t2");
  EXPECT_DOUBLE_EQ(p[2].logit, 2.0);
  EXPECT_EQ(top_predictions(logits, 9, name).size(), 4U);
}

TEST(CandidatePredictions, KeepTheOrderAskedAndTheWholeVocabulary) {
  const std::vector<float> logits = {1.0F, 3.0F, 2.0F};
  const std::vector<std::int64_t> ids = {2, 0};
  const std::vector<Prediction> p = candidate_predictions(logits, ids, name);
  const std::vector<double> all = softmax(logits);
  ASSERT_EQ(p.size(), 2U);
  EXPECT_EQ(p[0].text, "t2");
  EXPECT_EQ(p[0].probability, all[2]);
  EXPECT_EQ(p[1].probability, all[0]);
  for (const std::int64_t bad : {std::int64_t{-1}, std::int64_t{3}}) {
    expect_error(ErrorKind::kUsage, {"0 to 2"},
                 [&] { candidate_predictions(logits, std::vector<std::int64_t>{bad}, name); });
  }
}

TEST(AnswerSpans, KnownValues) {
  const float three = std::log(3.0F);
  const std::vector<float> begins = {9.0F, 0.0F, three, 0.0F};
  const std::vector<float> ends = {9.0F, three, 0.0F, 0.0F};
  const std::vector<std::size_t> places = {1, 2};
  const std::vector<AnswerSpan> spans = answer_spans(begins, ends, places, std::nullopt, 9);
  ASSERT_EQ(spans.size(), 3U);  // the likeliest candidate, which would end before it begins, is excluded
  EXPECT_EQ(spans[0].first, 1U);
  EXPECT_EQ(spans[0].last, 1U);
  EXPECT_NEAR(spans[0].probability, 0.25 * 0.75, 1e-7);  // log(3) is rounded to float32
  EXPECT_EQ(spans[1].first, 2U);                         // equally likely, and later in the text
  EXPECT_NEAR(spans[1].probability, 0.75 * 0.25, 1e-7);
  EXPECT_NEAR(spans[2].probability, 0.25 * 0.25, 1e-7);
  EXPECT_EQ(answer_spans(begins, ends, places, std::nullopt, 2).size(), 2U);
  // The no-answer token takes probability from all answers.
  EXPECT_NEAR(answer_spans(begins, ends, places, 3, 1).front().probability, 0.2 * 0.6, 1e-7);
  EXPECT_TRUE(answer_spans(begins, ends, {}, std::nullopt, 1).empty());
}

TEST(AnswerSpans, HaveFifteenTokensAtMost) {
  const std::size_t n = kLongestAnswer + 3;
  std::vector<float> begins(n, 0.0F);
  std::vector<float> ends(n, 0.0F);
  begins.front() = 9.0F;
  ends[kLongestAnswer] = 9.0F;  // one token too far
  ends.back() = 9.5F;
  std::vector<std::size_t> places(n);
  std::iota(places.begin(), places.end(), std::size_t{0});
  const AnswerSpan best = answer_spans(begins, ends, places, std::nullopt, 1).front();
  EXPECT_EQ(best.last, n - 1);
  EXPECT_LT(best.last - best.first, kLongestAnswer);
}

TEST(AnswerSpans, RefuseWhatIsNotFinite) {
  const std::vector<float> bad = {0.0F, std::numeric_limits<float>::quiet_NaN()};
  const std::vector<float> good = {0.0F, 0.0F};
  const std::vector<std::size_t> places = {0, 1};
  expect_error(ErrorKind::kBadFile, {"finite"}, [&] { answer_spans(good, bad, places, std::nullopt, 1); });
  expect_error(ErrorKind::kBadFile, {"finite"}, [&] { answer_spans(bad, good, places, std::nullopt, 1); });
}

}  // namespace
}  // namespace attnflow::prediction_test
