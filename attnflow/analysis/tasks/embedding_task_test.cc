#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/report/report_ranking.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::embedding_task_test {
namespace {

constexpr std::size_t kHidden = 8;

// A sentence encoder whose states are its tokens', so that the embedding is known; attention is made up.
class StatesModel : public TextModel {
 public:
  explicit StatesModel(Pooling pooling = Pooling::kMean) {
    info_.name = "states";
    info_.architecture = "bert";
    info_.layers = 3;
    info_.heads = 2;
    info_.hidden = kHidden;
    info_.vocabulary = 1000;
    info_.max_tokens = 20;
    info_.head = ModelHead::kEmbedding;
    info_.pooling = pooling;
  }
  const ModelInfo& info() const override { return info_; }
  ModelInfo& info() { return info_; }
  bool has_terms() const override { return false; }
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions&) override {
    const AttentionStack stack = random_stack({.layers = 3, .heads = 2, .tokens = input.ids.size(), .seed = 3});
    if (sink != nullptr) stack.send_to(*sink);
    ids = input.ids;
    if (info_.head == ModelHead::kNone) return {};
    return {embedding(input.ids)};
  }
  Tensor<float> embedding(const std::vector<std::int64_t>& of) const {
    Tensor<float> mean({kHidden});
    const std::size_t count = info_.pooling == Pooling::kMean ? of.size() : 1;
    for (std::size_t t = 0; t < count; ++t) {
      for (std::size_t k = 0; k < kHidden; ++k) {
        mean(k) += scale * std::sin(static_cast<float>((static_cast<std::size_t>(of[t]) + 1) * (k + 1))) /
                   static_cast<float>(count);
      }
    }
    return mean;
  }

  float scale = 1.0F;
  std::vector<std::int64_t> ids;  // of the last run

 private:
  ModelInfo info_;
};

double cosine(const Tensor<float>& a, const Tensor<float>& b) {
  double ab = 0.0;
  double aa = 0.0;
  double bb = 0.0;
  for (std::size_t k = 0; k < kHidden; ++k) {
    ab += double{a(k)} * double{b(k)};
    aa += double{a(k)} * double{a(k)};
    bb += double{b(k)} * double{b(k)};
  }
  return ab / std::sqrt(aa * bb);
}

Tokenizer tokenizer() {
  return Tokenizer::load(std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests/golden/models/bert_masked_lm", "bert");
}

Report explain(TextModel& model, const ExplainOptions& options = {}) {
  return explain_text(model, tokenizer(), "the keys to the cabinet", std::nullopt, options);
}

ExplainOptions by_attention() {
  ExplainOptions options;
  options.settings.mixing = Mixing::kAttention;
  options.check = CheckWhen::kAlways;
  return options;
}

TEST(EmbeddingTask, TheMeanIsOneMoreToken) {
  StatesModel model;
  const Report report = explain(model, by_attention());
  const std::size_t n = model.ids.size();
  ASSERT_EQ(report.input.tokens.size(), n + 1);
  EXPECT_EQ(report.output_token, n);
  EXPECT_EQ(report.input.tokens[n].text, "[mean]");
  EXPECT_EQ(report.input.tokens[n].role, "mean");
  EXPECT_TRUE(report.input.tokens[n].special);
  ASSERT_EQ(report.predictions.size(), 1U);
  EXPECT_EQ(report.predictions[0].kind, "embedding");
  EXPECT_EQ(report.predictions[0].position, n);
  EXPECT_EQ(report.rollout.shape(), (Shape{3, n + 1, n + 1}));
  EXPECT_EQ(report.graph.shape(), (Shape{3, n + 1, n + 1}));
  EXPECT_EQ(report.output_tokens.size(), n + 1);
  const auto row = report.rollout[2][n].span();
  EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1.0, 1e-6);  // as rows of float32 do
  EXPECT_NE(model_line(report).find(std::to_string(n) + " tokens"), std::string::npos) << model_line(report);
}

TEST(EmbeddingTask, AFallIsHowFarTheVectorTurns) {
  for (const Pooling pooling : {Pooling::kMean, Pooling::kFirstToken}) {
    StatesModel model(pooling);
    const Report report = explain(model, by_attention());
    ASSERT_TRUE(report.check);
    EXPECT_EQ(report.check->quantity, "cosine similarity");
    EXPECT_NEAR(report.check->value, 1.0, 1e-6);
    const Tokenizer codec = tokenizer();
    std::vector<std::int64_t> ids;
    for (const EncodedToken& token : codec.encode("the keys to the cabinet", std::nullopt, {}).tokens) {
      ids.push_back(token.id);
    }
    const Tensor<float> whole = model.embedding(ids);
    std::size_t tried = 0;
    for (const CheckedToken& token : report.check->tokens) {
      double sum = 0.0;
      for (const TriedReplacement& one : token.replacements) {
        double error = 1.0;  // of the token that is meant: a word and the end of one may read alike
        for (std::size_t id = 0; id < codec.id_limit(); ++id) {
          if (codec.readable(static_cast<std::int64_t>(id)) != one.text) continue;
          std::vector<std::int64_t> changed = ids;
          changed[token.token] = static_cast<std::int64_t>(id);
          error = std::min(error, std::abs(one.value - cosine(model.embedding(changed), whole)));
        }
        EXPECT_LT(error, 1e-6) << one.text;
        EXPECT_EQ(one.fit, 1.0);
        sum += 1.0 - one.value;
        ++tried;
      }
      EXPECT_NEAR(token.drop, sum / static_cast<double>(token.replacements.size()), 1e-6);
      EXPECT_GE(token.drop, -1e-6);
    }
    EXPECT_GE(tried, 8U);
  }
}

TEST(EmbeddingTask, TheFirstTokensStateIsItsOwnOutput) {
  StatesModel model(Pooling::kFirstToken);
  const Report report = explain(model, by_attention());
  EXPECT_EQ(report.input.tokens.size(), model.ids.size());
  EXPECT_EQ(report.output_token, 0U);
  ASSERT_EQ(report.predictions.size(), 1U);
  EXPECT_EQ(report.predictions[0].position, 0U);
  EXPECT_EQ(prediction_lines(report), (std::vector<std::string>{"Embedding: the first token's state"}));
}

TEST(EmbeddingTask, OtherOutputTokensPredictNothing) {
  StatesModel model;
  for (const char* const token : {"cls", "keys", "all"}) {
    ExplainOptions options;
    options.settings.mixing = Mixing::kAuto;
    options.settings.output_token = parse_output_token(token);
    const Report report = explain(model, options);
    EXPECT_EQ(report.input.tokens.size(), model.ids.size()) << token;
    EXPECT_TRUE(report.predictions.empty()) << token;
    EXPECT_FALSE(report.check) << token;
    EXPECT_EQ(report.settings.mixing, Mixing::kAttention) << token;
  }
  ExplainOptions options;
  options.keep_attention = true;  // between the model's tokens
  EXPECT_EQ(explain(model, options).input.tokens.size(), model.ids.size());
}

TEST(EmbeddingTask, WordsAndOneRow) {
  StatesModel model;
  const Report all = explain(model, by_attention());
  ExplainOptions options = by_attention();
  options.settings.words = true;
  const Report words = explain(model, options);
  const std::size_t last = words.input.tokens.size() - 1;
  EXPECT_LT(words.input.tokens.size(), all.input.tokens.size());  // "keys" is two tokens
  EXPECT_EQ(words.output_token, last);
  EXPECT_EQ(words.input.tokens[last].role, "mean");
  EXPECT_EQ(words.predictions.at(0).position, last);
  EXPECT_EQ(words.graph.extent(2), last + 1);
  ASSERT_TRUE(words.check);
  // The same tokens' columns, put together.
  const double keys = words.rollout(2, last, 2);
  EXPECT_NEAR(keys, all.rollout(2, all.output_token, 2) + all.rollout(2, all.output_token, 3), 1e-14);

  options = by_attention();
  options.check = CheckWhen::kNever;
  options.only_output_token = true;
  const Report row = explain(model, options);
  EXPECT_EQ(row.output_tokens, (std::vector<std::size_t>{all.output_token}));
  const auto expected = all.rollout[2][all.output_token].span();
  const auto found = row.rollout[row.rollout.extent(0) - 1][0].span();
  EXPECT_TRUE(std::equal(found.begin(), found.end(), expected.begin(), expected.end()));
}

TEST(EmbeddingTask, ScoresBelongToTheModelsTokens) {
  StatesModel model;
  ExplainOptions options;
  options.settings.methods = {Method::kBlankOut};
  const Report report = explain(model, options);
  ASSERT_EQ(report.scores.size(), 1U);
  const std::size_t n = model.ids.size();
  ASSERT_EQ(report.scores[0].values.shape(), (Shape{1, n + 1}));
  EXPECT_EQ(report.scores[0].values(0, n), 0.0);
  ASSERT_TRUE(report.target);
  EXPECT_EQ(report.target->kind, "embedding");
  EXPECT_EQ(report.target->value(), 1.0);
  EXPECT_EQ(target_title(report.target), "the embedding");
  EXPECT_EQ(target_quantity(*report.target), "cosine similarity");
}

TEST(EmbeddingTask, WithoutGradientsAMapOfAttentionIsShownAndChecked) {
  StatesModel model;
  ExplainOptions options;
  options.settings.mixing = Mixing::kAuto;
  const Report report = explain(model, options);
  EXPECT_EQ(report.settings.mixing, Mixing::kAttention);
  EXPECT_TRUE(test::has_note(report.notes, NoteCode::kNotTheAnswer));
  EXPECT_TRUE(report.check);
}

// The similarity to another text, and the difference of two.
TEST(EmbeddingTask, OfTwoTextsAndOfThree) {
  StatesModel model;
  const Tokenizer codec = tokenizer();
  const auto embedded = [&](const std::string& text) {
    std::vector<std::int64_t> ids;
    for (const EncodedToken& token : codec.encode(text, std::nullopt, {}).tokens) ids.push_back(token.id);
    return model.embedding(ids);
  };
  const double near = cosine(embedded("the keys to the cabinet"), embedded("the table"));
  const double far = cosine(embedded("the keys to the cabinet"), embedded("sara talked"));
  ExplainOptions options;
  options.settings.methods = {Method::kBlankOut};
  options.settings.target = "the table";
  const Report two = explain(model, options);
  ASSERT_TRUE(two.target && two.check);
  EXPECT_EQ(two.target->kind, "similarity");
  EXPECT_NEAR(two.target->value(), near, 1e-6);
  EXPECT_NEAR(two.check->value, near, 1e-6);
  EXPECT_EQ(two.check->quantity, "cosine similarity");
  EXPECT_EQ(target_title(two.target), "the similarity to \u201cthe table\u201d");
  options.settings.against = "sara talked";
  const Report three = explain(model, options);
  ASSERT_TRUE(three.target && three.check);
  EXPECT_NEAR(three.target->value(), near - far, 1e-6);
  EXPECT_NEAR(three.check->value, near - far, 1e-6);
  EXPECT_EQ(three.check->quantity, "difference of cosine similarities");
  EXPECT_EQ(target_title(three.target), "the similarity to \u201cthe table\u201d rather than \u201csara talked\u201d");
  EXPECT_EQ(target_quantity(*three.target), "difference of cosine similarities");
}

TEST(EmbeddingTask, Refusals) {
  using test::expect_error;
  StatesModel model;
  const auto with = [&](const auto& change) {
    return [&model, change] {
      ExplainOptions options;
      change(options);
      explain(model, options);
    };
  };
  expect_error(ErrorKind::kUsage, {"--target", "at least one token"},
               with([](ExplainOptions& o) { o.settings.target = " ", o.settings.methods = {Method::kBlankOut}; }));
  expect_error(ErrorKind::kUsage, {"--against", "--target with it", "'the key'"}, with([](ExplainOptions& o) {
                 o.settings.against = "the key", o.settings.methods = {Method::kBlankOut};
               }));
  expect_error(ErrorKind::kUsage, {"--mixing gradient", "relevance or alti"},
               with([](ExplainOptions& o) { o.settings.mixing = Mixing::kGradient; }));
  expect_error(ErrorKind::kUsage, {"--candidates"}, with([](ExplainOptions& o) { o.candidates = {"key"}; }));

  for (const float scale : {0.0F, std::numeric_limits<float>::infinity()}) {
    model.scale = scale;
    expect_error(ErrorKind::kBadFile, {"embedding", "not all of them 0", "states"}, with([](ExplainOptions&) {}));
  }
  model.scale = 1.0F;
  model.info().head = ModelHead::kNone;
  model.info().unknown_embedding = "max pooling";
  expect_error(ErrorKind::kUnsupportedModel, {"--mixing relevance", "mean, mean_sqrt_len or cls", "max pooling"},
               with([](ExplainOptions& o) { o.settings.mixing = Mixing::kRelevance; }));
  EXPECT_TRUE(explain(model).predictions.empty());
}

// Special tokens alone: there is an embedding, but nothing to replace.
TEST(EmbeddingTask, ATextOfSpecialTokens) {
  StatesModel model;
  const Report report = explain_text(model, tokenizer(), "[SEP] [MASK]", std::nullopt, {});
  EXPECT_EQ(report.predictions.size(), 1U);
  EXPECT_FALSE(report.check);
}

}  // namespace
}  // namespace attnflow::embedding_task_test
