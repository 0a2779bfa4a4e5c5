// evaluate_evidence() for masked language models, and over several mixings.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_evidence.h"
#include "attnflow/analysis/generate/decoder_for_test.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/graph/gradient_mixing.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/metrics/evidence_rank.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow::evaluate_evidence_masked_test {
namespace {

using test::expect_error;

// Bytes; '_' is the mask and '?' the unknown token.
class MaskCodec : public ByteCodec {
 public:
  Encoding encode(std::string_view text, const std::optional<std::string>& pair,
                  const EncodeOptions& options) const override {
    Encoding encoding = ByteCodec::encode(text, pair, options);
    for (EncodedToken& token : encoding.tokens) token.special = token.special || token.id == '_';
    return encoding;
  }
  std::optional<std::int64_t> mask_id() const override { return '_'; }
  std::optional<std::int64_t> token_to_id(std::string_view piece) const override {
    if (piece == "[UNK]") return '?';
    return std::nullopt;
  }
};

// A masked language model with random attention, which says "h" with more certainty the more "S" it sees.
class MaskedModel : public Encoder, public Gradients<TextInput> {
 public:
  MaskedModel() {
    info_.name = "masked";
    info_.architecture = "bert";
    info_.layers = 3;
    info_.heads = 2;
    info_.vocabulary = 258;
    info_.max_tokens = 40;
    info_.head = ModelHead::kMaskedLm;
  }
  const ModelInfo& info() const override { return info_; }
  ModelInfo& changeable_info() { return info_; }

  static AttentionStack stack(std::size_t tokens, std::uint64_t seed = 5) {
    return random_stack({.layers = 3, .heads = 2, .tokens = tokens, .seed = seed});
  }
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions& options) override {
    ++runs;
    if (sink != nullptr) {
      ++attention_runs;
      stack(input.ids.size()).send_to(*sink);
    }
    EXPECT_EQ(options.logit_positions.size(), 1U);
    EXPECT_EQ(input.ids.at(options.logit_positions.at(0)), '_');
    Tensor<float> logits({1, info_.vocabulary});
    logits(0, 'h') = static_cast<float>(std::count(input.ids.begin(), input.ids.end(), 'S'));
    return {logits};
  }
  std::vector<Tensor<float>> classify(std::span<const TextInput>, const BatchOptions&) override { return {}; }
  Gradients<TextInput>* gradients() override { return has_gradients ? this : nullptr; }
  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions&) override {
    check(targets[0], ScoreTarget::Kind::kProbabilityDifference, inputs[0]);
    const std::size_t n = inputs[0].ids.size();
    InputGradient one{0.0, Tensor<float>({n, 2}), Tensor<float>({n, 2})};
    for (std::size_t j = 0; j < n; ++j) one.gradient(j, 0) = inputs[0].ids[j] == 'S' ? 1.0F : 0.0F;
    return {one};
  }
  void attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule) override {
    ++gradient_runs;
    check(target, ScoreTarget::Kind::kLogitDifference, input);
    const AttentionStack attention = stack(input.ids.size());
    const AttentionStack slope = stack(input.ids.size(), 6);
    for (std::size_t l = 3; l > 0; --l) {
      sink.layer({.layer = l, .attention = attention.weights()[l - 1], .attention_gradient = slope.weights()[l - 1]});
    }
  }

  int runs = 0;
  int attention_runs = 0;
  int gradient_runs = 0;
  bool has_gradients = true;

 private:
  static void check(const ScoreTarget& target, ScoreTarget::Kind kind, const TextInput& input) {
    EXPECT_EQ(target.kind, kind);
    EXPECT_EQ(target.label, static_cast<std::size_t>('h'));
    EXPECT_EQ(target.others.front(), static_cast<std::size_t>('x'));
    ASSERT_TRUE(target.position.has_value());
    EXPECT_EQ(input.ids.at(*target.position), '_');
  }

  ModelInfo info_;
};

const std::vector<EvidenceSample> kMasked = {{"he saw Sara and _ book .", "h", "x", "Sara"}};

EvidenceOptions masked_options(std::vector<Mixing> mixings) {
  EvidenceOptions options;
  options.resampling.resamples = 20;
  options.mixings = std::move(mixings);
  options.scores = {};
  return options;
}

double rank_of(const EvidenceReport& report, std::string_view method, std::optional<Mixing> mixing, std::size_t layer) {
  for (const EvidenceCell& cell : report.cells) {
    if (cell.method == method && cell.mixing == mixing && cell.layer == layer &&
        cell.variant == EvidenceVariant::kPlain) {
      return cell.reciprocal_rank.mean;
    }
  }
  ADD_FAILURE() << "no cell " << method << " of layer " << layer;
  return 0.0;
}

// The words of the sample as byte positions, the mask left out: "he", " saw", " Sara", " and", " book", " .".
double expected_rank(const Tensor<double>& values) {
  const std::string text = " " + kMasked[0].prefix;  // position 0 begins the text
  const std::size_t mask = text.find('_');
  std::vector<double> words = {0.0};
  for (std::size_t t = 1; t < text.size(); ++t) {
    if (text[t] == ' ') words.push_back(0.0);
    if (t != mask) words.back() += values(mask, t);
  }
  words.erase(words.begin() + 4);  // the space before the mask, which is a word with it
  return expected_reciprocal_rank(words, 2);
}

TEST(EvaluateMaskedEvidence, RanksWhatTheMaskDrewOnOverEveryMixing) {
  MaskedModel model;
  const EvidenceReport report =
      evaluate_evidence(model, MaskCodec(), kMasked, masked_options({Mixing::kAttention, Mixing::kGradient}));
  EXPECT_EQ(report.scored, 1U);
  EXPECT_EQ(report.right, 1U);
  // One forward and one backward pass for both mixings.
  EXPECT_EQ(model.attention_runs, 1);
  EXPECT_EQ(model.gradient_runs, 1);
  // No variants: three methods over 3 layers (flow over 3 of the quarters), two mixings; random.
  EXPECT_EQ(report.cells.size(), 2U * 3U * 4U + 1U);

  const AttentionStack stack = MaskedModel::stack(kMasked[0].prefix.size() + 1);
  const AttentionGraph attention = attention_graph(stack);
  const Tensor<double> rolled = rollout(attention);
  GradientGraphSink sink(3);
  const AttentionStack slope = MaskedModel::stack(stack.tokens(), 6);
  for (std::size_t l = 3; l > 0; --l) {
    sink.layer({.layer = l, .attention = stack.weights()[l - 1], .attention_gradient = slope.weights()[l - 1]});
  }
  const AttentionGraph gradient = sink.take();
  const Tensor<double> gradient_rolled = rollout(gradient);
  for (std::size_t l = 1; l <= 3; ++l) {
    const auto layer = [&](const Tensor<double>& all) {
      const auto span = all[l - 1].span();
      return Tensor<double>({stack.tokens(), stack.tokens()}, {span.begin(), span.end()});
    };
    EXPECT_EQ(rank_of(report, "raw", Mixing::kAttention, l), expected_rank(layer(attention.weights))) << l;
    EXPECT_EQ(rank_of(report, "raw", Mixing::kGradient, l), expected_rank(layer(gradient.weights))) << l;
    EXPECT_EQ(rank_of(report, "rollout", Mixing::kAttention, l), expected_rank(layer(rolled))) << l;
    EXPECT_EQ(rank_of(report, "rollout", Mixing::kGradient, l), expected_rank(layer(gradient_rolled))) << l;
  }
}

TEST(EvaluateMaskedEvidence, BlanksWordsByTheUnknownTokenAndTakesGradientsAtTheMask) {
  MaskedModel model;
  EvidenceOptions options = masked_options({Mixing::kAttention});
  options.settings.methods = {Method::kRaw};
  options.scores = {"blank-out", "gradient"};
  const EvidenceReport report = evaluate_evidence(model, MaskCodec(), kMasked, options);
  EXPECT_EQ(rank_of(report, "blank-out", std::nullopt, 0), 1.0);
  EXPECT_EQ(rank_of(report, "gradient", std::nullopt, 0), 1.0);
  EXPECT_EQ(model.runs, 1 + static_cast<int>(report.words));
}

TEST(EvaluateMaskedEvidence, AllMixingsAreThoseThatTheModelCanBeGiven) {
  MaskedModel model;
  model.has_gradients = false;
  const EvidenceReport report = evaluate_evidence(model, MaskCodec(), kMasked, masked_options({}));
  EXPECT_NE(std::find(report.mixings.begin(), report.mixings.end(), Mixing::kAttention), report.mixings.end());
  EXPECT_TRUE(report.impossible.contains("gradient"));
  EXPECT_EQ(report.mixings.size() + report.impossible.size() + 1, all_mixings().size());  // auto is none
  expect_error(ErrorKind::kUnsupportedModel, {"gradients"},
               [&] { evaluate_evidence(model, MaskCodec(), kMasked, masked_options({Mixing::kGradient})); });
}

TEST(EvaluateMaskedEvidence, LeavesOutWhatDoesNotFollowTheSwappedWord) {
  MaskedModel model;
  std::vector<EvidenceSample> samples = kMasked;
  samples[0].swap = "John";  // without "S" both words are equally probable
  samples.push_back(samples[0]);
  samples[1].swap = "Susan";
  EvidenceOptions options = masked_options({Mixing::kAttention});
  options.settings.methods = {Method::kRaw};
  const EvidenceReport report = evaluate_evidence(model, MaskCodec(), samples, options);
  EXPECT_EQ(report.scored, 1U);
  EXPECT_EQ(report.left_out, (std::map<std::string, std::size_t>{{"the answer does not follow the swapped word", 1}}));
  EXPECT_EQ(model.attention_runs, 1);
  EXPECT_EQ(model.runs, 5);  // two for each swap
  const EvidenceReport unasked = evaluate_evidence(model, MaskCodec(), kMasked, options);
  EXPECT_EQ(rank_of(report, "raw", Mixing::kAttention, 3), rank_of(unasked, "raw", Mixing::kAttention, 3));
}

TEST(EvaluateMaskedEvidence, SaysWhatItLeavesOutAndRefuses) {
  MaskedModel model;
  const EvidenceOptions options = masked_options({Mixing::kAttention});
  std::vector<EvidenceSample> samples = kMasked;
  samples.push_back({"he saw Sara", "h", "x", "Sara"});
  samples.push_back({"_ saw Sara and _ book", "h", "x", "Sara"});
  samples.push_back({"he saw Sara and _ book", "her", "x", "Sara"});
  const EvidenceReport report = evaluate_evidence(model, MaskCodec(), samples, options);
  EXPECT_EQ(report.left_out, (std::map<std::string, std::size_t>{
                                 {"the text does not contain exactly one mask token", 2},
                                 {"a mask stands for one token, but the right or the wrong word is several", 1}}));
  expect_error(ErrorKind::kUsage, {"--mixing", "auto"}, [&] {
    evaluate_evidence(model, MaskCodec(), samples, masked_options({Mixing::kAuto, Mixing::kAttention}));
  });
  expect_error(ErrorKind::kUsage, {"each once", "attention"}, [&] {
    evaluate_evidence(model, MaskCodec(), samples, masked_options({Mixing::kAttention, Mixing::kAttention}));
  });
  model.changeable_info().head = ModelHead::kTokenClassification;
  expect_error(ErrorKind::kUnsupportedModel, {"predicts a word or the class", "masked"},
               [&] { evaluate_evidence(model, MaskCodec(), samples, options); });
}

// Says "with" with more certainty the more "S" it sees, else "without".
class ClassifyingModel : public MaskedModel {
 public:
  ClassifyingModel() {
    changeable_info().head = ModelHead::kClassification;
    changeable_info().labels = {"without", "with"};
  }
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions&) override {
    if (sink != nullptr) stack(input.ids.size()).send_to(*sink);
    return {of(input)};
  }
  std::vector<Tensor<float>> classify(std::span<const TextInput> inputs, const BatchOptions&) override {
    std::vector<Tensor<float>> logits;
    for (const TextInput& input : inputs) logits.push_back(of(input));
    return logits;
  }

 private:
  static Tensor<float> of(const TextInput& input) {
    Tensor<float> logits({2});
    logits(1) = static_cast<float>(std::count(input.ids.begin(), input.ids.end(), 'S')) - 0.5F;
    return logits;
  }
};

TEST(EvaluateMaskedEvidence, RanksWhatAClassDependsOn) {
  ClassifyingModel model;
  EvidenceOptions options = masked_options({Mixing::kAttention});
  options.scores = {"blank-out"};
  const std::vector<EvidenceSample> samples = {
      {"he saw Sara and a book .", "with", "without", "Sara"},
      {"he saw Sara", "with", "WITH", "Sara"},
      {"he saw Sara", "her", "without", "Sara"},
  };
  const EvidenceReport report = evaluate_evidence(model, MaskCodec(), samples, options);
  EXPECT_EQ(report.scored, 1U);
  EXPECT_EQ(report.left_out,
            (std::map<std::string, std::size_t>{{"the right and the wrong word are the same class", 1},
                                                {"the right or the wrong word is not one of the model's classes", 1}}));
  EXPECT_EQ(rank_of(report, "blank-out", std::nullopt, 0), 1.0);
}

}  // namespace
}  // namespace attnflow::evaluate_evidence_masked_test
