#include "attnflow/analysis/text/mixing_choice.h"

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <stdexcept>
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

ModelInfo model_of(ModelHead head) {
  ModelInfo info;
  info.head = head;
  info.labels = {"no", "yes"};
  info.causal = head == ModelHead::kCausalLm;
  return info;
}

bool predicts(const ModelInfo& info, const std::string& output_token) {
  Settings settings;
  settings.output_token = parse_output_token(output_token);
  return is_predicted_at(info, settings, masked_text(), 3);
}

bool predicts(ModelHead head, const std::string& output_token) { return predicts(model_of(head), output_token); }

TEST(MixingChoice, WhereAModelPredicts) {
  EXPECT_TRUE(predicts(ModelHead::kMaskedLm, "auto"));
  EXPECT_TRUE(predicts(ModelHead::kMaskedLm, "2"));
  EXPECT_FALSE(predicts(ModelHead::kMaskedLm, "1"));
  EXPECT_FALSE(predicts(ModelHead::kClassification, "auto"));  // that is the mask
  EXPECT_TRUE(predicts(ModelHead::kClassification, "cls"));
  EXPECT_TRUE(predicts(ModelHead::kClassification, "0"));
  EXPECT_FALSE(predicts(ModelHead::kClassification, "last"));
  EXPECT_TRUE(predicts(ModelHead::kCausalLm, "auto"));
  EXPECT_TRUE(predicts(ModelHead::kCausalLm, "3"));
  EXPECT_FALSE(predicts(ModelHead::kCausalLm, "2"));
  EXPECT_TRUE(predicts(ModelHead::kTokenClassification, "1"));
  EXPECT_TRUE(predicts(ModelHead::kQuestionAnswering, "auto"));
  EXPECT_FALSE(predicts(ModelHead::kQuestionAnswering, "1"));
  EXPECT_TRUE(predicts(ModelHead::kEmbedding, "auto"));
  EXPECT_FALSE(predicts(ModelHead::kEmbedding, "0"));
  for (const ModelHead head : {ModelHead::kMaskedLm, ModelHead::kClassification, ModelHead::kCausalLm,
                               ModelHead::kTokenClassification, ModelHead::kQuestionAnswering}) {
    EXPECT_FALSE(predicts(head, "all"));
  }
  EXPECT_FALSE(predicts(ModelHead::kNone, "auto"));
}

TEST(MixingChoice, TheTokenThatAClassifierReads) {
  ModelInfo info = model_of(ModelHead::kClassification);
  EXPECT_TRUE(predicts(info, "cls"));
  info.classifies_first_token = false;  // a mean of patches or tokens, too
  EXPECT_FALSE(predicts(info, "cls"));
  info.causal = true;
  EXPECT_FALSE(predicts(info, "cls"));
  EXPECT_TRUE(predicts(info, "last"));
  info.labels = {"score"};
  EXPECT_FALSE(predicts(info, "last"));
}

// A model to ask about; it does not run.
class AskedModel : public TextModel, private Gradients<TextInput> {
 public:
  ModelInfo known = model_of(ModelHead::kCausalLm);
  bool terms = true;
  std::function<bool()> has_gradients = [] { return true; };

  const ModelInfo& info() const override { return known; }
  bool has_terms() const override { return terms; }
  Gradients<TextInput>* gradients() override { return this; }
  ModelOutput run(const TextInput&, AttentionSink*, const RunOptions&) override { throw std::logic_error("run"); }

 private:
  void prepare() override {
    if (!has_gradients()) throw Error(ErrorKind::kUnsupportedModel, "no gradients");
  }
  std::vector<InputGradient> input_gradients(std::span<const TextInput>, std::span<const ScoreTarget>,
                                             const BatchOptions&) override {
    throw std::logic_error("input_gradients");
  }
  void attention_gradients(const TextInput&, const ScoreTarget&, AttentionGradientSink&, BackwardRule) override {
    throw std::logic_error("attention_gradients");
  }
};

class MixingChoiceOf : public testing::Test {
 protected:
  MixingChoiceOf() { model.known.parameters = 1'000'000; }

  Mixing chosen() {
    Settings one = settings;
    one.mixing = Mixing::kAuto;
    notes.clear();
    choose_mixing<TextModel>(one, model, question, notes);
    return one.mixing;
  }

  bool noted(NoteCode code) const { return notes.size() == 1 && notes.front().code == code; }

  Settings settings;
  AskedModel model;
  DefaultQuestion question = {.tokens = 10};
  std::vector<Note> notes;
};

TEST_F(MixingChoiceOf, APrediction) {
  EXPECT_EQ(chosen(), Mixing::kRelevance);
  EXPECT_TRUE(noted(NoteCode::kDefaultMixing));
  model.has_gradients = [] { return false; };
  EXPECT_EQ(chosen(), Mixing::kAlti);
  EXPECT_TRUE(noted(NoteCode::kNotTheAnswer));
  EXPECT_NE(notes.front().text.find("is not available for this model"), std::string::npos) << notes.front().text;
  model.terms = false;
  EXPECT_EQ(chosen(), Mixing::kAttention);
  EXPECT_TRUE(noted(NoteCode::kNotTheAnswer));
}

TEST_F(MixingChoiceOf, WorkThatTakesLong) {
  model.known.parameters = static_cast<std::size_t>(kWorkOfOne / 8.0 / 10.0);
  EXPECT_EQ(chosen(), Mixing::kRelevance);
  model.known.parameters *= 2;
  EXPECT_EQ(chosen(), Mixing::kAttention);  // contributions take as long
  EXPECT_TRUE(noted(NoteCode::kNotTheAnswer));
  EXPECT_NE(notes.front().text.find("about 2 minutes on two processors"), std::string::npos) << notes.front().text;
  model.has_gradients = [] { return false; };
  EXPECT_EQ(chosen(), Mixing::kAttention);
  EXPECT_NE(notes.front().text.find("is not available for this model"), std::string::npos) << notes.front().text;
  model.has_gradients = [] {
    ADD_FAILURE() << "gradients need not be prepared";
    return true;
  };
  model.known.parameters /= 2;
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
  ASSERT_TRUE(noted(NoteCode::kAttentionByOption));
  EXPECT_EQ(note_text(notes.front()),
            "Built from attention weights, because the model\u2019s default mixing has no weight of the residual "
            "connection to choose. Leave out --residual for the model\u2019s default.");
  settings = {};
  settings.heads = parse_heads("max");
  EXPECT_EQ(chosen(), Mixing::kAttention);
  ASSERT_TRUE(noted(NoteCode::kAttentionByOption));
  EXPECT_EQ(
      note_text(notes.front()),
      "Built from attention weights, because the model\u2019s default mixing has no choice of heads. Leave out --heads "
      "for the model\u2019s default.");
  question.predicts = false;  // attention is the default
  EXPECT_EQ(chosen(), Mixing::kAttention);
  EXPECT_TRUE(notes.empty());
  question.predicts = true;
  settings = {};
  question.only_row = true;
  EXPECT_EQ(chosen(), Mixing::kAttention);
  EXPECT_TRUE(notes.empty());
}

}  // namespace
}  // namespace attnflow::mixing_choice_test
