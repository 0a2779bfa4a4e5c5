#include "attnflow/analysis/generate/generation_sink.h"

#include <algorithm>
#include <cassert>

#include "attnflow/analysis/text/model_graph.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/analysis/text/text_input.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/explain/fill_report.h"

namespace attnflow::internal {
namespace {

IncrementalRolloutOptions rollout_options(const GenerationSinkOptions& options) {
  IncrementalRolloutOptions rollout;
  rollout.layers = options.layers - options.start_layer;
  rollout.columns = options.columns;
  rollout.first_row = options.first_row;
  rollout.source = options.source;
  rollout.mixing = options.mixing;
  rollout.threads = options.threads;
  return rollout;
}

// The graph of a causal graph's first `tokens` positions.
AttentionGraph first_tokens(const AttentionGraph& graph, std::size_t tokens) {
  const std::size_t n = graph.tokens();
  AttentionGraph part;
  part.residual = graph.residual;
  part.residual_rule = graph.residual_rule;
  part.weights = Tensor<double>({graph.layers(), tokens, tokens});
  for (std::size_t l = 0; l < graph.layers(); ++l) {
    for (std::size_t q = 0; q < tokens; ++q) {
      std::copy_n(graph.weights.data() + (l * n + q) * n, tokens, part.weights.data() + (l * tokens + q) * tokens);
    }
  }
  return part;
}

}  // namespace

GenerationSink::GenerationSink(const GenerationSinkOptions& options) : options_(options), rows_(options.layers) {
  assert(options.start_layer < options.layers);
  if (options.rollout) rollout_.emplace(rollout_options(options));
  if (options.contributions) contributions_.emplace(options.layers, *options.contributions, /*in_chunks=*/true);
  if (options.graph_tokens > 0) {
    graph_.residual = options.mixing.residual;
    graph_.weights = Tensor<double>({options.layers, options.graph_tokens, options.graph_tokens});
  }
}

bool GenerationSink::keeps(std::size_t layer, std::size_t query_end) const {
  const bool rolls = rollout_ && layer > options_.start_layer;
  return rolls || query_end > options_.first_row || !graph_.weights.empty();
}

void GenerationSink::layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) {
  assert(layer >= 1 && layer <= options_.layers);
  if (!keeps(layer, query_begin + attention.extent(1))) return;
  keep(layer, query_begin, attention, fused_rows(attention, options_.mixing, query_begin));
}

void GenerationSink::terms(const LayerTerms& terms) {
  keep(terms.layer, terms.query_begin, terms.attention, contributions_->rows(terms));
}

void GenerationSink::keep(std::size_t layer, std::size_t query_begin, TensorView<const float> attention,
                          const Tensor<double>& weights) {
  const std::size_t heads = attention.extent(0);
  const std::size_t keys = attention.extent(2);
  const std::size_t queries = attention.extent(1);
  const std::size_t end = query_begin + queries;
  const bool rolls = rollout_ && layer > options_.start_layer;
  if (rolls) rollout_->fused_layer(layer - options_.start_layer, query_begin, weights.view());
  if (!graph_.weights.empty()) {
    const std::size_t n = options_.graph_tokens;
    double* rows = graph_.weights.data() + ((layer - 1) * n + query_begin) * n;
    for (std::size_t q = 0; q < queries; ++q) {
      const std::size_t seen = std::max(query_begin + q + 1, options_.source);
      std::copy_n(weights.data() + q * keys, std::min(keys, seen), rows + q * n);
    }
  }
  for (std::size_t position = std::max(query_begin, options_.first_row); position < end; ++position) {
    const std::size_t q = position - query_begin;
    Row row;
    row.weights.assign(weights.data() + q * keys, weights.data() + q * keys + position + 1);
    for (std::size_t h = 0; h < heads; ++h) row.first_share += static_cast<double>(attention(h, q, 0));
    row.first_share /= static_cast<double>(heads);
    assert(rows_[layer - 1].size() == position - options_.first_row);
    rows_[layer - 1].push_back(std::move(row));
  }
}

std::span<const double> GenerationSink::raw(std::size_t layer, std::size_t position) const {
  return rows_[layer - 1][position - options_.first_row].weights;
}

double GenerationSink::first_share(std::size_t layer, std::size_t position) const {
  return rows_[layer - 1][position - options_.first_row].first_share;
}

RowsSource GenerationSink::source() const {
  GivenRows given;
  given.layers = options_.layers;
  given.tokens = rows_.back().empty() ? 0 : options_.first_row + rows_.back().size();
  given.raw = [this](const RowQuestion&, std::size_t layer, std::size_t position) { return raw(layer, position); };
  // All rows go down to start_layer, which is the question's.
  given.rollout = [this](const RowQuestion&, std::size_t layer, std::size_t position) {
    return rollout_->row(layer - options_.start_layer, position);
  };
  given.graph = [this](const RowQuestion&, std::size_t tokens) { return first_tokens(graph_, tokens); };
  given.uniform = [this] { return uniform_source(options_.mask, options_.layers, options_.mixing.residual); };
  return RowsSource(std::move(given));
}

std::size_t GenerationSink::bytes(const GenerationSinkOptions& options, std::size_t prompt, std::size_t generated) {
  const std::size_t total = prompt + generated;
  std::size_t bytes = options.layers * generated * total * sizeof(double);  // raw rows
  if (options.rollout) bytes += IncrementalRollout::bytes(rollout_options(options), prompt, generated);
  // The whole graph, and the part of it that one flow takes.
  if (options.graph_tokens > 0) bytes += 2 * options.layers * options.graph_tokens * options.graph_tokens * 8;
  return bytes;
}

std::vector<std::shared_ptr<AttentionSource>> relevance_sources(ModelOf<TextInput>& model, const TextInput& written,
                                                                const std::vector<ReportTarget>& targets,
                                                                const ResolvedMixing& mixing,
                                                                const ParallelOptions& parallel,
                                                                std::vector<Note>& notes) {
  const AttentionMask mask = attention_mask(model.info(), written.source);
  std::vector<MixingGraph> graphs;
  std::vector<AttentionGradientSink*> sinks;
  std::vector<ScoreTarget> scores;
  for (const ReportTarget& target : targets) {
    const std::size_t seen = target.position.value() + 1;
    ResolvedMixing own = mixing;
    std::erase_if(own.mixing.mask_columns, [seen](std::size_t column) { return column >= seen; });
    sinks.push_back(graphs.emplace_back(model.info().layers, own).backward());
    scores.push_back(score_target(target));
  }
  const TextInput input = written.up_to(targets.back().position.value());
  if (parallel.progress) parallel.progress(0, targets.size());
  gradients_of(model).attention_gradients_of_each(
      input, scores, sinks,
      {.rule = graphs.front().rule(), .progress = parallel.progress, .stop_token = parallel.stop_token});
  std::vector<std::shared_ptr<AttentionSource>> sources;
  std::vector<std::optional<double>> shares;
  for (MixingGraph& graph : graphs) {
    shares.push_back(graph.backward()->negative_share());
    sources.push_back(std::make_shared<GraphSource>(graph.take(), mask));
  }
  // The mean over all tokens: either all have a share or none.
  std::optional<double> mean;
  for (const std::optional<double>& share : shares) {
    if (share) mean = mean.value_or(0.0) + *share / static_cast<double>(shares.size());
  }
  note_negative_share(notes, mean, std::nullopt);
  return sources;
}

}  // namespace attnflow::internal
