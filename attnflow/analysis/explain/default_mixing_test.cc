#include "attnflow/analysis/explain/default_mixing.h"

#include <gtest/gtest.h>

namespace attnflow::default_mixing_test {
namespace {

TEST(PredictsAt, TheTokenThatAClassifierReads) {
  ModelInfo info;
  EXPECT_EQ(predicts_at(info), PredictsAt::kNowhere);
  info.head = ModelHead::kClassification;
  info.labels = {"no", "yes"};
  EXPECT_EQ(predicts_at(info), PredictsAt::kClassToken);
  info.classifies_first_token = false;  // a mean of patches or tokens, too
  EXPECT_EQ(predicts_at(info), PredictsAt::kNowhere);
  info.causal = true;
  EXPECT_EQ(predicts_at(info), PredictsAt::kLastToken);
  info.labels = {"score"};
  EXPECT_EQ(predicts_at(info), PredictsAt::kNowhere);
}

}  // namespace
}  // namespace attnflow::default_mixing_test
