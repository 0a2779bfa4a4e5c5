#include "attnflow/analysis/explain/explain.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_text.h"
#include "attnflow/analysis/explain/memory_check.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/rollout/rollout.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::explain_test {
namespace {

// A model whose attention is made up: what is tested here is everything but the model.
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
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions& options) override {
    given = input.ids;
    stack = random_stack({.layers = 4, .heads = 2, .tokens = input.ids.size(), .causal = info_.causal, .seed = 3});
    if (sink != nullptr) stack.send_to(*sink);
    ModelOutput output;
    if (info_.head == ModelHead::kClassification) output.logits = Tensor<float>({2}, {0.0F, 1.0F});
    if (info_.head == ModelHead::kMaskedLm) {
      output.logits = Tensor<float>({options.logit_positions.size(), info_.vocabulary});
      for (std::size_t p = 0; p < options.logit_positions.size(); ++p) output.logits(p, 7) = 5.0F;
    }
    return output;
  }

  AttentionStack stack;
  std::vector<std::int64_t> given;  // ids of the last run

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
  EXPECT_EQ(blanked.notes.front().text, "The model sees [UNK] in place of the tokens at positions 1, 3.");
  // A mask that is blanked is none: nothing is predicted there.
  EXPECT_EQ(blanked.predictions.size(), 1U);
  options.blank = {blanked.output_token};
  EXPECT_TRUE(explain(model, "the key to the [MASK]", options).predictions.empty());
  options.blank = {plain.input.tokens.size()};
  EXPECT_THROW(explain(model, "the key to the [MASK]", options), Error);
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
  try {
    explain(model, "the key", options);
    FAIL() << "1000 bytes are enough for nothing";
  } catch (const NotEnoughMemory& error) {
    EXPECT_NE(std::string(error.what()).find("found a limit of 0 MiB"), std::string::npos);
  }
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
  // The made-up model says the same whatever is blanked: nothing matters, and nothing is ordered.
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
  // A word looks as its pieces do on average.
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
  const auto kind = [&](const std::string& text) {
    try {
      explain(model, text);
    } catch (const Error& error) {
      return error.kind();
    }
    return ErrorKind::kOther;
  };
  EXPECT_EQ(kind(""), ErrorKind::kUsage);
  EXPECT_EQ(kind("  "), ErrorKind::kUsage);
  EXPECT_EQ(kind("a b c d e f g h i j k l m"), ErrorKind::kInputTooLong);
  MadeUpModel small(ModelHead::kNone, 10);
  EXPECT_THROW(explain(small, "a"), Error);  // the tokenizer has larger ids
}

TEST(ExplainAttention, LongInputsGetTheFlowOfOneOutputToken) {
  AttentionInput input;
  input.stack = random_stack({.layers = 2, .heads = 1, .tokens = kMaxTokensForAllFlows + 1, .causal = true, .seed = 1});
  ExplainOptions options;
  const Report report = explain_attention(input, options);
  EXPECT_EQ(report.flow_output_tokens, (std::vector<std::size_t>{kMaxTokensForAllFlows}));
  EXPECT_EQ(report.flow.shape(), (Shape{2, 1, kMaxTokensForAllFlows + 1}));
  EXPECT_EQ(report.rollout.extent(1), kMaxTokensForAllFlows + 1);
  options.settings.output_token = parse_output_token("all");
  const Report all = explain_attention(input, options);
  EXPECT_EQ(all.flow.extent(1), kMaxTokensForAllFlows + 1);
  for (std::size_t j = 0; j <= kMaxTokensForAllFlows; ++j) {
    EXPECT_EQ(all.flow(1, kMaxTokensForAllFlows, j), report.flow(1, 0, j));
  }
}

std::vector<Note> notes_of(const Report& report, NoteCode code) { return test::notes_of(report.notes, code); }

// Half of the last token's attention on the first of ten, in both layers.
TEST(ExplainAttention, SaysHowMuchADecoderParksOnItsFirstToken) {
  AttentionInput input;
  Tensor<float> weights({2, 1, 10, 10});
  for (std::size_t l = 0; l < 2; ++l) {
    weights(l, 0, 0, 0) = 1.0F;
    for (std::size_t i = 1; i < 10; ++i) {
      weights(l, 0, i, 0) = 0.5F;
      for (std::size_t j = 1; j <= i; ++j) weights(l, 0, i, j) = 0.5F / static_cast<float>(i);
    }
  }
  input.stack = AttentionStack(std::move(weights));
  ExplainOptions options;
  const std::vector<Note> notes = notes_of(explain_attention(input, options), NoteCode::kAttentionSink);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_NEAR(test::value_of<double>(notes[0], "share"), 0.5, 1e-7);
  EXPECT_TRUE(notes[0].text.starts_with("50% of the output token's attention")) << notes[0].text;
  options.settings.output_token = parse_output_token("2");  // of three tokens, half is not much
  EXPECT_TRUE(notes_of(explain_attention(input, options), NoteCode::kAttentionSink).empty());
  options.settings.output_token = parse_output_token("last");
  options.settings.column_mask = parse_column_mask("first");
  EXPECT_TRUE(notes_of(explain_attention(input, options), NoteCode::kAttentionSink).empty());
}

// With the first of four columns masked, the second row is (0, 1, 0, 0) in every layer.
TEST(ExplainAttention, SaysWhereASecondTokenTakesTheFirstOnesPlace) {
  AttentionInput input;
  Tensor<float> weights({4, 1, 4, 4});
  for (std::size_t l = 0; l < 4; ++l) {
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j <= i; ++j) weights(l, 0, i, j) = 1.0F / static_cast<float>(i + 1);
    }
  }
  input.stack = AttentionStack(std::move(weights));
  ExplainOptions options;
  options.settings.column_mask = parse_column_mask("first");
  const Report report = explain_attention(input, options);
  const std::vector<Note> notes = notes_of(report, NoteCode::kSecondTokenSink);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_DOUBLE_EQ(test::value_of<double>(notes[0], "share"), report.rollout(3, 3, 1));
  const auto silent = [&] { return notes_of(explain_attention(input, options), NoteCode::kSecondTokenSink).empty(); };
  options.settings.methods = {Method::kRaw};
  EXPECT_TRUE(silent());
  options.settings.methods = {Method::kRollout};
  EXPECT_FALSE(silent());
  options.settings.normalization = Normalization::kReceptiveField;
  EXPECT_TRUE(silent());
  options.settings.normalization = Normalization::kNone;
  options.settings.layers = {1};  // a single layer gathers little
  EXPECT_TRUE(silent());
}

TEST(ExplainAttention, SaysOnceWhereAndHowFlowIsDegenerate) {
  AttentionInput deep;
  deep.stack = random_stack({.layers = 8, .heads = 4, .tokens = 12, .sharpness = 0.5, .seed = 1});
  const Report report = explain_attention(deep, {});
  const std::vector<Note> notes = notes_of(report, NoteCode::kFlowDegenerate);
  ASSERT_EQ(notes.size(), 1U);
  const std::string text = note_text(notes[0]);
  // The note agrees with the flags of the cells.
  std::vector<std::size_t> mostly;
  for (std::size_t l = 0; l < 8; ++l) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < 12; ++i) {
      for (std::size_t j = 0; j < 12; ++j) count += report.flow_degenerate(l, i, j) != 0;
    }
    if (2 * count > 144) mostly.push_back(l + 1);
  }
  ASSERT_FALSE(mostly.empty());
  ASSERT_EQ(mostly.back(), 8U);
  ASSERT_EQ(mostly.size(), 9 - mostly.front());  // without a gap
  EXPECT_EQ(test::value_of<std::vector<std::size_t>>(notes[0], "layers"), mostly);
  EXPECT_NE(text.find("from layers " + std::to_string(mostly.front()) + "-8 is"), std::string::npos) << text;
  // Plain words come first.
  EXPECT_TRUE(text.starts_with("From layer " + std::to_string(mostly.front()) + " on, flow mostly repeats the first"))
      << text;
  const std::string fewer = "(--layers 1-" + std::to_string(mostly.front() - 1) + ")";
  EXPECT_NE(text.find("Look at rollout instead, or at flow from fewer layers " + fewer), std::string::npos) << text;
  for (const char* part : {"% of the values", "layer 1's attention to the input token", "--start-layer", "rollout",
                           "--residual", "--heads", "of the values shown for one output token"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << ": " << text;
  }

  AttentionInput shallow;
  shallow.stack = random_stack({.layers = 1, .heads = 1, .tokens = 12, .seed = 1});
  EXPECT_TRUE(notes_of(explain_attention(shallow, {}), NoteCode::kFlowDegenerate).empty());
}

TEST(ExplainAttention, NamesTheEndOfDegenerateFlow) {
  // Attention goes to the first token, whose column holds more than any row sends, and in the last layer nothing else
  // is left: the top row decides, but for the first token itself.
  constexpr std::size_t kTokens = 24;
  Tensor<float> weights({4, 1, kTokens, kTokens});
  for (std::size_t l = 0; l < 4; ++l) {
    for (std::size_t q = 0; q < kTokens; ++q) {
      weights(l, 0, q, q) = l == 3 ? 0.0F : 0.25F;
      weights(l, 0, q, 0) = 1.0F - (q == 0 ? 0.0F : weights(l, 0, q, q));
    }
  }
  AttentionInput sink;
  sink.stack = AttentionStack(std::move(weights));
  ExplainOptions options;
  options.settings.layers = {4};
  const std::vector<Note> top = notes_of(explain_attention(sink, options), NoteCode::kFlowDegenerate);
  ASSERT_EQ(top.size(), 1U);
  const std::string text = note_text(top[0]);
  EXPECT_NE(text.find("layer 4's own attention"), std::string::npos) << text;
  EXPECT_EQ(text.find("to the input token"), std::string::npos) << text;
  EXPECT_TRUE(text.starts_with("At layer 4, most flow values are as large as they can be")) << text;
  EXPECT_NE(text.find("(--layers 1-3)"), std::string::npos) << text;
  // From layer 2 down to layer 1 there is nothing between.
  options.settings.layers = {2};
  options.settings.start_layer = 1;
  EXPECT_TRUE(notes_of(explain_attention(sink, options), NoteCode::kFlowDegenerate).empty());
}

TEST(ExplainAttention, SaysWhenAnEnclosureIsWiderThanTheTolerance) {
  AttentionInput input;
  input.stack = random_stack({.layers = 4, .heads = 1, .tokens = 12, .seed = 1});
  ExplainOptions options;
  options.any_weights = true;
  options.settings.methods = {Method::kFlow};
  options.settings.flow_tolerance = 1e-12;
  EXPECT_TRUE(notes_of(explain_attention(input, options), NoteCode::kWideGap).empty());
  // Rows that sum to 10^6 leave larger units.
  Tensor<float> weights = std::get<AttentionStack>(input.stack).weights();
  for (float& weight : weights.span()) weight *= 1e6F;
  input.stack = AttentionStack(weights);
  const Report report = explain_attention(input, options);
  const std::vector<Note> notes = notes_of(report, NoteCode::kWideGap);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(test::value_of<double>(notes[0], "tolerance"), 1e-12);
  options.settings.flow_tolerance = 1e-6;
  EXPECT_TRUE(notes_of(explain_attention(input, options), NoteCode::kWideGap).empty());
}

TEST(ExplainAttention, CertificatesProveTheFlowOfPairs) {
  AttentionInput input;
  input.stack = random_stack({.layers = 4, .heads = 2, .tokens = 9, .sharpness = 3.0, .seed = 5});
  const AttentionGraph graph = attention_graph(std::get<AttentionStack>(input.stack));
  ExplainOptions options;
  options.certificates = {"2,7", "auto,last", "last,0"};
  for (const std::size_t m : {0U, 1U}) {
    options.settings.layers = {2, 4};
    options.settings.start_layer = m;
    options.settings.normalization =
        m == 0 ? Normalization::kNone : Normalization::kRow;  // certificates are never normalised
    const Report report = explain_attention(input, options);
    ASSERT_EQ(report.certificates.size(), 3U);
    const LayeredNetwork network = attention_network(graph, 4, m);
    const std::size_t pairs[3][2] = {{2, 7}, {0, 8}, {8, 0}};
    for (std::size_t c = 0; c < 3; ++c) {
      const ReportCertificate& certificate = report.certificates[c];
      EXPECT_TRUE(certificate.holds()) << certificate.problem;
      EXPECT_EQ(certificate.layer, 4U);
      EXPECT_EQ(certificate.start_layer, m);
      EXPECT_EQ(certificate.output_token, pairs[c][0]);
      EXPECT_EQ(certificate.input_token, pairs[c][1]);
      EXPECT_EQ(certificate.low, certificate.flow);
      const FlowResult all = attention_flow(graph, {.layers = {4}, .start_layer = m});
      EXPECT_NEAR(certificate.flow, all.flow(0, pairs[c][0], pairs[c][1]), 1e-15);
      // What the report holds is a proof by itself: the same arcs, counted from layer m, are checked again.
      PairFlow again{.flow = certificate.flow,
                     .flow_gap = certificate.flow_gap,
                     .fixed_point = {certificate.unit_exponent},
                     .arc_flows = {},
                     .minimum_cut = {}};
      double capacity = 0.0;
      for (const FlowArc& arc : certificate.arc_flows) {
        again.arc_flows.push_back({arc.layer - m, arc.from, arc.to, static_cast<std::int64_t>(arc.units)});
      }
      for (const ReportCutArc& arc : certificate.minimum_cut) {
        again.minimum_cut.push_back({arc.layer - m, arc.from, arc.to, 0});
        EXPECT_EQ(arc.capacity, network.layers[arc.layer - m - 1](arc.from, arc.to));
        capacity += arc.capacity;
      }
      EXPECT_TRUE(certify(network, pairs[c][0], pairs[c][1], again).holds());
      EXPECT_NEAR(capacity, certificate.high, 1e-14);
      ASSERT_EQ(certificate.cut_shares.size(), 4 - m);
      EXPECT_EQ(certificate.cut_shares.front().layer, 4U);
      EXPECT_EQ(certificate.cut_shares.back().layer, m + 1);
    }
  }
}

TEST(ExplainAttention, RefusesCertificatesOfTokensThatAreNotThere) {
  AttentionInput input;
  input.stack = random_stack({.layers = 2, .heads = 1, .tokens = 4, .seed = 1});
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"0,4"}, {"4,0"}, {"cls,0"}, {"mask,0"}, {"0"}, {"0,3", "0,last"}, {"all,0"}}) {
    ExplainOptions options;
    options.certificates = wrong;
    EXPECT_THROW(explain_attention(input, options), Error) << wrong[0];
  }
  // Words: found before the model runs.
  MadeUpModel model(ModelHead::kNone, 1000);
  ExplainOptions options;
  options.certificates = {"cls,1"};
  EXPECT_EQ(explain(model, "the cabinets", options).certificates.size(), 1U);
  options.settings.words = true;
  EXPECT_THROW(explain(model, "the cabinets", options), Error);
}

}  // namespace
}  // namespace attnflow::explain_test
