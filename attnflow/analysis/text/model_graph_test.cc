#include "attnflow/analysis/text/model_graph.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "attnflow/analysis/text/explain_text.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/gradient_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/rollout.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::model_graph_test {
namespace {

constexpr std::size_t kLayers = 4;
constexpr std::size_t kWord = 7;

// A model with made-up attention and gradients; the gradient differs for each target.
class GradientModel : public TextModel, public Gradients<TextInput> {
 public:
  explicit GradientModel(ModelHead head, bool causal = false) {
    info_.name = "made-up";
    info_.architecture = "bert";
    info_.layers = kLayers;
    info_.heads = 3;
    info_.vocabulary = 1000;
    info_.max_tokens = 12;
    info_.causal = causal;
    info_.head = head;
    if (head == ModelHead::kClassification) info_.labels = {"no", "Yes", "5 stars"};
  }
  const ModelInfo& info() const override { return info_; }
  Gradients<TextInput>* gradients() override { return this; }

  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions& options) override {
    stack = random_stack(
        {.layers = kLayers, .heads = info_.heads, .tokens = input.ids.size(), .causal = info_.causal, .seed = 3});
    if (sink != nullptr) stack.send_to(*sink);
    ModelOutput output;
    if (info_.head == ModelHead::kClassification) output.logits = Tensor<float>({3}, {0.0F, 1.5F, -2.0F});
    if (info_.head == ModelHead::kCausalLm || info_.head == ModelHead::kMaskedLm) {
      output.logits = Tensor<float>({options.logit_positions.size(), info_.vocabulary});
      for (std::size_t p = 0; p < options.logit_positions.size(); ++p) output.logits(p, kWord) = 5.0F;
    }
    return output;
  }
  void attention_gradients(const TextInput&, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule) override {
    EXPECT_EQ(target.kind, ScoreTarget::Kind::kLogit);
    gradient = Tensor<float>(stack.weights().shape());
    if (scale != 0.0) gradient = random_gradient(stack, scale, target.label);
    send_down(stack, gradient, sink);
  }
  std::vector<InputGradient> input_gradients(std::span<const TextInput>, std::span<const ScoreTarget>,
                                             const BatchOptions&) override {
    throw unused();
  }

  AttentionStack stack;
  Tensor<float> gradient;
  double scale = 5.0;

 private:
  static Error unused() { return {ErrorKind::kUnsupportedModel, "not part of this test"}; }
  ModelInfo info_;
};

Tokenizer small_tokenizer() {
  return Tokenizer::load(std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests/golden/models/bert_masked_lm", "bert");
}

ExplainOptions by_gradient(const std::string& mixing = "gradient", const std::string& target = "auto") {
  ExplainOptions options;
  options.settings.mixing = parse_mixing(mixing);
  options.settings.target = target;
  return options;
}

Report explain(TextModel& model, const ExplainOptions& options, const std::string& text = "the key is on a table") {
  return explain_text(model, small_tokenizer(), text, std::nullopt, options);
}

TEST(GradientExplain, PublishedRolloutAndFlowOfRenormalisedRows) {
  GradientModel model(ModelHead::kClassification);
  const Report report = explain(model, by_gradient());
  ASSERT_TRUE(report.target);
  EXPECT_EQ(report.target->kind, "class");
  EXPECT_EQ(report.target->label, "Yes");
  EXPECT_EQ(report.target->index, 1U);
  EXPECT_EQ(report.target->logit, 1.5);
  ASSERT_EQ(report.predictions.size(), 1U);
  const std::size_t n = report.input.tokens.size();
  for (std::size_t l = 1; l <= kLayers; ++l) {
    const auto truth = naive_gradient_rollout(model.stack, model.gradient, l, 0, ResidualRule::kAdded);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const auto raw = static_cast<double>(naive_gradient_weight(model.stack, model.gradient, l, i, j));
        EXPECT_NEAR(report.raw(l - 1, i, j), raw, 1e-15 * (1.0 + raw));
        const auto expected = static_cast<double>(truth[i * n + j]);
        EXPECT_NEAR(report.rollout(l - 1, i, j), expected, 1e-14 * (1.0 + expected));
      }
    }
  }
  const AttentionGraph rows =
      gradient_graph_of(model.stack, model.gradient, {.residual_rule = ResidualRule::kAddedNormalized});
  EXPECT_EQ(report.flow, attention_flow(rows).flow);
  EXPECT_EQ(report.graph, rows.weights);
  EXPECT_TRUE(test::has_note(report.notes, NoteCode::kRolloutNotShares)) << report.notes.size();

  const Report shares = explain(model, by_gradient("gradient-renormalized"));
  EXPECT_EQ(shares.rollout, rollout(rows));
  EXPECT_EQ(shares.flow, report.flow);
  EXPECT_EQ(shares.raw, report.raw);
  EXPECT_FALSE(test::has_note(shares.notes, NoteCode::kRolloutNotShares));
}

TEST(GradientExplain, TargetsByNameAndNumber) {
  GradientModel model(ModelHead::kClassification);
  const auto label = [&](const std::string& target) {
    return explain(model, by_gradient("gradient", target)).target->label;
  };
  EXPECT_EQ(label("no"), "no");
  EXPECT_EQ(label("YES"), "Yes");
  EXPECT_EQ(label("5 stars"), "5 stars");
  EXPECT_EQ(label("0"), "no");
  EXPECT_EQ(label("id:1"), "Yes");
  for (const char* wrong : {"3", "maybe", "-1", "id:3", "id:1x"}) {
    test::expect_error(ErrorKind::kUsage, {"--target: expected auto, a class of made-up (no, Yes, 5 stars)"},
                       [&] { label(wrong); });
  }
  EXPECT_NE(explain(model, by_gradient("gradient", "no")).rollout, explain(model, by_gradient()).rollout);
}

TEST(GradientExplain, DecodersTakeTheNextToken) {
  GradientModel model(ModelHead::kCausalLm, true);
  const Tokenizer tokenizer = small_tokenizer();
  const Report report = explain(model, by_gradient());
  ASSERT_TRUE(report.target);
  EXPECT_EQ(report.target->kind, "next");
  EXPECT_EQ(report.target->index, kWord);
  EXPECT_EQ(report.target->label, tokenizer.readable(kWord));
  EXPECT_EQ(report.target->logit, 5.0);
  EXPECT_EQ(report.output_token, report.input.tokens.size() - 1);
  const Report key = explain(model, by_gradient("gradient", "key"));
  EXPECT_EQ(key.target->label, "key");
  EXPECT_EQ(key.target->index, static_cast<std::size_t>(tokenizer.word_to_ids("key").front()));
  EXPECT_EQ(explain(model, by_gradient("gradient", "id:" + std::to_string(key.target->index))).rollout, key.rollout);
  // A word of several tokens stands for its first, with a note.
  const Report cabinets = explain(model, by_gradient("gradient", "cabinets"));
  const auto pieces = tokenizer.word_to_ids("cabinets");
  ASSERT_GT(pieces.size(), 1U);
  EXPECT_EQ(cabinets.target->index, static_cast<std::size_t>(pieces.front()));
  const std::vector<Note> notes = test::notes_of(cabinets.notes, NoteCode::kTargetFirstToken);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(test::value_of<std::size_t>(notes[0], "tokens"), pieces.size());
  EXPECT_FALSE(test::has_note(key.notes, NoteCode::kTargetFirstToken));
  for (const char* wrong : {"id:1000", "id:", "id:-1", "id:1x"}) {
    test::expect_error(ErrorKind::kUsage, {"--target"}, [&] { explain(model, by_gradient("gradient", wrong)); });
  }
}

TEST(GradientExplain, WordsNormalisationsAndCertificates) {
  for (const bool causal : {false, true}) {
    for (const char* how : {"row", "receptive-field"}) {
      for (const bool words : {false, true}) {
        GradientModel model(causal ? ModelHead::kCausalLm : ModelHead::kClassification, causal);
        ExplainOptions options = by_gradient();
        options.settings.normalization = parse_normalization(how);
        options.settings.words = words;
        const Report report = explain(model, options, "the cabinets");
        for (const Tensor<double>* values : {&report.raw, &report.rollout, &report.flow}) {
          const std::size_t n = values->extent(2);
          for (std::size_t r = 0; r < values->size() / n; ++r) {
            const double* row = values->data() + r * n;
            const double sum = std::accumulate(row, row + n, 0.0);
            // Rows of G may be empty: all negative gradients are clipped.
            if (values == &report.raw && sum == 0.0) continue;
            EXPECT_NEAR(sum, 1.0, 1e-12) << how << r;
          }
        }
        EXPECT_FALSE(test::has_note(report.notes, NoteCode::kRolloutNotShares));
      }
    }
  }
  GradientModel model(ModelHead::kClassification);
  ExplainOptions options = by_gradient();
  from_value(std::vector<std::string>{"cls,3"}, options.certificates);
  const Report report = explain(model, options);
  ASSERT_EQ(report.certificates.size(), 1U);
  EXPECT_TRUE(report.certificates[0].holds()) << report.certificates[0].problem;
  EXPECT_NEAR(report.certificates[0].flow, report.flow(kLayers - 1, 0, 3), 1e-12);
}

TEST(GradientExplain, ReceptiveFieldRemovesWhatEvenWeightsGive) {
  // Every row of G is even over the visible tokens, and so are the normalized values.
  class EvenModel : public GradientModel {
   public:
    using GradientModel::GradientModel;
    void attention_gradients(const TextInput&, const ScoreTarget&, AttentionGradientSink& sink, BackwardRule) override {
      const std::size_t n = stack.tokens();
      const AttentionGraph uniform = uniform_graph(kLayers, n, true, 0.0);
      for (std::size_t l = kLayers; l >= 1; --l) {
        Tensor<float> weights({1, n, n});
        Tensor<float> ones({1, n, n});
        for (std::size_t e = 0; e < n * n; ++e) {
          weights.data()[e] = static_cast<float>(uniform.weights[l - 1].data()[e]);
          ones.data()[e] = static_cast<float>(l);
        }
        sink.layer({.layer = l, .attention = weights.view(), .attention_gradient = ones.view()});
      }
    }
  };
  EvenModel even(ModelHead::kCausalLm, true);
  ExplainOptions options = by_gradient();
  options.settings.normalization = Normalization::kReceptiveField;
  const Report report = explain(even, options);
  const std::size_t n = report.input.tokens.size();
  for (const Tensor<double>* values : {&report.raw, &report.rollout, &report.flow}) {
    for (std::size_t l = 0; l < kLayers; ++l) {
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j <= i; ++j) EXPECT_NEAR((*values)(l, i, j), 1.0 / static_cast<double>(i + 1), 1e-6);
      }
    }
  }
}

TEST(GradientExplain, KeepsTheAttentionItself) {
  GradientModel model(ModelHead::kClassification);
  ExplainOptions options = by_gradient();
  options.keep_attention = true;
  const Report report = explain(model, options);
  EXPECT_EQ(report.attention, model.stack.weights());
  EXPECT_EQ(report.rollout, explain(model, by_gradient()).rollout);
}

TEST(GradientExplain, SaysWhenNothingSpeaksForTheTarget) {
  GradientModel model(ModelHead::kClassification);
  model.scale = 0.0;
  const Report report = explain(model, by_gradient());
  EXPECT_TRUE(test::has_note(report.notes, NoteCode::kNoPositiveAttention));
  EXPECT_FALSE(test::has_note(report.notes, NoteCode::kRolloutNotShares));
  for (std::size_t j = 0; j < report.input.tokens.size(); ++j) {
    EXPECT_EQ(report.rollout(kLayers - 1, 0, j), j == 0 ? 1.0 : 0.0);
  }
}

TEST(GradientExplain, NotesNameOnlyWhatCanBeChanged) {
  GradientModel model(ModelHead::kClassification);
  model.scale = 100.0;
  const Report report = explain(model, by_gradient());
  const std::vector<Note> notes = test::notes_of(report.notes, NoteCode::kFlowDegenerate);
  ASSERT_EQ(notes.size(), 1U);
  // Only for the output token: the others' rows say nothing about the score.
  EXPECT_EQ(test::value_of<std::size_t>(notes[0], "output_token"), 0U);
  const std::string text = note_text(notes[0]);
  EXPECT_TRUE(text.ends_with("or choose another --start-layer or --mixing (or --discard).")) << text;
}

TEST(GradientExplain, RefusesModelsWithoutGradients) {
  GradientModel headless(ModelHead::kNone);
  test::expect_error(ErrorKind::kUnsupportedModel, {"expected a classifier or a language model"},
                     [&] { explain(headless, by_gradient()); });
  GradientModel masked(ModelHead::kMaskedLm);
  test::expect_error(ErrorKind::kUsage, {"expected a mask token in the text"}, [&] { explain(masked, by_gradient()); });
  class NoGradients : public GradientModel {
   public:
    using GradientModel::GradientModel;
    Gradients<TextInput>* gradients() override { return nullptr; }
  };
  NoGradients model(ModelHead::kClassification);
  test::expect_error(ErrorKind::kUnsupportedModel, {"computes none"}, [&] { explain(model, by_gradient()); });
  EXPECT_NO_THROW(explain(model, {}));
}

TEST(GradientExplain, RefusesDamagedGradients) {
  class Damaged : public GradientModel {
   public:
    using GradientModel::GradientModel;
    void attention_gradients(const TextInput&, const ScoreTarget&, AttentionGradientSink& sink, BackwardRule) override {
      Tensor<float> bad = random_gradient(stack);
      bad(1, 2, 0, 3) = std::numeric_limits<float>::quiet_NaN();
      send_down(stack, bad, sink);
    }
  };
  Damaged model(ModelHead::kClassification);
  test::expect_error(ErrorKind::kBadFile, {"gradients of attention that are finite"},
                     [&] { explain(model, by_gradient()); });
}

TEST(GradientExplain, RefusesSettingsThatMeanNothing) {
  GradientModel model(ModelHead::kClassification);
  const auto refuses = [&](const char* part, auto change) {
    ExplainOptions options = by_gradient();
    change(options);
    test::expect_error(ErrorKind::kUsage, {part}, [&] { explain(model, options); });
  };
  refuses("--heads mean", [](ExplainOptions& o) { o.settings.heads = parse_heads("max"); });
  refuses("--heads mean", [](ExplainOptions& o) { o.settings.heads = parse_heads("1"); });
  refuses("does not allow --residual", [](ExplainOptions& o) { o.settings.residual = 0.25; });
  refuses("--target: expected", [](ExplainOptions& o) { o.settings.target = ""; });
  refuses("--mask-columns", [](ExplainOptions& o) { o.settings.column_mask = parse_column_mask("99"); });
  refuses("--target: expected a mixing that explains one prediction", [](ExplainOptions& o) {
    o.settings.mixing = Mixing::kAttention;
    o.settings.target = "Yes";
  });
  EXPECT_THROW(mixing_options(by_gradient().settings, {}, 1), Error);

  AttentionInput file;
  file.stack = random_stack({.layers = 2, .heads = 1, .tokens = 3});
  test::expect_error(ErrorKind::kUsage, {"has no gradients"}, [&] { explain_attention(file, by_gradient()); });
}

TEST(GradientExplain, LogitsThatAreNotFiniteHaveNoLargest) {
  const GradientModel model(ModelHead::kClassification);
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    const std::vector<float> logits = {0.0F, bad, 1.0F};
    test::expect_error(ErrorKind::kBadFile, {},
                       [&] { chosen_target({}, model.info(), nullptr, logits, std::nullopt); });
  }
  EXPECT_THROW(chosen_target({.label = 1}, model.info(), nullptr, std::vector<float>{0.0F}, std::nullopt), Error);
  EXPECT_EQ(chosen_target({}, model.info(), nullptr, std::vector<float>{1.0F, 1.0F, 0.0F}, std::nullopt).index, 0U);
}

TEST(PredictionTarget, AnswersBeginWithAToken) {
  Settings settings;
  settings.mixing = Mixing::kRelevance;
  EXPECT_FALSE(asked_begin(settings, 5).label);
  EXPECT_EQ(asked_begin(settings, 5).against, AskedTarget::Against::kRest);
  settings.target = "4";
  settings.against = "2";
  EXPECT_EQ(asked_begin(settings, 5).label, 4U);
  EXPECT_EQ(asked_begin(settings, 5).others, std::vector<std::size_t>{2});
  for (const char* bad : {"5", "-1", "key", "4x", ""}) {
    settings.target = bad;
    test::expect_error(ErrorKind::kUsage, {}, [&] { asked_begin(settings, 5); });
  }
  settings.target = "2";
  test::expect_error(ErrorKind::kUsage, {}, [&] { asked_begin(settings, 5); });  // against itself
}

TEST(PredictionTarget, AgainstTheNextBestOrAllOthers) {
  using Against = AskedTarget::Against;
  const GradientModel model(ModelHead::kClassification);
  const std::vector<float> logits = {1.0F, 4.0F, 3.0F};
  const auto chosen = [&](const AskedTarget& asked) {
    return chosen_target(asked, model.info(), nullptr, logits, std::nullopt);
  };
  const ReportTarget best = chosen({.label = {}, .against = Against::kNext, .next = 1});
  EXPECT_EQ(best.index, 1U);
  ASSERT_TRUE(best.against && best.against->index);
  EXPECT_EQ(*best.against->index, 2U);
  EXPECT_EQ(best.value(), 1.0);
  EXPECT_EQ(score_target(best).kind, ScoreTarget::Kind::kLogitDifference);

  // The usual number, or as many as there are.
  const ReportTarget next = chosen({.label = {}, .against = Against::kNext});
  ASSERT_TRUE(next.against);
  EXPECT_EQ(next.against->indices(), (std::vector<std::size_t>{2, 0}));
  EXPECT_EQ(next.value(), 4.0 - 2.0);

  const ReportTarget rest = chosen({.label = 0, .against = Against::kRest});
  EXPECT_EQ(rest.value(), 1.0 - 3.5);
  EXPECT_FALSE(rest.against->index);
  EXPECT_EQ(score_target(rest).kind, ScoreTarget::Kind::kLogitAgainstRest);

  EXPECT_EQ(chosen({.label = {}, .against = Against::kLabels, .others = {1}}).index, 2U);
  EXPECT_EQ(score_target(chosen({})).kind, ScoreTarget::Kind::kLogit);
}

}  // namespace
}  // namespace attnflow::model_graph_test
