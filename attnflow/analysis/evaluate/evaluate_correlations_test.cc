#include "attnflow/analysis/evaluate/evaluate_correlations.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_agreement.h"
#include "attnflow/analysis/evaluate/evaluate_output.h"
#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/flow/flow.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/metrics/rank_correlation.h"
#include "attnflow/model/prediction.h"
#include "attnflow/rollout/rollout.h"
#include "attnflow/unicode/display_width.h"

namespace attnflow::evaluate_correlations_test {
namespace {

using test::expect_error;

// A classifier that can be computed by hand: each token adds a number to the logits, and its id determines its
// embedding and seeds its attention.
class BagModel : public Encoder, public Gradients<TextInput> {
 public:
  explicit BagModel(std::size_t max_tokens = 12) {
    info_.name = "bag";
    info_.architecture = "bert";
    info_.layers = 4;
    info_.heads = 2;
    info_.vocabulary = 1000;
    info_.max_tokens = max_tokens;
    info_.head = ModelHead::kClassification;
    info_.labels = {"down", "up", "aside"};
  }
  const ModelInfo& info() const override { return info_; }
  ModelInfo& change() { return info_; }

  static float vote(std::int64_t id, std::size_t label) {
    return static_cast<float>(std::sin(static_cast<double>(id + 1) * static_cast<double>(label + 2)));
  }
  static AttentionStack stack(const TextInput& input) {
    std::uint64_t seed = 0;
    for (const std::int64_t id : input.ids) seed = 31 * seed + static_cast<std::uint64_t>(id);
    return random_stack({.layers = 4, .heads = 2, .tokens = input.ids.size(), .seed = seed});
  }
  Tensor<float> logits(const TextInput& input) const {
    Tensor<float> sums({info_.labels.size()});
    for (const std::int64_t id : input.ids) {
      for (std::size_t c = 0; c < info_.labels.size(); ++c) sums(c) += vote(id, c);
    }
    return sums;
  }

  Gradients<TextInput>* gradients() override { return this; }
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions&) override {
    stack(input).send_to(*sink);
    return {logits(input)};
  }
  std::vector<Tensor<float>> classify(std::span<const TextInput> inputs, const BatchOptions& options) override {
    std::vector<Tensor<float>> all;
    for (const TextInput& input : inputs) all.push_back(logits(input));
    if (options.progress) options.progress(inputs.size(), inputs.size());
    return all;
  }
  void attention_gradients(const TextInput&, const ScoreTarget&, AttentionGradientSink&, BackwardRule) override {
    throw Error(ErrorKind::kUnsupportedModel, "not part of this test");
  }
  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions&) override {
    std::vector<InputGradient> all;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t n = inputs[i].ids.size();
      InputGradient one{target_value(targets[i], logits(inputs[i]).span()), Tensor<float>({n, 2}),
                        Tensor<float>({n, 2})};
      for (std::size_t j = 0; j < n; ++j) {
        one.embedding(j, 0) = static_cast<float>(inputs[i].ids[j]);
        one.embedding(j, 1) = 1.0F;
        one.gradient(j, 0) = vote(inputs[i].ids[j], targets[i].label);
        one.gradient(j, 1) = cancelling ? -one.gradient(j, 0) : 0.25F;
      }
      all.push_back(std::move(one));
    }
    return all;
  }

  bool cancelling = false;  // gradients sum to zero over dimensions

 private:
  ModelInfo info_;
};

std::filesystem::path golden_model(const char* name) {
  return std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / "models" / name;
}

Tokenizer small_tokenizer() { return Tokenizer::load(golden_model("bert_classification"), "bert"); }

const std::vector<EvaluationSample>& sentences() {
  static const std::vector<EvaluationSample> samples = {
      {"the key is on the table", {}, 0, ""},      {"Sara is here", {}, 1, "short"},
      {"the author talk about it", {}, 2, ""},     {"her book is on it .", {}, 1, ""},
      {"it is the key , the table", {}, 0, ""},    {"is it here ?", {}, 0, "short"},
      {"the cabinet is about the key", {}, 1, ""}, {"her key is here .", {}, 2, ""},
      {"the author is Sara", {}, 0, ""},           {"is the table about it ?", {}, 1, ""}};
  return samples;
}

CorrelationOptions few_resamples() {
  CorrelationOptions options;
  options.resamples = 50;
  options.keep_samples = true;
  options.threads = 2;
  return options;
}

CorrelationReport evaluate(Encoder& model, const CorrelationOptions& options,
                           const std::vector<EvaluationSample>& samples = sentences()) {
  return evaluate_correlations(model, small_tokenizer(), samples, {}, options);
}

const CorrelationCell* find_cell(const CorrelationReport& report, const CorrelationCell& like) {
  const auto found = std::find_if(report.cells.begin(), report.cells.end(), [&](const CorrelationCell& cell) {
    return cell.relevance == like.relevance && cell.score == like.score && cell.tokens == like.tokens &&
           cell.formula == like.formula && cell.method == like.method && cell.layer == like.layer;
  });
  return found == report.cells.end() ? nullptr : &*found;
}

TextInput input_of(const std::string& text) {
  TextInput input;
  for (const EncodedToken& token : small_tokenizer().encode(text).tokens) {
    input.ids.push_back(token.id);
    input.type_ids.push_back(token.type_id);
  }
  return input;
}

// Recomputes every number of a sample with the modules below.
TEST(Correlations, AreWhatTheModulesCompute) {
  BagModel model;
  CorrelationOptions options = few_resamples();
  options.scores = {"blank-out", "gradient", "gradient-x-input", "gradient-sum"};
  options.relevance = {"row", "column-max", "column-sum"};
  const CorrelationReport report = evaluate(model, options);
  ASSERT_EQ(report.samples.size(), sentences().size());
  ASSERT_EQ(report.cells.size(), 3U * 4U * 2U * 2U * 3U * 4U);
  EXPECT_EQ(report.blank, "[UNK]");
  const std::int64_t unknown = *small_tokenizer().token_to_id("[UNK]");
  for (const SampleRecord& sample : report.samples) {
    SCOPED_TRACE(sample.text);
    const TextInput input = input_of(sample.text);
    const std::size_t n = input.ids.size();
    ASSERT_EQ(sample.tokens.size(), n);
    EXPECT_EQ(sample.tokens.front(), "[CLS]");
    EXPECT_TRUE(sample.special.front() && sample.special.back() && !sample.special[1]);
    const std::size_t correct = *sentences()[sample.number].label;
    const ScoreTarget probability{ScoreTarget::Kind::kProbability, correct, {}};
    for (std::size_t j = 0; j < n; ++j) {
      TextInput blanked = input;
      blanked.ids[j] = unknown;
      EXPECT_NEAR(sample.scores[0][j],
                  std::abs(target_value(probability, model.logits(input).span()) -
                           target_value(probability, model.logits(blanked).span())),
                  1e-15);
      const double slope = static_cast<double>(BagModel::vote(input.ids[j], correct));
      EXPECT_NEAR(sample.scores[1][j], std::hypot(slope, 0.25), 1e-12);
      EXPECT_NEAR(sample.scores[2][j], std::abs(slope * static_cast<double>(input.ids[j]) + 0.25), 1e-9);
      EXPECT_NEAR(sample.scores[3][j], std::abs(slope + 0.25), 1e-12);
    }

    const AttentionGraph graph = attention_graph(BagModel::stack(input));
    const Tensor<double> products = rollout(graph);
    const FlowResult flow = attention_flow(graph);
    for (std::size_t l = 0; l < 4; ++l) {
      const std::vector<TensorView<const double>> methods = {graph.weights[l], products[l], flow.flow[l]};
      for (std::size_t m = 0; m < methods.size(); ++m) {
        const double slack = m == 2 ? 1e-12 : 0.0;  // one output token's flow has an enclosure of its own
        for (std::size_t j = 0; j < n; ++j) {
          double largest = 0.0;
          double sum = 0.0;
          for (std::size_t i = 0; i < n; ++i) {
            largest = std::max(largest, methods[m](i, j));
            sum += methods[m](i, j);
          }
          EXPECT_NEAR(sample.relevance[m * 4 + l][j], methods[m](0, j), slack);
          EXPECT_EQ(sample.relevance[12 + m * 4 + l][j], largest);
          EXPECT_NEAR(sample.relevance[24 + m * 4 + l][j], sum, 1e-15);
        }
        EXPECT_EQ(sample.gaps[m * 4 + l].empty(), m != 2);
      }
    }
    for (std::size_t c = 0; c < report.cells.size(); ++c) {
      const CorrelationCell& cell = report.cells[c];
      if (cell.formula != "spearman" || cell.method == "flow" || cell.tokens != "all") continue;
      const std::size_t r = cell.relevance == "row" ? 0 : cell.relevance == "column-max" ? 1 : 2;
      const std::size_t m = cell.method == "raw" ? 0 : 1;
      const auto q = static_cast<std::size_t>(std::find(options.scores.begin(), options.scores.end(), cell.score) -
                                              options.scores.begin());
      const auto expected = spearman(sample.relevance[r * 12 + m * 4 + cell.layer - 1], sample.scores[q]);
      EXPECT_EQ(sample.correlations[c], expected.value());
    }
  }
  for (std::size_t c = 0; c < report.cells.size(); ++c) {
    double sum = 0.0;
    for (const SampleRecord& sample : report.samples) sum += sample.correlations[c];
    const Summary& summary = report.cells[c].summary;
    EXPECT_EQ(summary.count, report.samples.size());
    EXPECT_NEAR(summary.mean, sum / static_cast<double>(summary.count), 1e-12);
    EXPECT_LE(summary.low, summary.mean);
    EXPECT_GE(summary.high, summary.mean);
  }
}

TEST(Correlations, FirstLayer) {
  BagModel model;
  CorrelationOptions options = few_resamples();
  options.relevance = {"row", "column-sum"};
  const CorrelationReport report = evaluate(model, options);
  const auto mean = [&](const char* relevance, const char* tokens, const char* method) {
    const CorrelationCell* const cell =
        find_cell(report, {relevance, "blank-out", "", tokens, "spearman", method, 1, {}});
    EXPECT_NE(cell, nullptr);
    return cell->summary.mean;
  };
  for (const char* const tokens : {"all", "without-special"}) {
    EXPECT_EQ(mean("row", tokens, "flow"), mean("row", tokens, "rollout"));
    EXPECT_EQ(mean("column-sum", tokens, "rollout"), mean("column-sum", tokens, "raw"));
  }
  EXPECT_EQ(mean("row", "without-special", "rollout"), mean("row", "without-special", "raw"));
  EXPECT_NE(mean("row", "all", "rollout"), mean("row", "all", "raw"));
  for (const MethodComparison& one : report.comparisons) {
    if (one.layer != 1 || one.relevance != "row" || one.first != "flow" || one.second != "rollout") continue;
    EXPECT_EQ(one.comparison.difference.mean, 0.0);
    EXPECT_FALSE(one.comparison.wilcoxon);
  }
}

TEST(Correlations, CountsAccuracyAndDegeneracy) {
  BagModel model;
  const CorrelationReport report = evaluate(model, few_resamples());
  std::size_t correct = 0;
  std::size_t tokens = 0;
  for (const EvaluationSample& sample : sentences()) {
    const TextInput input = input_of(sample.text);
    tokens += input.ids.size();
    const Tensor<float> logits = model.logits(input);
    const auto* const best = std::max_element(logits.data(), logits.data() + 3);
    if (static_cast<std::size_t>(best - logits.data()) == *sample.label) ++correct;
  }
  ASSERT_EQ(report.accuracy.size(), 2U);
  EXPECT_EQ(report.accuracy[0].count, sentences().size());
  EXPECT_EQ(report.accuracy[0].correct, correct);
  EXPECT_EQ(report.accuracy[1].group, "short");
  EXPECT_EQ(report.accuracy[1].count, 2U);
  EXPECT_EQ(report.data.tokens, tokens);
  EXPECT_EQ(report.data.special_tokens, 2 * sentences().size());
  ASSERT_EQ(report.degeneracy.size(), 4U);
  EXPECT_EQ(report.degeneracy[0].first_layer_column + report.degeneracy[0].top_row, 0U);
  for (const DegeneracyCounts& layer : report.degeneracy) {
    EXPECT_EQ(layer.values, tokens);  // of one output token
    EXPECT_LE(layer.first_layer_column + layer.top_row, layer.values);
  }
  EXPECT_GT(report.degeneracy[3].first_layer_column + report.degeneracy[3].top_row, 0U);
  ASSERT_EQ(report.own_share.size(), 12U);
  EXPECT_NEAR(report.own_share[4].mean, 0.5 + 0.5 * report.own_share[0].mean, 1e-12);  // rollout and raw at layer 1
}

TEST(Correlations, FewSamplesHaveNoInterval) {
  BagModel model;
  CorrelationOptions options = few_resamples();
  options.samples = kFewestForInterval - 1;
  const CorrelationReport few = evaluate(model, options);
  for (const CorrelationCell& cell : few.cells) {
    EXPECT_FALSE(std::isnan(cell.summary.mean));
    EXPECT_TRUE(std::isnan(cell.summary.low) && std::isnan(cell.summary.high));
  }
  for (const MethodComparison& one : few.comparisons) EXPECT_TRUE(std::isnan(one.comparison.difference.low));
  const auto json = nlohmann::json::parse(evaluation_json(few));
  EXPECT_TRUE(json.at("cells")[0].at("low").is_null());
  EXPECT_TRUE(json.at("comparisons")[0].at("high").is_null());
  test::expect_parts(evaluation_markdown(few), {"| raw | - | - | - | - |"});
  test::expect_parts(evaluation_table(few, 400), {"95% intervals of the means: -."});
  const auto says = [](const CorrelationReport& report) {
    return test::notes_of(report.notes, NoteCode::kNoIntervals).size();
  };
  EXPECT_EQ(says(few), 1U);
  options.samples = kFewestForInterval;
  const CorrelationReport enough = evaluate(model, options);
  EXPECT_FALSE(std::isnan(enough.cells[0].summary.low));
  EXPECT_EQ(says(enough), 0U);
  test::expect_parts(evaluation_table(enough, 400), {"intervals of the means: at most ±"});
}

TEST(Correlations, ASummaryComesFirst) {
  BagModel model;
  const CorrelationReport report = evaluate(model, few_resamples());
  const std::string table = evaluation_table(report, 80);
  const std::size_t begin = table.find("Summary: do methods rank tokens");
  const std::size_t end = table.find("Correlation of what the output token depends on");
  ASSERT_NE(begin, std::string::npos) << table;
  ASSERT_LT(begin, end) << table;
  EXPECT_LE(std::count(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(begin), '\n'), 6);
  const std::string summary = table.substr(begin, end - begin);
  test::expect_parts(summary, {fmt::format("over {} texts", report.data.used)});
  for (const ScoreName& score : report.scores) {
    test::expect_parts(summary, {fmt::format("with {} at layer 4", score.score)});
    const CorrelationCell* best = nullptr;
    for (const CorrelationCell& cell : report.cells) {
      if (cell.score != score.score || cell.tokens != "without-special" || cell.formula != "spearman") continue;
      if (best == nullptr || cell.summary.mean > best->summary.mean) best = &cell;
    }
    ASSERT_NE(best, nullptr);
    test::expect_parts(summary,
                       {fmt::format("Best: {} at layer {} ({:.2f}).", best->method, best->layer, best->summary.mean)});
    const CorrelationCell* const last =
        find_cell(report, {"row", score.score, score.target, "without-special", "spearman", "rollout", 4, {}});
    ASSERT_NE(last, nullptr);
    test::expect_parts(summary,
                       {fmt::format("rollout  {:>5.2f}  {:>6.2f}  ", last->summary.mean, last->summary.median)});
  }
  for (const std::string& line : test::lines_of(summary)) EXPECT_LE(display_width(line), 80U) << line;
}

TEST(Correlations, NothingIsPrintedAsMinusZero) {
  CorrelationReport report;
  report.options.settings.methods = {Method::kRaw};
  report.options.settings.layers = {1};
  report.options.relevance = {"row"};
  report.scores = {{"gradient", "difference:correct"}};
  report.data.used = 20;
  for (const char* const tokens : {"all", "without-special"}) {
    for (const char* const formula : {"spearman", "dense-ranks"}) {
      const Summary summary{.count = 20, .left_out = 0, .mean = -0.004, .std = 0.1, .low = -0.0004, .high = 0.003};
      report.cells.push_back({"row", "gradient", "difference:correct", tokens, formula, "raw", 1, summary});
    }
  }
  report.series = {{"raw", Mixing::kAttention, {1}}};
  report.own_share = {{"raw", 1, 0.25}};
  test::expect_parts(evaluation_table(report, 80), {" 0.00 ±.10"});
  for (const std::string& text : {evaluation_table(report, 80), evaluation_markdown(report)}) {
    test::expect_no_parts(text, {"-0.00 ", "-0.000"});
  }
}

TEST(Correlations, SameBytesWhateverTheThreads) {
  BagModel model;
  CorrelationOptions options = few_resamples();
  options.samples = 5;
  std::string expected;
  for (const std::size_t threads : {1U, 2U, 4U}) {
    options.threads = threads;
    const CorrelationReport report = evaluate(model, options);
    EXPECT_EQ(report.samples.size(), 5U);
    EXPECT_TRUE(std::is_sorted(report.samples.begin(), report.samples.end(),
                               [](const auto& a, const auto& b) { return a.number < b.number; }));
    const std::string json = evaluation_json(report);
    if (expected.empty()) expected = json;
    EXPECT_TRUE(json == expected);
  }
  options.seed = 2;
  EXPECT_FALSE(evaluation_json(evaluate(model, options)) == expected);
}

TEST(Correlations, TargetsByName) {
  BagModel model;
  CorrelationOptions options = few_resamples();
  options.scores = {"gradient"};
  options.targets = {"logit:up", "logit:predicted", "probability", "difference:2"};
  const CorrelationReport report = evaluate(model, options);
  ASSERT_EQ(report.scores.size(), 4U);
  EXPECT_EQ(report.scores[2].target, "probability:correct");
  for (const SampleRecord& sample : report.samples) {
    const TextInput input = input_of(sample.text);
    const std::vector<std::size_t> labels = {1, sample.predicted, *sample.label, 2};
    for (std::size_t q = 0; q < labels.size(); ++q) {
      const double slope = static_cast<double>(BagModel::vote(input.ids[1], labels[q]));
      EXPECT_NEAR(sample.scores[q][1], std::hypot(slope, 0.25), 1e-12);
    }
  }
  for (const char* const wrong : {"logit:sideways", "chance", "logit:3", "", "logit:"}) {
    options.targets = {wrong};
    expect_error(ErrorKind::kUsage, {"--targets", wrong}, [&] { evaluate(model, options); });
  }
}

TEST(Correlations, DifferenceFromTheNextClass) {
  EncodedSample sample;
  sample.logits = {0.0F, 2.0F, 1.0F};
  sample.predicted = 1;
  TargetRule rule{ScoreTarget::Kind::kProbabilityDifference, TargetClass::kNamed, 0};
  EXPECT_EQ(resolve_target(rule, sample).others.front(), 1U);
  rule.label = 1;
  EXPECT_EQ(resolve_target(rule, sample).others.front(), 2U);
  const double sum = 1.0 + std::exp(2.0) + std::exp(1.0);
  EXPECT_NEAR(target_value(resolve_target(rule, sample), sample.logits), (std::exp(2.0) - std::exp(1.0)) / sum, 1e-15);
}

TEST(Correlations, NotesSayWhatIsOdd) {
  BagModel model(8);
  model.cancelling = true;
  CorrelationOptions options = few_resamples();
  options.scores = {"gradient-sum", "blank-out"};
  // The last has no label but the others' form; one has an unknown piece, and one sample is too long.
  std::vector<EvaluationSample> samples = {
      {"the key", {}, {}, ""}, {"the \xE2\x98\x83 is", {}, {}, ""}, {"the key is on the table , the key", {}, {}, ""}};
  const CorrelationReport report = evaluate(model, options, samples);
  EXPECT_EQ(report.data.used, 2U);
  EXPECT_EQ(report.data.too_long, 1U);
  EXPECT_EQ(report.already_blank, 1U);
  EXPECT_FALSE(report.data.labelled);
  EXPECT_TRUE(report.accuracy.empty());
  const std::string table = evaluation_table(report);
  const std::string page = evaluation_markdown(report);
  ASSERT_GE(report.notes.size(), 5U);
  EXPECT_TRUE(report.notes[0].text.starts_with("1 of 3 samples were left out")) << report.notes[0].text;
  EXPECT_EQ(report.notes[1].code, NoteCode::kNoLabels);
  EXPECT_EQ(report.notes[2].code, NoteCode::kTokensAlreadyBlank);
  EXPECT_EQ(report.notes[3].code, NoteCode::kScoresAreNoise);
  EXPECT_EQ(test::value_of<std::size_t>(report.notes[3], "samples"), 2U);
  EXPECT_EQ(report.notes[4].code, NoteCode::kNoIntervals);
  // All sums are exactly zero: constant vectors, left out and not scored as 0.
  const CorrelationCell* const cell = find_cell(report, {"row", "gradient-sum", "", "all", "spearman", "raw", 2, {}});
  ASSERT_NE(cell, nullptr);
  EXPECT_EQ(cell->summary.count, 0U);
  EXPECT_EQ(cell->summary.left_out, 2U);
  EXPECT_TRUE(std::isnan(cell->summary.mean));
  test::expect_parts(page, {"| 0 (2) |"});
  test::expect_parts(table, {"left out"});
  const auto json = nlohmann::json::parse(evaluation_json(report));
  EXPECT_TRUE(json.at("samples")[0].at("label").is_null());
  EXPECT_TRUE(json.at("cells")[0].at("mean").is_null());

  options.truncate = true;
  const CorrelationReport cut = evaluate(model, options, samples);
  EXPECT_EQ(cut.data.used, 3U);
  EXPECT_EQ(cut.data.truncated, 1U);
  EXPECT_EQ(cut.samples[2].tokens.size(), 8U);
}

TEST(Correlations, WrongOptionsAndModels) {
  const auto refuse = [](const std::vector<std::string>& words, auto change) {
    BagModel model;
    CorrelationOptions options = few_resamples();
    change(options);
    expect_error(ErrorKind::kUsage, words, [&] { evaluate(model, options); });
  };
  refuse({"--scores", "magic"}, [](CorrelationOptions& o) { o.scores = {"magic"}; });
  refuse({"--scores", "none"}, [](CorrelationOptions& o) { o.scores = {}; });
  refuse({"--relevance", "column"}, [](CorrelationOptions& o) { o.relevance = {"column"}; });
  refuse({"--blank", "zero"}, [](CorrelationOptions& o) { o.blank = "zero"; });
  refuse({"--output-token", "all"}, [](CorrelationOptions& o) { o.settings.output_token = parse_output_token("all"); });
  refuse({"--output-token", "30"}, [](CorrelationOptions& o) { o.settings.output_token = parse_output_token("30"); });
  refuse({"layer"}, [](CorrelationOptions& o) { o.settings.layers = {5}; });
  refuse({"--method"}, [](CorrelationOptions& o) { o.settings.methods = {}; });
  refuse({"--heads"}, [](CorrelationOptions& o) { o.settings.heads = parse_heads("2"); });

  BagModel model;
  expect_error(ErrorKind::kUsage, {"at least one sample"}, [&] { evaluate(model, few_resamples(), {}); });
  model.change().multi_label = true;
  expect_error(ErrorKind::kUnsupportedModel, {"bag", "not mutually exclusive"},
               [&] { evaluate(model, few_resamples()); });
  model.change().multi_label = false;
  model.change().labels = {"one"};
  expect_error(ErrorKind::kUnsupportedModel, {"only one class"}, [&] { evaluate(model, few_resamples()); });
  model.change().head = ModelHead::kMaskedLm;
  expect_error(ErrorKind::kUnsupportedModel, {"no classification head"}, [&] { evaluate(model, few_resamples()); });
  BagModel short_model(3);
  expect_error(ErrorKind::kInputTooLong, {"at most 3", "--truncate"}, [&] { evaluate(short_model, few_resamples()); });
  BagModel small;
  small.change().vocabulary = 10;
  expect_error(ErrorKind::kBadFile, {"another model"}, [&] { evaluate(small, few_resamples()); });
  CorrelationOptions pad = few_resamples();
  pad.blank = "pad";
  for (const char* name : {"roberta", "xlm-roberta", "camembert", "data2vec-text"}) {
    BagModel roberta;
    roberta.change().architecture = name;
    expect_error(ErrorKind::kUsage, {"--blank", "RoBERTa"}, [&] { evaluate(roberta, pad); });
  }
  CorrelationOptions stopped = few_resamples();
  std::stop_source stop;
  stop.request_stop();
  stopped.stop_token = stop.get_token();
  BagModel other;
  EXPECT_THROW(evaluate(other, stopped), Cancelled);
}

TEST(Correlations, FilesHaveEveryCell) {
  BagModel model;
  const CorrelationReport report = evaluate(model, few_resamples());
  const std::string csv = evaluation_csv(report);
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), report.cells.size() + 1);
  const auto json = nlohmann::json::parse(evaluation_json(report));
  EXPECT_EQ(json.at("cells").size(), report.cells.size());
  EXPECT_EQ(json.at("cells")[3].at("mean").get<double>(), report.cells[3].summary.mean);
  EXPECT_EQ(json.at("samples").size(), report.samples.size());
  EXPECT_EQ(json.at("samples")[0].at("relevance")[0][2][3].get<std::vector<double>>(), report.samples[0].relevance[11]);
  EXPECT_EQ(json.at("comparisons").size(), 2U * 2U * 3U * 4U);
  const std::string page = evaluation_markdown(report);
  EXPECT_EQ(page.back(), '\n');
  test::expect_parts(page, {"| raw |", "| flow |", "Special tokens left out", "| flow minus rollout | 4 |", "bag"});
  const auto has_whole_row = [&](std::size_t width) {
    const std::vector<std::string> lines = test::lines_of(evaluation_table(report, width));
    return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
      return line.find("layer 1 ") != std::string::npos && line.find(" layer 4") != std::string::npos;
    });
  };
  EXPECT_FALSE(has_whole_row(36));
  EXPECT_TRUE(has_whole_row(80));
  for (const std::string& line : test::lines_of(evaluation_table(report, 36))) EXPECT_LE(display_width(line), 44U);

  const test::TempFolder folder;
  for (const char* const name : {"a.json", "a.csv", "a.md"}) {
    check_evaluation_output(folder / name);
    write_evaluation(folder / name, report);
  }
  EXPECT_EQ(test::get(folder / "a.csv"), csv);
  EXPECT_EQ(test::get(folder / "a.md"), page);
  expect_error(ErrorKind::kUsage, {"-o", ".md", "a.txt"}, [&] { check_evaluation_output(folder / "a.txt"); });
  expect_error(ErrorKind::kUsage, {"folder"}, [&] { check_evaluation_output(folder / "none" / "a.md"); });
}

class AgreementSamplesTest : public ::testing::Test {
 protected:
  AgreementSamplesTest() {
    info_.name = "verbs";
    info_.head = ModelHead::kClassification;
    info_.labels = {"plural", "singular"};
  }
  test::TempFolder folder_;
  ModelInfo info_;
};

TEST_F(AgreementSamplesTest, OfTheModelsFolder) {
  expect_error(ErrorKind::kUsage, {"--data", "prefixes.tsv", "attnflow-train prefixes"},
               [&] { read_agreement_samples(folder_.path(), info_, {}); });
  test::put(
      folder_ / "prefixes.tsv",
      "text\tlabel\tgroup\tsource\nThe keys\tplural\tno attractor\tb\nThe key of doors\tsingular\tattractor\ta\n");
  AgreementSamples found = read_agreement_samples(folder_.path(), info_, {});
  ASSERT_EQ(found.samples.size(), 2U);
  EXPECT_EQ(found.samples[0].label, 0U);
  EXPECT_EQ(found.samples[1].group, "attractor");
  EXPECT_EQ(found.data.source, "the model's prefixes.tsv");
  EXPECT_EQ(found.data.sources, (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(found.notes.empty());

  test::put(folder_ / "training.json", R"({"data": {"train": {"sources": ["b", "c"]}}})");
  found = read_agreement_samples(folder_.path(), info_, {});
  EXPECT_EQ(found.data.caveat, "the model was trained on some of the documents");
  ASSERT_EQ(found.notes.size(), 1U);
  EXPECT_EQ(test::value_of<std::vector<std::string>>(found.notes[0], "sources"), (std::vector<std::string>{"b"}));

  test::put(folder_ / "prefixes.tsv", "The keys\tplural\nbroken\n");
  expect_error(ErrorKind::kBadFile, {"prefixes.tsv, line 2"},
               [&] { read_agreement_samples(folder_.path(), info_, {}); });
}

TEST_F(AgreementSamplesTest, OfAFile) {
  const auto file = test::put(folder_ / "a.tsv", "The keys\tplural\nThe key\tsingular\n\n");
  const AgreementSamples found = read_agreement_samples(folder_.path(), info_, file);
  ASSERT_EQ(found.samples.size(), 2U);
  EXPECT_EQ(found.samples[0].label, 0U);
  EXPECT_EQ(found.data.source, "a.tsv");
  EXPECT_EQ(found.data.empty_lines, 1U);
  const auto numbers =
      test::put(folder_ / "b.tsv", "text\tlabel\tattractors\na\tplural\t0\nb\tplural\t1\nc\tplural\t2\n");
  const AgreementSamples grouped = read_agreement_samples(folder_.path(), info_, numbers);
  EXPECT_EQ(grouped.samples[0].group, "no attractor");
  EXPECT_EQ(grouped.samples[1].group, "1 attractor");
  EXPECT_EQ(grouped.samples[2].group, "2 attractors");
  for (const auto& prose : {folder_.path(), test::put(folder_ / "book.txt", "The keys are here.\n")}) {
    expect_error(ErrorKind::kUsage, {"prose", prose.string(), "attnflow-train prefixes"},
                 [&] { read_agreement_samples(folder_.path(), info_, prose); });
  }
  info_.labels = {"no", "yes"};
  expect_error(ErrorKind::kUnsupportedModel, {"singular and plural", "no, yes"},
               [&] { read_agreement_samples(folder_.path(), info_, file); });
}

}  // namespace
}  // namespace attnflow::evaluate_correlations_test
