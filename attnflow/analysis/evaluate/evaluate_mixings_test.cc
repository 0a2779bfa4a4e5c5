// evaluate_correlations() over several mixings, and with methods outside the graph.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_correlations.h"
#include "attnflow/analysis/evaluate/evaluate_output.h"
#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/graph/gradient_for_test.h"
#include "attnflow/graph/random_stack_for_test.h"
#include "attnflow/graph/relevance_mixing.h"
#include "attnflow/metrics/rank_correlation.h"
#include "attnflow/model/prediction.h"

namespace attnflow::evaluate_mixings_test {
namespace {

using test::expect_error;
using M = Mixing;

constexpr std::size_t kLayers = 3;

// A classifier whose logits are sums over tokens, and whose attention and gradients are seeded by the ids.
class VotingModel : public Encoder, public Gradients<TextInput> {
 public:
  VotingModel() {
    info_.name = "votes";
    info_.architecture = "bert";
    info_.layers = kLayers;
    info_.heads = 2;
    info_.vocabulary = 1000;
    info_.max_tokens = 12;
    info_.head = ModelHead::kClassification;
    info_.labels = {"down", "up", "aside"};
  }
  const ModelInfo& info() const override { return info_; }
  Gradients<TextInput>* gradients() override { return this; }

  static std::uint64_t seed_of(const TextInput& input) {
    std::uint64_t seed = 7;
    for (const std::int64_t id : input.ids) seed = 31 * seed + static_cast<std::uint64_t>(id);
    return seed;
  }
  static AttentionStack stack(const TextInput& input) {
    return random_stack({.layers = kLayers, .heads = 2, .tokens = input.ids.size(), .seed = seed_of(input)});
  }
  static Tensor<float> logits(const TextInput& input) {
    Tensor<float> sums({3});
    for (const std::int64_t id : input.ids) {
      for (std::size_t c = 0; c < 3; ++c) sums(c) += vote(id, c);
    }
    return sums;
  }
  static float vote(std::int64_t id, std::size_t label) {
    return static_cast<float>(std::sin(static_cast<double>(id + 2) * static_cast<double>(label + 3)));
  }
  static void send(const TextInput& input, std::size_t label, BackwardRule rule, AttentionGradientSink& sink) {
    const AttentionStack attention = stack(input);
    const bool relevance = rule == BackwardRule::kAttnLrp;
    const Tensor<float> gradient = random_gradient(attention, 1.0, seed_of(input) + 10 * label + (relevance ? 5 : 0));
    const std::size_t n = input.ids.size();
    const Tensor<float> stream({n, 1}, std::vector<float>(n, 0.5F));
    for (std::size_t l = kLayers; l >= 1; --l) {
      LayerGradients layer{.layer = l, .attention = attention.layer(l), .attention_gradient = gradient[l - 1]};
      if (relevance) layer.residual = layer.output_gradient = stream.view();
      sink.layer(layer);
    }
  }

  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions&) override {
    if (sink != nullptr) stack(input).send_to(*sink);
    return {logits(input)};
  }
  std::vector<Tensor<float>> classify(std::span<const TextInput> inputs, const BatchOptions&) override {
    std::vector<Tensor<float>> all;
    for (const TextInput& input : inputs) all.push_back(logits(input));
    return all;
  }
  void attention_gradients(const TextInput& input, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override {
    {
      const std::scoped_lock lock(mutex_);
      ++passes_back;
      const auto expected =
          rule == BackwardRule::kGradient ? ScoreTarget::Kind::kLogit : ScoreTarget::Kind::kLogitAgainstRest;
      if (target.kind != expected) ++other_targets;
    }
    send(input, target.label, rule, sink);
  }
  // The embedding is the id; the gradient by AttnLRP's rules is twice that of the votes.
  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override {
    std::vector<InputGradient> all;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::size_t n = inputs[i].ids.size();
      InputGradient one{target_value(targets[i], logits(inputs[i]).span()), Tensor<float>({n, 1}),
                        Tensor<float>({n, 1})};
      for (std::size_t j = 0; j < n; ++j) {
        one.embedding(j, 0) = static_cast<float>(inputs[i].ids[j]);
        one.gradient(j, 0) = vote(inputs[i].ids[j], targets[i].label);
        if (options.rule == BackwardRule::kAttnLrp) one.gradient(j, 0) *= j % 2 == 0 ? 2.0F : -3.0F;
      }
      all.push_back(std::move(one));
    }
    return all;
  }

  std::size_t passes_back = 0;
  std::size_t other_targets = 0;  // passes back from something else than a map explains by default

 private:
  ModelInfo info_;
  std::mutex mutex_;
};

Tokenizer tokenizer() {
  return Tokenizer::load(
      std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / "models" / "bert_classification", "bert");
}

TextInput input_of(const std::string& text) {
  TextInput input;
  for (const EncodedToken& token : tokenizer().encode(text).tokens) input.ids.push_back(token.id);
  return input;
}

CorrelationReport evaluate(Encoder& model, const CorrelationOptions& options) {
  const std::vector<EvaluationSample> samples = {{"the key is on the table", {}, 0, ""},
                                                 {"the author talk about it", {}, 2, ""},
                                                 {"it is the key , the table", {}, 0, ""},
                                                 {"the cabinet is about the key", {}, 1, ""}};
  return evaluate_correlations(model, tokenizer(), samples, {}, options);
}

CorrelationOptions options_with(std::vector<Mixing> mixings, std::vector<Method> methods) {
  CorrelationOptions options;
  options.mixings = std::move(mixings);
  options.settings.methods = std::move(methods);
  options.resamples = 20;
  options.keep_samples = true;
  options.threads = 2;
  return options;
}

TEST(EvaluateMixings, EveryNumberIsThatOfItsGraph) {
  VotingModel model;
  const std::vector<Mixing> mixings = {M::kAttention, M::kGradient, M::kGradientRenormalized, M::kRelevance};
  const CorrelationReport report = evaluate(
      model, options_with(mixings, {Method::kRollout, Method::kAttnLrp, Method::kFlow, Method::kGradientTimesInput}));
  ASSERT_EQ(report.series.size(), 10U);
  EXPECT_EQ(report.series[3].method, "flow");
  EXPECT_EQ(report.series[3].mixing, M::kGradient);
  EXPECT_EQ(report.series[8].method, "attnlrp");
  EXPECT_FALSE(report.series[8].mixing);
  EXPECT_EQ(report.own_share.size(), 8U * kLayers);
  EXPECT_EQ(report.degeneracy.size(), 4U * kLayers);
  EXPECT_EQ(report.degeneracy.back().mixing, M::kRelevance);
  EXPECT_EQ(report.degeneracy.back().layer, kLayers);

  std::size_t wrong = 0;
  for (const SampleRecord& sample : report.samples) {
    SCOPED_TRACE(sample.text);
    const TextInput input = input_of(sample.text);
    const std::size_t n = input.ids.size();
    const std::size_t label = sample.predicted;  // right or wrong
    wrong += label == sample.label ? 0 : 1;
    ASSERT_EQ(sample.relevance.size(), 8U * kLayers + 2U);
    std::vector<AttentionGraph> graphs = {attention_graph(VotingModel::stack(input))};
    for (const ResidualRule rule : {ResidualRule::kAdded, ResidualRule::kAddedNormalized}) {
      GradientGraphSink sink(kLayers, GradientMixingOptions{rule, {}});
      VotingModel::send(input, label, BackwardRule::kGradient, sink);
      graphs.push_back(sink.take());
    }
    RelevanceGraphSink relevance(kLayers);
    VotingModel::send(input, label, BackwardRule::kAttnLrp, relevance);
    graphs.push_back(relevance.take());
    std::size_t at = 0;
    for (AttentionGraph& graph : graphs) {
      GraphSource source(std::move(graph), /*causal=*/false);
      for (const Method method : {Method::kRollout, Method::kFlow}) {
        const Query query{.method = method, .layers = {1, 2, 3}, .outputs = {{0}}};
        const Attribution expected = attribute(source, query);
        for (std::size_t l = 0; l < kLayers; ++l, ++at) {
          for (std::size_t j = 0; j < n; ++j) EXPECT_NEAR(sample.relevance[at][j], expected.values(l, 0, j), 1e-12);
        }
      }
    }
    for (std::size_t j = 0; j < n; ++j) {
      const auto id = static_cast<double>(input.ids[j]);
      const double plain = std::abs(id * static_cast<double>(VotingModel::vote(input.ids[j], label)));
      EXPECT_NEAR(sample.relevance[at][j], (j % 2 == 0 ? 2.0 : 3.0) * plain, 1e-3);
      EXPECT_NEAR(sample.relevance[at + 1][j], plain, 1e-3);
    }
    for (std::size_t c = 0; c < report.cells.size(); ++c) {
      const CorrelationCell& cell = report.cells[c];
      if (cell.formula != "spearman" || cell.tokens != "all" || cell.mixing) continue;
      const std::size_t q = cell.score == "blank-out" ? 0 : 1;
      const auto expected = spearman(sample.relevance[cell.method == "attnlrp" ? at : at + 1], sample.scores[q]);
      EXPECT_EQ(sample.correlations[c], expected.value());
      EXPECT_EQ(cell.layer, 0U);
    }
  }
  EXPECT_GT(wrong, 0U);
  EXPECT_EQ(model.other_targets, 0U);
}

TEST(EvaluateMixings, OnePassBackForEachRule) {
  const auto passes = [](std::vector<Mixing> mixings) {
    VotingModel model;
    evaluate(model, options_with(std::move(mixings), {Method::kRaw, Method::kRollout, Method::kFlow}));
    return model.passes_back;
  };
  EXPECT_EQ(passes({M::kAttention}), 0U);
  // The first sample shows whether the model supports a mixing.
  EXPECT_EQ(passes({M::kAttention, M::kGradient}), 4U + 1U);
  EXPECT_EQ(passes({M::kRelevance, M::kGradientRenormalized, M::kGradient}), 2U * 4U + 3U);
}

TEST(EvaluateMixings, AttentionIsTheSameBesideOthers) {
  VotingModel model;
  const std::vector<Method> methods = {Method::kRaw, Method::kRollout, Method::kFlow};
  const CorrelationReport alone = evaluate(model, options_with({M::kAttention}, methods));
  CorrelationOptions options = options_with({M::kAttention, M::kRelevance}, methods);
  options.settings.methods.push_back(Method::kAttnLrp);
  const CorrelationReport both = evaluate(model, options);
  std::size_t c = 0;
  for (const CorrelationCell& cell : both.cells) {
    if (cell.mixing != M::kAttention) continue;
    EXPECT_EQ(cell.summary.mean, alone.cells[c].summary.mean);
    EXPECT_EQ(cell.method, alone.cells[c].method);
    ++c;
  }
  EXPECT_EQ(c, alone.cells.size());
  // Within a mixing every two methods, between mixings each method with itself.
  EXPECT_EQ(alone.comparisons.size(), 4U * 3U * kLayers);
  EXPECT_EQ(both.comparisons.size(), 4U * (3U + 3U + 3U) * kLayers);
  for (const MethodComparison& one : both.comparisons) {
    if (one.first_mixing == one.second_mixing) continue;
    EXPECT_EQ(one.first, one.second);
    EXPECT_EQ(one.first_mixing, M::kRelevance);
    EXPECT_EQ(one.second_mixing, M::kAttention);
    const auto mean = [&](Mixing mixing) {
      return std::find_if(both.cells.begin(), both.cells.end(),
                          [&](const CorrelationCell& cell) {
                            return cell.score == one.score && cell.tokens == one.tokens && cell.formula == "spearman" &&
                                   cell.method == one.first && cell.layer == one.layer && cell.mixing == mixing;
                          })
          ->summary.mean;
    };
    EXPECT_NEAR(one.comparison.difference.mean, mean(M::kRelevance) - mean(M::kAttention), 1e-12);
  }
}

TEST(EvaluateMixings, AllAreThoseThatTheModelCanBeGiven) {
  VotingModel model;
  const CorrelationReport report = evaluate(model, options_with({}, {Method::kRollout}));
  EXPECT_EQ(report.options.mixings,
            (std::vector{M::kAttention, M::kGradient, M::kGradientRenormalized, M::kRelevance, M::kRelevanceByHead}));
  EXPECT_EQ(report.series.size(), 5U);
  EXPECT_EQ(report.impossible.size(), 5U);
  for (const std::string& text : {evaluation_table(report), evaluation_markdown(report)}) {
    test::expect_parts(text, {"Left out --mixing alti: "});
  }
  const auto json = nlohmann::json::parse(evaluation_json(report));
  EXPECT_EQ(json.at("impossible_mixings").size(), 5U);
  EXPECT_EQ(json.at("settings").at("mixing").size(), 5U);
}

TEST(EvaluateMixings, OutputsNameTheMixing) {
  VotingModel model;
  CorrelationOptions options = options_with({M::kAttention, M::kRelevance}, {Method::kRollout, Method::kFlow});
  options.settings.methods.push_back(Method::kAttnLrp);
  const CorrelationReport report = evaluate(model, options);
  const std::string table = evaluation_table(report);
  test::expect_parts(table,
                     {"\nrollout over relevance  ", "\nrollout over attention  ",
                      "  special tokens left out, methods without layers\nattnlrp  ", "\nflow over relevance  "});
  const std::string page = evaluation_markdown(report);
  test::expect_parts(page, {"| rollout over relevance |", "| flow over attention |", "| attnlrp |",
                            "| rollout over relevance minus rollout over attention | 3 |",
                            "| relevance: set by the last layer |", "| mixings | attention, relevance |"});
  const std::string csv = evaluation_csv(report);
  test::expect_parts(csv, {",rollout,relevance,2,", ",attnlrp,,,"});
  const auto json = nlohmann::json::parse(evaluation_json(report));
  const auto& beside = json.at("cells")[12];
  EXPECT_EQ(beside.at("method"), "attnlrp");
  EXPECT_TRUE(beside.at("mixing").is_null() && beside.at("layer").is_null());
  EXPECT_EQ(json.at("series").size(), 5U);
  EXPECT_EQ(json.at("samples")[0].at("relevance")[0][4][0].get<std::vector<double>>(), report.samples[0].relevance[12]);
  const CorrelationReport plain = evaluate(model, options_with({M::kAttention}, {Method::kRollout, Method::kFlow}));
  test::expect_no_parts(evaluation_table(plain), {"over attention"});
  test::expect_no_parts(evaluation_markdown(plain), {"over attention"});
}

TEST(EvaluateMixings, WhatHasNoHeadsOrResidualSaysSo) {
  VotingModel model;
  CorrelationOptions options = options_with({M::kAttention, M::kGradient}, {Method::kRollout});
  options.settings.heads = parse_heads("max");
  EXPECT_EQ(test::notes_of(evaluate(model, options).notes, NoteCode::kHeadsUnused).size(), 1U);
  options.mixings = {M::kAttention};
  EXPECT_EQ(test::notes_of(evaluate(model, options).notes, NoteCode::kHeadsUnused).size(), 0U);
}

TEST(EvaluateMixings, RefusesWhatCannotBeMeasured) {
  VotingModel model;
  const auto refuses = [&](ErrorKind kind, const std::vector<std::string>& words, std::vector<Mixing> mixings,
                           std::vector<Method> methods) {
    expect_error(kind, words, [&] { evaluate(model, options_with(std::move(mixings), std::move(methods))); });
  };
  refuses(ErrorKind::kUsage, {"--method", "blank-out", "--scores"}, {M::kAttention}, {Method::kBlankOut});
  refuses(ErrorKind::kUsage, {"--method", "found logit"}, {M::kAttention}, {Method::kLogit});
  refuses(ErrorKind::kUnsupportedModel, {"alti"}, {M::kAlti}, {Method::kRollout});
  refuses(ErrorKind::kUnsupportedModel, {"integrated-gradients"}, {M::kAttention}, {Method::kIntegratedGradients});
}

}  // namespace
}  // namespace attnflow::evaluate_mixings_test
