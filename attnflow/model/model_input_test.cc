#include "attnflow/model/model_input.h"

#include <gtest/gtest.h>

#include "attnflow/files/files_for_test.h"

namespace attnflow::model_input_test {
namespace {

using test::expect_error;

class ModelInputTest : public testing::Test {
 protected:
  ModelInputTest() {
    config_.token_types = 2;
    info_.name = "small";
    info_.vocabulary = 10;
    info_.max_tokens = 4;
  }
  void expect(ErrorKind kind, const std::vector<std::string>& words, const TextInput& input,
              const RunOptions& options = {}) const {
    expect_error(kind, words, [&] { check_text_input(info_, input, options, config_.token_types); });
  }

  ModelConfig config_;
  ModelInfo info_;
};

TEST_F(ModelInputTest, AcceptsUpToTheLastPosition) {
  EXPECT_NO_THROW(check_text_input(info_, {{0, 9, 3, 4}, {0, 1, 0, 1}}, {{3, 0}}, config_.token_types));
  EXPECT_NO_THROW(check_text_input(info_, {{1}, {}}, {}, config_.token_types));
}

TEST_F(ModelInputTest, RefusesWhatCannotBeRun) {
  expect(ErrorKind::kUsage, {"at least one token"}, {});
  expect(ErrorKind::kInputTooLong, {"at most 4", "small", "found 5", "--truncate"}, {{1, 1, 1, 1, 1}, {}});
  expect(ErrorKind::kUsage, {"type ids", "2 ids", "1 type ids"}, {{1, 2}, {0}});
  expect(ErrorKind::kBadFile, {"expected token ids from 0 to 9", "found 10", "position 1", "tokenizer"}, {{1, 10}, {}});
  expect(ErrorKind::kBadFile, {"found -1", "position 0"}, {{-1}, {}});
  expect(ErrorKind::kBadFile, {"expected type ids from 0 to 1", "found 2"}, {{1, 2}, {0, 2}});
  expect(ErrorKind::kUsage, {"expected logit positions from 0 to 1, found 2"}, {{1, 2}, {}}, {{2}});
}

TEST_F(ModelInputTest, IgnoresTypeIdsWhereThereIsNoChoice) {
  for (const std::size_t types : {std::size_t{0}, std::size_t{1}}) {
    config_.token_types = types;
    EXPECT_NO_THROW(check_text_input(info_, {{1, 2}, {0, 7}}, {}, config_.token_types));
  }
}

TEST_F(ModelInputTest, DecodersPredictAtTheLastTokenThatIsNoPadding) {
  const std::vector<std::int64_t> ids = {3, 1, 4, 1, 1};
  EXPECT_EQ(reading_position(info_, ids), 4U);
  info_.padding = 1;
  EXPECT_EQ(reading_position(info_, ids), 2U);
  info_.padding = -1;
  EXPECT_EQ(reading_position(info_, ids), 4U);
  info_.padding = 1;
  EXPECT_EQ(reading_position(info_, std::vector<std::int64_t>{1, 1}), 0U);
}

TEST_F(ModelInputTest, DecodersCountTheTokensBefore) {
  const auto check = [&](std::size_t length, const std::vector<std::int64_t>& ids) { check_ids(info_, length, ids); };
  check(0, {0, 9, 3, 4});
  check(3, {1});
  expect_error(ErrorKind::kUsage, {"at least one token"}, [&] { check(2, {}); });
  expect_error(ErrorKind::kInputTooLong, {"found 2 after the 3"}, [&] { check(3, {1, 1}); });
  expect_error(ErrorKind::kBadFile, {"from 0 to 9", "found 10 at position 3"}, [&] { check(2, {1, 10}); });
  expect_error(ErrorKind::kUsage, {"type ids"}, [&] { check_text_input(info_, {{1, 2}, {0}}); });
  info_.head = ModelHead::kCausalLm;
  check_target(info_, {ScoreTarget::Kind::kLogit, 9, {}}, 3);
  expect_error(ErrorKind::kUsage, {"labels below 10", "found 10"}, [&] {
    check_target(info_, {ScoreTarget::Kind::kProbabilityDifference, 9, {10}}, 3);
  });
}

TEST_F(ModelInputTest, TargetsOfDecodersThatClassify) {
  info_.causal = true;
  info_.head = ModelHead::kClassification;
  info_.labels = {"no", "yes"};
  EXPECT_NO_THROW(check_target(info_, {.label = 1}, 3));
  EXPECT_NO_THROW(check_target(info_, {.label = 1, .position = 2}, 3));
  expect_error(ErrorKind::kUsage, {"position from 0 to 2", "found 3"},
               [&] { check_target(info_, {.label = 1, .position = 3}, 3); });
  EXPECT_NO_THROW(check_text_input(info_, {{1, 2}, {}}, {{1}}));
  expect_error(ErrorKind::kUsage, {"expected labels below 2", "classes", "found 2"},
               [&] { check_target(info_, {.label = 2}, 3); });
}

TEST_F(ModelInputTest, TargetsOfAnswersAreTokens) {
  info_.head = ModelHead::kQuestionAnswering;
  EXPECT_NO_THROW(check_target(info_, {.label = 2}, 3));
  expect_error(ErrorKind::kUsage, {"labels below 3", "tokens of an input", "found 3"},
               [&] { check_target(info_, {.label = 3}, 3); });
  expect_error(ErrorKind::kUsage, {"without a position", "one answer", "found position 1"},
               [&] { check_target(info_, {.position = 1}, 3); });
}

TEST(PositionIds, CountFromZero) {
  const std::vector<std::int64_t> ids = {5, 5, 1};
  EXPECT_EQ(position_ids({}, ids), (std::vector<std::int64_t>{0, 1, 2}));
}

// transformers: cumsum(ids != padding) * (ids != padding) + padding.
TEST(PositionIds, SkipPadding) {
  ModelConfig config;
  config.padding_id = 1;
  const std::vector<std::int64_t> ids = {0, 7, 1, 7, 1, 2};
  EXPECT_EQ(position_ids(config, ids), (std::vector<std::int64_t>{2, 3, 1, 4, 1, 5}));
}

}  // namespace
}  // namespace attnflow::model_input_test
