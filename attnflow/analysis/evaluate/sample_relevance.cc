#include "attnflow/analysis/evaluate/sample_relevance.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/analysis/methods/score_methods.h"
#include "attnflow/attribution/attribute.h"
#include "attnflow/attribution/resolve.h"

namespace attnflow {

std::optional<RelevanceKind> find_relevance(const std::string& name) {
  if (name == "row") return RelevanceKind::kOutputToken;
  if (name == "column-max") return RelevanceKind::kMaximum;
  if (name == "column-sum") return RelevanceKind::kSum;
  return std::nullopt;
}

std::vector<CorrelationSeries> correlation_series(const CorrelationOptions& options) {
  std::vector<CorrelationSeries> series;
  const std::vector<Method>& methods = options.settings.methods;
  for (const Mixing mixing : options.mixings) {
    for (const Method method : methods) {
      if (method_info(method).aggregates()) series.push_back({to_text(method), mixing, options.settings.layers});
    }
  }
  for (const Method method : methods) {
    if (!method_info(method).aggregates()) series.push_back({to_text(method), std::nullopt, {0}});
  }
  return series;
}

SampleReader::SampleReader(Encoder& model, const TextCodec& tokenizer, const CorrelationOptions& options)
    : model_(model), options_(options) {
  for (const std::string& name : options.relevance) kinds_.push_back(find_relevance(name).value());
  for (const Method method : options.settings.methods) {
    (method_info(method).aggregates() ? aggregations_ : beside_).push_back(method);
    if (method == Method::kIntegratedGradients) blank_ = find_blank_token(tokenizer, model.info(), options.blank);
  }
  check_methods(options.settings, model, kIntegrationSteps);
}

SampleRelevance SampleReader::read(const EncodedSample& sample) const {
  const Settings& settings = options_.settings;
  const std::vector<std::size_t>& layers = settings.layers;
  std::vector<Note> ignored;
  SampleRelevance result;
  result.output_token =
      resolve_token(settings.output_token, "output-token", sample.tokens, model_.info().causal, ignored);
  const bool only_row =
      std::all_of(kinds_.begin(), kinds_.end(), [](RelevanceKind kind) { return kind == RelevanceKind::kOutputToken; });
  std::vector<std::vector<Relevance>> by_kind(kinds_.size());
  MixedGraphs found;
  if (!aggregations_.empty()) found = graphs(sample, options_.mixings);
  for (std::size_t g = 0; g < found.graphs.size(); ++g) {
    GraphSource source(std::move(found.graphs[g]), model_.info().causal);
    for (const Method method : aggregations_) {
      Query query{.method = method, .layers = layers, .start_layer = settings.start_layer};
      const bool one_row = only_row && method == Method::kFlow;
      query.outputs = one_row ? TokenGroups{{result.output_token}} : single_tokens(sample.tokens.size());
      query.flow_tolerance = settings.flow_tolerance;
      const Attribution answer = attribute(source, query, {.threads = 1, .stop_token = options_.stop_token});
      const std::size_t row = one_row ? 0 : result.output_token;
      for (std::size_t l = 0; l < layers.size(); ++l) {
        const TensorView<const double> values = answer.values[l];
        for (std::size_t r = 0; r < kinds_.size(); ++r) {
          const RelevanceOptions how{kinds_[r], row};
          by_kind[r].push_back(answer.gap.empty() ? relevance(values, how) : relevance(values, answer.gap[l], how));
        }
        result.own.push_back(values(row, result.output_token));
        if (method == Method::kFlow) {
          result.degeneracy.push_back({count_degenerate(answer, l), options_.mixings[g]});
        }
      }
    }
  }
  for (const Method method : beside_) {
    const Relevance values = beside(method, sample);
    for (std::vector<Relevance>& one : by_kind) one.push_back(values);
  }
  for (std::vector<Relevance>& one : by_kind) std::move(one.begin(), one.end(), std::back_inserter(result.relevance));
  return result;
}

void SampleReader::attempt(const EncodedSample& sample, Mixing mixing) const { graphs(sample, {mixing}); }

MixedGraphs SampleReader::graphs(const EncodedSample& sample, const std::vector<Mixing>& mixings) const {
  const MixedGraphsQuestion question{
      .input = sample.input,
      .tokens = sample.tokens,
      .target = {.kind = ScoreTarget::Kind::kLogitAgainstRest, .label = sample.predicted},
      .gradient_target = ScoreTarget{.kind = ScoreTarget::Kind::kLogit, .label = sample.predicted},
      .threads = 1,
      .stop_token = options_.stop_token};
  return mixed_graphs(model_, settings_of_mixings(options_.settings, mixings), question);
}

Relevance SampleReader::beside(Method method, const EncodedSample& sample) const {
  const std::size_t n = sample.tokens.size();
  TextQuestion question =
      text_question(model_, sample.input, {.kind = ScoreTarget::Kind::kLogitAgainstRest, .label = sample.predicted},
                    single_tokens(n), blank_);
  question.stop_token = options_.stop_token;
  for (std::size_t t = 0; t < n; ++t) {
    if (!sample.tokens[t].special) question.content.push_back(t);
  }
  const MethodScores scores = method_scores(method, question);
  Relevance result;
  for (const double score : scores.values.span()) result.values.push_back(std::abs(score));
  return result;
}

}  // namespace attnflow
