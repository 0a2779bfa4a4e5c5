// The embedding of a small random encoder by the torch backend: pooled as its folder says, its relevance adding up, and
// its gradients those of the cosine.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_for_test.h"
#include "attnflow/model/prediction.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::embedding_test {
namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / "models" / "bert_base";

const TextInput kText = {{2, 57, 58, 59, 60, 3}, {}};

ScoreTarget toward(const Tensor<float>& vector) {
  double squares = 0.0;
  for (const float number : vector.span()) squares += double{number} * double{number};
  ScoreTarget target;
  target.kind = ScoreTarget::Kind::kCosine;
  for (const float number : vector.span()) {
    target.direction.push_back(static_cast<float>(double{number} / std::sqrt(squares)));
  }
  return target;
}

TEST(Embedding, InBatchesAsAlone) {
  const std::unique_ptr<Encoder> model = ModelFiles(kFolder).load_encoder();
  ASSERT_EQ(model->info().head, ModelHead::kEmbedding);
  const std::vector<TextInput> texts = {kText, {{2, 57, 3}, {}}, {{2, 58, 59, 61, 3}, {}}};
  const std::vector<Tensor<float>> together = model->classify(texts, {});
  std::size_t seen = 0;
  model->logits_of_each(texts, std::nullopt, {}, [&](std::size_t i, std::span<const float> row) {
    ++seen;
    EXPECT_TRUE(std::equal(row.begin(), row.end(), together[i].span().begin(), together[i].span().end()));
  });
  EXPECT_EQ(seen, texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Tensor<float> alone = model->run(texts[i], nullptr).logits;
    ASSERT_EQ(alone.shape(), (Shape{model->info().hidden}));
    for (std::size_t k = 0; k < alone.size(); ++k) EXPECT_NEAR(together[i](k), alone(k), 1e-5F);
  }
}

TEST(Embedding, TheFirstTokensStateWhereTheFolderSaysSo) {
  const test::ModelCopy folder("bert_base");
  std::filesystem::create_directories(folder.path() / "1_Pooling");
  test::put(folder.path() / "modules.json", R"([{"type": "a.Transformer", "path": ""},
                                                {"type": "a.Pooling", "path": "1_Pooling"}])");
  test::put(folder.path() / "1_Pooling" / "config.json", R"({"pooling_mode_cls_token": true})");
  const std::unique_ptr<Encoder> first = ModelFiles(folder.path()).load_encoder();
  const std::unique_ptr<Encoder> mean = ModelFiles(kFolder).load_encoder();
  const ScoreTarget target = toward(first->run(kText, nullptr).logits);
  EXPECT_NEAR(target_value(target, first->run(kText, nullptr).logits.span()), 1.0, 1e-6);
  EXPECT_LT(target_value(target, mean->run(kText, nullptr).logits.span()), 1.0 - 1e-4);
}

// The gradient is that of the cosine with another text's embedding; with its own it is 0.
TEST(Embedding, GradientsOfTheCosine) {
  const std::unique_ptr<Encoder> model = ModelFiles(kFolder).load_encoder();
  const ScoreTarget own = toward(model->run(kText, nullptr).logits);
  const ScoreTarget other = toward(model->run({{2, 61, 62, 3}, {}}, nullptr).logits);
  Gradients<TextInput>& gradients = gradients_of(*model);
  const std::vector<TextInput> texts = {kText, kText};
  const std::vector<ScoreTarget> targets = {own, other};
  const std::vector<InputGradient> found = gradients.input_gradients(texts, targets);
  EXPECT_NEAR(found[0].value, 1.0, 1e-6);
  for (const float slope : found[0].gradient.span()) EXPECT_NEAR(slope, 0.0F, 1e-5F);
  // Central differences at some numbers of the input.
  constexpr float kStep = 1e-2F;
  for (const std::size_t at : {std::size_t{3}, std::size_t{40}, std::size_t{101}}) {
    std::vector<Tensor<float>> moved(2, found[1].embedding);
    moved[0].span()[at] += kStep;
    moved[1].span()[at] -= kStep;
    const std::vector<ScoreTarget> same = {other, other};
    const std::vector<InputGradient> near = gradients.input_gradients(texts, same, {.embeddings = moved});
    const double slope = (near[0].value - near[1].value) / (2.0 * double{kStep});
    EXPECT_NEAR(found[1].gradient.span()[at], slope, 2e-3 * (1.0 + std::abs(slope)));
  }
}

// By AttnLRP's rules the length is a constant: what all tokens' states bring adds up to the whole.
TEST(Embedding, RelevanceAtTheTopIsTheWhole) {
  const std::unique_ptr<Encoder> model = ModelFiles(kFolder).load_encoder();
  struct Top : AttentionGradientSink {
    double sum = 0.0;
    void top(TensorView<const float> residual, TensorView<const float> gradient) override {
      for (std::size_t k = 0; k < residual.size(); ++k) {
        sum += double{residual.span()[k]} * double{gradient.span()[k]};
      }
    }
    bool wants_layers() const override { return false; }
    void layer(const LayerGradients&) override {}
  };
  Top top;
  const ScoreTarget own = toward(model->run(kText, nullptr).logits);
  gradients_of(*model).attention_gradients(kText, own, top, BackwardRule::kAttnLrp);
  EXPECT_NEAR(top.sum, 1.0, 1e-5);
}

TEST(Embedding, ContributionsAreTheDefaultAndAreChecked) {
  const std::unique_ptr<Encoder> model = ModelFiles(kFolder).load_encoder();
  const Tokenizer tokenizer = Tokenizer::load(kFolder, "bert");
  ExplainOptions options;
  options.settings.mixing = Mixing::kAuto;
  const Report report = explain_text(*model, tokenizer, "the author and her book", {}, options);
  EXPECT_EQ(report.settings.mixing, Mixing::kAlti);
  EXPECT_TRUE(test::has_note(report.notes, NoteCode::kDefaultMixing));
  EXPECT_FALSE(report.target);
  ASSERT_TRUE(report.check);
  EXPECT_EQ(report.check->quantity, "cosine similarity");
  options.settings.target = "the table";
  EXPECT_EQ(explain_text(*model, tokenizer, "the author", {}, options).settings.mixing, Mixing::kRelevance);
}

TEST(Embedding, RelevanceIsChecked) {
  const std::unique_ptr<Encoder> model = ModelFiles(kFolder).load_encoder();
  ExplainOptions options;
  options.settings.mixing = Mixing::kRelevance;
  const Report report = explain_text(*model, Tokenizer::load(kFolder, "bert"), "the author and her book", {}, options);
  ASSERT_TRUE(report.target);
  EXPECT_EQ(report.target->kind, "embedding");
  EXPECT_EQ(report.input.tokens.back().role, "mean");
  EXPECT_EQ(report.output_token, report.input.tokens.size() - 1);
  ASSERT_TRUE(report.check);
  EXPECT_NEAR(report.check->value, 1.0, 1e-6);
  EXPECT_EQ(report.check->maps.size(), 3U);
  // Rows of raw relevance add up to what speaks for the embedding.
  const auto row = report.raw[report.raw.extent(0) - 1][report.output_token].span();
  EXPECT_GT(std::accumulate(row.begin(), row.end(), 0.0), 0.9);
}

TEST(Embedding, ScoresAddUpAsTheirMethodsPromise) {
  const std::unique_ptr<Encoder> model = ModelFiles(kFolder).load_encoder();
  ExplainOptions options;
  options.settings.methods = {Method::kIntegratedGradients, Method::kAttnLrp};
  const Report report = explain_text(*model, Tokenizer::load(kFolder, "bert"), "the author and her book", {}, options);
  ASSERT_EQ(report.scores.size(), 2U);
  EXPECT_NEAR(report.scores[0].error(0), 0.0, 1e-3);
  EXPECT_FALSE(test::has_note(report.notes, NoteCode::kIntegrationError));
}

}  // namespace
}  // namespace attnflow::embedding_test
