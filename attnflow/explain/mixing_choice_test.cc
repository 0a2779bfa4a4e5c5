#include "attnflow/explain/mixing_choice.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/attribution/settings.h"

namespace attnflow::mixing_choice_test {
namespace {

InputText masked_text() {
  InputText input;
  input.text = "a [MASK]";
  for (const char* piece : {"[CLS]", "a", "[MASK]", "[SEP]"}) {
    InputToken token;
    token.text = piece;
    token.special = token.text != "a";
    input.tokens.push_back(token);
  }
  return input;
}

bool predicts(PredictsAt at, const std::string& output_token) {
  Settings settings;
  settings.output_token = parse_output_token(output_token);
  return is_predicted_at(at, settings, masked_text(), 3);
}

TEST(MixingChoice, WhereAModelPredicts) {
  EXPECT_TRUE(predicts(PredictsAt::kMask, "auto"));
  EXPECT_TRUE(predicts(PredictsAt::kMask, "2"));
  EXPECT_FALSE(predicts(PredictsAt::kMask, "1"));
  EXPECT_FALSE(predicts(PredictsAt::kClassToken, "auto"));  // that is the mask
  EXPECT_TRUE(predicts(PredictsAt::kClassToken, "cls"));
  EXPECT_TRUE(predicts(PredictsAt::kClassToken, "0"));
  EXPECT_FALSE(predicts(PredictsAt::kClassToken, "last"));
  EXPECT_TRUE(predicts(PredictsAt::kLastToken, "auto"));
  EXPECT_TRUE(predicts(PredictsAt::kLastToken, "3"));
  EXPECT_FALSE(predicts(PredictsAt::kLastToken, "2"));
  EXPECT_TRUE(predicts(PredictsAt::kAnyToken, "1"));
  EXPECT_TRUE(predicts(PredictsAt::kAnswer, "auto"));
  EXPECT_FALSE(predicts(PredictsAt::kAnswer, "1"));
  for (const PredictsAt at : {PredictsAt::kMask, PredictsAt::kClassToken, PredictsAt::kLastToken, PredictsAt::kAnyToken,
                              PredictsAt::kAnswer}) {
    EXPECT_FALSE(predicts(at, "all"));
  }
  EXPECT_FALSE(predicts(PredictsAt::kNowhere, "auto"));
}

class MixingChoiceOf : public testing::Test {
 protected:
  Mixing chosen() {
    Settings one = settings;
    one.mixing = Mixing::kAuto;
    notes.clear();
    choose_mixing(one, facts, question, notes);
    return one.mixing;
  }

  bool noted(NoteCode code) const { return notes.size() == 1 && notes.front().code == code; }

  Settings settings;
  DefaultFacts facts = {.parameters = 1'000'000, .has_terms = true, .has_gradients = [] { return true; }};
  DefaultQuestion question = {.tokens = 10};
  std::vector<Note> notes;
};

TEST_F(MixingChoiceOf, APrediction) {
  EXPECT_EQ(chosen(), Mixing::kRelevance);
  EXPECT_TRUE(noted(NoteCode::kDefaultMixing));
  facts.has_gradients = [] { return false; };
  EXPECT_EQ(chosen(), Mixing::kAlti);
  EXPECT_TRUE(noted(NoteCode::kNotTheAnswer));
  EXPECT_NE(notes.front().text.find("is not available for this model"), std::string::npos) << notes.front().text;
  facts.has_terms = false;
  EXPECT_EQ(chosen(), Mixing::kAttention);
  EXPECT_TRUE(noted(NoteCode::kNotTheAnswer));
}

TEST_F(MixingChoiceOf, WorkThatTakesLong) {
  facts.parameters = static_cast<std::uint64_t>(kWorkOfOne / 8.0 / 10.0);
  EXPECT_EQ(chosen(), Mixing::kRelevance);
  facts.parameters *= 2;
  EXPECT_EQ(chosen(), Mixing::kAttention);  // contributions take as long
  EXPECT_TRUE(noted(NoteCode::kNotTheAnswer));
  EXPECT_NE(notes.front().text.find("about 2 minutes on two processors"), std::string::npos) << notes.front().text;
  facts.has_gradients = [] { return false; };
  EXPECT_EQ(chosen(), Mixing::kAttention);
  EXPECT_NE(notes.front().text.find("is not available for this model"), std::string::npos) << notes.front().text;
  facts.has_gradients = [] {
    ADD_FAILURE() << "gradients need not be prepared";
    return true;
  };
  facts.parameters /= 2;
  question.as_it_runs = true;
  EXPECT_EQ(chosen(), Mixing::kAlti);
  EXPECT_TRUE(noted(NoteCode::kDefaultMixing));
}

TEST_F(MixingChoiceOf, AState) {
  question.predicts = false;
  EXPECT_EQ(chosen(), Mixing::kAttention);
  EXPECT_TRUE(notes.empty());
  settings.target = "1";
  EXPECT_EQ(chosen(), Mixing::kRelevance);
}

TEST_F(MixingChoiceOf, OptionsOfAttention) {
  settings.residual = 0.3;
  EXPECT_EQ(chosen(), Mixing::kAttention);
  EXPECT_TRUE(notes.empty());
  settings = {};
  settings.heads = parse_heads("max");
  EXPECT_EQ(chosen(), Mixing::kAttention);
  settings = {};
  question.only_row = true;
  EXPECT_EQ(chosen(), Mixing::kAttention);
}

}  // namespace
}  // namespace attnflow::mixing_choice_test
