#include "attnflow/analysis/text/explain_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_text.h"
#include "attnflow/analysis/text/memory_check.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/explain/explain_attention.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/rollout.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::explain_text_test {
namespace {

// A model with made-up attention, to test everything else.
class MadeUpModel : public TextModel {
 public:
  explicit MadeUpModel(ModelHead head, std::size_t vocabulary, bool causal = false) {
    info_.name = "made-up";
    info_.architecture = "bert";
    info_.layers = 4;
    info_.heads = 2;
    info_.vocabulary = vocabulary;
    info_.max_tokens = 12;
    info_.causal = causal;
    info_.head = head;
    if (head == ModelHead::kClassification) info_.labels = {"no", "yes"};
  }
  const ModelInfo& info() const override { return info_; }
  bool has_terms() const override { return false; }
  // Makes it an encoder-decoder: two layers and one counted twice.
  void set_target() {
    info_.target = TargetInfo{.begin = {2}, .max_tokens = 4, .encoder_layers = 2, .decoder_layers = 1};
  }
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions& options) override {
    given = input.ids;
    source = input.source;
    stack = random_stack({.layers = 4, .heads = 2, .tokens = input.ids.size(), .causal = info_.causal, .seed = 3});
    if (sink != nullptr) stack.send_to(*sink);
    ModelOutput output;
    if (info_.head == ModelHead::kClassification) output.logits = Tensor<float>({2}, {0.0F, 1.0F});
    if (info_.head == ModelHead::kQuestionAnswering) {  // "key the" of "[CLS] the [SEP] key the key [SEP]"
      output.logits = Tensor<float>({2, input.ids.size()});
      output.logits(0, 3) = output.logits(1, 4) = 9.0F;
      output.logits(1, 1) = 99.0F;  // where no answer can end
      output.logits(0, 0) = output.logits(1, 0) = no_answer;
    }
    if (info_.head == ModelHead::kMaskedLm || info_.head == ModelHead::kCausalLm) {
      output.logits = Tensor<float>({options.logit_positions.size(), info_.vocabulary});
      for (std::size_t p = 0; p < options.logit_positions.size(); ++p) output.logits(p, 7) = 5.0F;
    }
    return output;
  }

  float no_answer = 0.0F;  // logits of [CLS]
  AttentionStack stack;
  std::vector<std::int64_t> given;  // ids of the last run
  std::size_t source = 0;

 private:
  ModelInfo info_;
};

Tokenizer small_tokenizer() {
  return Tokenizer::load(std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests/golden/models/bert_masked_lm", "bert");
}

Report explain(MadeUpModel& model, const std::string& text, const ExplainOptions& options = {}) {
  return explain_text(model, small_tokenizer(), text, std::nullopt, options);
}

TEST(ExplainText, ReportsWhatTheModulesCompute) {
  MadeUpModel model(ModelHead::kNone, 1000);
  const Report report = explain(model, "the key is on a table");
  const AttentionGraph graph = attention_graph(model.stack);
  EXPECT_EQ(report.raw, graph.weights);
  EXPECT_EQ(report.rollout, rollout(graph));
  EXPECT_EQ(report.flow, attention_flow(graph).flow);
  EXPECT_EQ(report.settings.layers, (std::vector<std::size_t>{1, 2, 3, 4}));
  EXPECT_EQ(report.output_token, 0U);
  EXPECT_EQ(report.input.tokens.front().text, "[CLS]");
  EXPECT_TRUE(report.input.tokens.front().special);
  EXPECT_TRUE(report.predictions.empty());
  EXPECT_TRUE(report.attention.empty());
}

TEST(ExplainText, AnEncoderDecoderReadsASourceAndATarget) {
  MadeUpModel model(ModelHead::kCausalLm, 1000);
  model.set_target();
  ExplainOptions options;
  options.settings.words = true;
  for (const bool all : {false, true}) {
    if (all) options.settings.output_token.kind = OutputToken::Kind::kAll;
    options.target_text = "a table";
    const Report report = explain(model, "the key", options);
    EXPECT_EQ(model.source, 4U);  // with [CLS] and [SEP]
    EXPECT_EQ(model.given.size(), 7U);
    EXPECT_EQ(model.given[4], 2);  // the token that a target begins with; no [CLS] or [SEP]
    EXPECT_EQ(report.input.text, "the key");
    EXPECT_EQ(report.input.text_pair, "a table");
    const std::vector<InputToken>& tokens = report.input.tokens;
    EXPECT_EQ(tokens[3].segment, 0U);
    EXPECT_EQ(tokens[4].segment, 1U);
    EXPECT_EQ(tokens[5].begin, 0U);
    EXPECT_EQ(tokens[5].word, 2U);
    EXPECT_EQ(report.output_token, 6U);
    EXPECT_EQ(report.predictions.at(0).position, 6U);
    EXPECT_FALSE(test::has_note(report.notes, NoteCode::kOutputTokenGuessed));
    EXPECT_TRUE(test::has_note(report.notes, NoteCode::kJointLayers));
  }
  options.target_text = "";
  EXPECT_EQ(explain(model, "the key", options).input.tokens.size(), 5U);
}

TEST(ExplainText, RefusesTextsThatDoNotFitAnEncoderDecoder) {
  const auto refuse = [](ErrorKind kind, const std::vector<std::string>& parts, const std::string& source,
                         const ExplainOptions& options, const std::optional<std::string>& pair = std::nullopt) {
    MadeUpModel model(ModelHead::kCausalLm, 1000);
    model.set_target();
    test::expect_error(kind, parts, [&] { explain_text(model, small_tokenizer(), source, pair, options); });
  };
  ExplainOptions options;
  refuse(ErrorKind::kUsage, {"--target-text: expected the text that the decoder of made-up", "attnflow generate"},
         "the key", options);
  options.target_text = "a table";
  refuse(ErrorKind::kUsage, {"at least one token, found none"}, "", options);
  refuse(ErrorKind::kUsage, {"--pair: expected none", "--target-text"}, "the key", options, "the door");
  refuse(ErrorKind::kInputTooLong, {"at most 12 tokens", "found 15"}, "a a a a a a a a a a a a a", options);
  options.settings.mixing = Mixing::kRelevance;
  options.settings.output_token = {OutputToken::Kind::kPosition, 1, {}};
  refuse(ErrorKind::kUsage, {"--output-token: expected a token of the target, from 4 to 6", "token 1 of the source"},
         "the key", options);
  options.settings.mixing = Mixing::kAttention;
  options.settings.methods = {Method::kRaw};
  options.target_text = "a a a a";
  refuse(ErrorKind::kInputTooLong, {"--target-text: expected at most 4 tokens", "found 5"}, "the key", options);
  for (const bool causal : {false, true}) {
    MadeUpModel other(causal ? ModelHead::kCausalLm : ModelHead::kMaskedLm, 1000, causal);
    test::expect_error(ErrorKind::kUsage, {"--target-text is for encoder-decoders only", "made-up"},
                       [&] { explain(other, "the key", options); });
  }
}

TEST(ExplainText, KeptAttentionGivesTheSameNumbersToTheBit) {
  MadeUpModel model(ModelHead::kNone, 1000);
  ExplainOptions options;
  const Report plain = explain(model, "the key is on a table", options);
  options.keep_attention = true;
  const Report kept = explain(model, "the key is on a table", options);
  EXPECT_EQ(kept.attention, model.stack.weights());
  AttentionInput input;
  input.stack = AttentionStack(kept.attention);
  input.tokens = kept.input.tokens;
  const Report again = explain_attention(std::move(input), options);
  for (const Report* other : {&kept, &again}) {
    EXPECT_EQ(other->raw, plain.raw);
    EXPECT_EQ(other->rollout, plain.rollout);
    EXPECT_EQ(other->flow, plain.flow);
    EXPECT_EQ(other->flow_gap, plain.flow_gap);
  }
}

TEST(ExplainText, BlankedTokensAreUnknownToTheModelAlone) {
  const Tokenizer tokenizer = small_tokenizer();
  MadeUpModel model(ModelHead::kMaskedLm, 1000);
  const Report plain = explain(model, "the key to the [MASK]");
  std::vector<std::int64_t> ids = model.given;
  ExplainOptions options;
  options.blank = {1, 3};
  const Report blanked = explain(model, "the key to the [MASK]", options);
  ids[1] = ids[3] = tokenizer.token_to_id("[UNK]").value();
  EXPECT_EQ(model.given, ids);
  ASSERT_EQ(blanked.input.tokens.size(), plain.input.tokens.size());
  for (std::size_t t = 0; t < plain.input.tokens.size(); ++t) {
    EXPECT_EQ(blanked.input.tokens[t].text, plain.input.tokens[t].text);
    EXPECT_FALSE(blanked.input.tokens[t].unknown);
  }
  EXPECT_EQ(test::notes_of(blanked.notes, NoteCode::kTokensBlanked).at(0).text,
            "The model sees [UNK] in place of the tokens at positions 1, 3.");
  // A blanked mask predicts nothing.
  EXPECT_EQ(blanked.predictions.size(), 1U);
  options.blank = {blanked.output_token};
  EXPECT_TRUE(explain(model, "the key to the [MASK]", options).predictions.empty());
  options.blank = {plain.input.tokens.size()};
  EXPECT_THROW(explain(model, "the key to the [MASK]", options), Error);
}

TEST(ExplainText, SaysHowFarTheModelIs) {
  MadeUpModel model(ModelHead::kNone, 1000);
  ExplainOptions options;
  std::vector<std::size_t> read;
  std::size_t tokens = 0;
  options.reading = [&](std::size_t done, std::size_t total) {
    read.push_back(done);
    tokens = total;
  };
  const Report report = explain(model, "the key is on a table", options);
  EXPECT_EQ(tokens, report.input.tokens.size());
  // Before the model runs, then after each of four layers.
  EXPECT_EQ(read, (std::vector<std::size_t>{0, tokens / 4, tokens / 2, 3 * tokens / 4, tokens}));
}

TEST(ExplainText, StopsBetweenLayers) {
  MadeUpModel model(ModelHead::kNone, 1000);
  std::stop_source stop;
  ExplainOptions options;
  options.settings.methods = {Method::kRaw};
  options.stop_token = stop.get_token();
  EXPECT_NO_THROW(explain(model, "the key", options));
  stop.request_stop();
  EXPECT_THROW(explain(model, "the key", options), Cancelled);
}

TEST(ExplainText, RefusesWhatTheLimitDoesNotAllow) {
  MadeUpModel model(ModelHead::kNone, 1000);
  ExplainOptions options;
  options.max_memory = 1000;
  EXPECT_THROW(explain(model, "the key", options), NotEnoughMemory);
  test::expect_error(ErrorKind::kOther, {"found a limit of 0 MiB"}, [&] { explain(model, "the key", options); });
  EXPECT_TRUE(model.given.empty());
  options.max_memory = 1'000'000;
  EXPECT_NO_THROW(explain(model, "the key", options));
}

TEST(EvaluateText, RefusesWhatItCannotUse) {
  const auto evaluate = [](ModelHead head, const std::string& text, const ExplainOptions& explain_options) {
    MadeUpModel model(head, 1000);
    TextEvaluationOptions options;
    options.explain = explain_options;
    return evaluate_text(model, small_tokenizer(), text, std::nullopt, options);
  };
  const TextEvaluation made = evaluate(ModelHead::kMaskedLm, "the key to the [MASK]", {});
  const std::size_t n = made.report.input.tokens.size();
  ASSERT_EQ(made.scores.size(), 1U);
  // The made-up model's output never changes: nothing matters, and nothing is ordered.
  EXPECT_EQ(made.scores[0].values, std::vector<double>(n, 0.0));
  EXPECT_EQ(made.blank, "[UNK]");
  ASSERT_EQ(made.correlations.size(), 2U * 3U * 4U);
  EXPECT_FALSE(made.correlations[0].spearman.has_value());
  EXPECT_EQ(made.correlations.front().count, n);
  EXPECT_EQ(made.correlations.back().count, n - 3);  // without [CLS], [MASK] and [SEP]
  EXPECT_EQ(made.relevance[1][3][1], made.report.rollout(3, made.report.output_token, 1));
  EXPECT_THROW(evaluate(ModelHead::kMaskedLm, "the key", {}), Error);
  EXPECT_THROW(evaluate(ModelHead::kNone, "the key", {}), Error);
  ExplainOptions options;
  options.settings.words = true;
  EXPECT_THROW(evaluate(ModelHead::kMaskedLm, "the [MASK]", options), Error);
  options = {};
  options.settings.output_token = parse_output_token("all");
  EXPECT_THROW(evaluate(ModelHead::kMaskedLm, "the [MASK]", options), Error);
  options = {};
  options.blank = {1};
  EXPECT_THROW(evaluate(ModelHead::kMaskedLm, "the [MASK]", options), Error);
}

TEST(ExplainText, WordsMergePieces) {
  MadeUpModel model(ModelHead::kNone, 1000);
  ExplainOptions options;
  const Report pieces = explain(model, "the cabinets", options);
  options.settings.words = true;
  const Report words = explain(model, "the cabinets", options);
  ASSERT_EQ(words.input.tokens.size(), 4U);
  EXPECT_EQ(words.input.tokens[2].text, "cabinets");
  const std::size_t n = pieces.input.tokens.size();
  ASSERT_GT(n, 4U);
  // CLS draws on a word as much as on its pieces together.
  double sum = 0.0;
  for (std::size_t j = 2; j + 1 < n; ++j) sum += pieces.rollout(3, 0, j);
  EXPECT_NEAR(words.rollout(3, 0, 2), sum, 1e-15);
  // One sink for all pieces: at least the largest, at most the sum.
  double largest = 0.0;
  double flows = 0.0;
  for (std::size_t j = 2; j + 1 < n; ++j) {
    largest = std::max(largest, pieces.flow(3, 0, j));
    flows += pieces.flow(3, 0, j);
  }
  EXPECT_GE(words.flow(3, 0, 2), largest);
  EXPECT_LE(words.flow(3, 0, 2), flows + 1e-15);
  double average = 0.0;
  for (std::size_t i = 2; i + 1 < n; ++i) average += pieces.rollout(3, i, 0) / static_cast<double>(n - 3);
  EXPECT_NEAR(words.rollout(3, 2, 0), average, 1e-15);
}

TEST(ExplainText, Predictions) {
  MadeUpModel classifier(ModelHead::kClassification, 1000);
  const Report classes = explain(classifier, "a key");
  ASSERT_EQ(classes.predictions.size(), 1U);
  EXPECT_EQ(classes.predictions[0].choices[0].label, "yes");
  EXPECT_NEAR(classes.predictions[0].choices[0].probability, 0.7310585786, 1e-9);

  MadeUpModel guesser(ModelHead::kMaskedLm, 1000);
  ExplainOptions options;
  options.candidates = {"key", "table"};
  const Report masked = explain(guesser, "the [MASK] is on a [MASK]", options);
  ASSERT_EQ(masked.predictions.size(), 2U);
  EXPECT_EQ(masked.output_token, *masked.predictions[0].position);
  EXPECT_EQ(masked.predictions[0].candidates[1].label, "table");
  EXPECT_GT(masked.predictions[0].choices[0].probability, masked.predictions[0].choices[1].probability);
  options.candidates = {"cabinets"};  // more than one piece
  EXPECT_THROW(explain(guesser, "the [MASK]", options), Error);
}

TEST(ExplainText, AnswersAreAPartOfThePair) {
  MadeUpModel model(ModelHead::kQuestionAnswering, 1000);
  const auto ask = [&](const ExplainOptions& options) {
    return explain_text(model, small_tokenizer(), "the", "key the  key", options);
  };
  ExplainOptions options;
  options.settings.top_k = 2;
  const Report report = ask(options);
  ASSERT_EQ(report.input.tokens.size(), 7U);
  ASSERT_EQ(report.predictions.size(), 1U);
  const ReportPrediction& answer = report.predictions.front();
  EXPECT_EQ(answer.kind, "answer");
  EXPECT_EQ(answer.position, 3U);
  ASSERT_EQ(answer.choices.size(), 2U);
  EXPECT_EQ(answer.choices.front().label, "key the");
  EXPECT_GT(answer.choices.front().probability, 0.99);
  EXPECT_EQ(report.output_token, 3U);
  EXPECT_TRUE(test::has_note(report.notes, NoteCode::kOutputTokenAnswer));
  EXPECT_FALSE(test::has_note(report.notes, NoteCode::kNoAnswer));
  model.no_answer = 10.0F;
  const std::vector<Note> none = test::notes_of(ask(options).notes, NoteCode::kNoAnswer);
  ASSERT_EQ(none.size(), 1U);
  const double share = std::exp(10.0) / (std::exp(10.0) + std::exp(9.0) + 2.0);  // of three places and [CLS]
  EXPECT_NEAR(test::value_of<double>(none[0], "probability"), share * share, 1e-3);
  model.no_answer = 0.0F;
  options.settings.output_token = {.kind = OutputToken::Kind::kPosition, .position = 1};
  EXPECT_EQ(ask(options).output_token, 1U);
  options.settings.output_token = {};
  options.settings.words = true;
  EXPECT_EQ(ask(options).output_token, ask(options).predictions.front().position);

  for (const std::optional<std::string>& pair : {std::optional<std::string>(), std::optional<std::string>(" ")}) {
    test::expect_error(ErrorKind::kUsage, {"--pair"},
                       [&, &second = pair] { explain_text(model, small_tokenizer(), "the key", second, {}); });
  }
}

TEST(ExplainText, AClassOfADecoderIsAtTheLastToken) {
  MadeUpModel model(ModelHead::kClassification, 1000, /*causal=*/true);
  ExplainOptions options;
  options.settings.mixing = Mixing::kAuto;
  const Report report = explain(model, "the key", options);
  EXPECT_TRUE(test::has_note(report.notes, NoteCode::kNotTheAnswer));  // it would be relevance if it had gradients
  EXPECT_EQ(report.output_token + 1, report.input.tokens.size());
  ASSERT_EQ(report.predictions.size(), 1U);
  EXPECT_EQ(report.predictions.front().kind, "classification");
  EXPECT_FALSE(report.predictions.front().position);
  ASSERT_TRUE(report.check);  // the map ends where the class is predicted
  options.settings.output_token = {.kind = OutputToken::Kind::kPosition, .position = 0};
  EXPECT_FALSE(explain(model, "the key", options).check);
}

TEST(ExplainText, NormalisedRowsSumToOne) {
  for (const bool causal : {false, true}) {
    for (const char* how : {"row", "receptive-field"}) {
      for (const bool words : {false, true}) {
        MadeUpModel model(ModelHead::kNone, 1000, causal);
        ExplainOptions options;
        options.settings.normalization = parse_normalization(how);
        options.settings.words = words;
        const Report report = explain(model, "the cabinets", options);
        for (const Tensor<double>* values : {&report.raw, &report.rollout, &report.flow}) {
          const std::size_t n = values->extent(2);
          for (std::size_t r = 0; r < values->size() / n; ++r) {
            const double* row = values->data() + r * n;
            EXPECT_NEAR(std::accumulate(row, row + n, 0.0), 1.0, 1e-12);
          }
        }
      }
    }
  }
}

TEST(ExplainText, RefusesBadInput) {
  MadeUpModel model(ModelHead::kNone, 1000);
  const auto refused = [&](ErrorKind kind, const std::string& text) {
    test::expect_error(kind, {}, [&] { explain(model, text); });
  };
  refused(ErrorKind::kUsage, "");
  refused(ErrorKind::kInputTooLong, "a b c d e f g h i j k l m");
  MadeUpModel small(ModelHead::kNone, 10);
  EXPECT_THROW(explain(small, "a"), Error);  // the tokenizer has larger ids
}

TEST(ExplainText, RefusesCertificatesOfWords) {
  MadeUpModel model(ModelHead::kNone, 1000);
  ExplainOptions options;
  from_value(std::vector<std::string>{"cls,1"}, options.certificates);
  EXPECT_EQ(explain(model, "the cabinets", options).certificates.size(), 1U);
  options.settings.words = true;
  EXPECT_THROW(explain(model, "the cabinets", options), Error);
}

}  // namespace
}  // namespace attnflow::explain_text_test
