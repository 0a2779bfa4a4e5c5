#include "attnflow/explain/explain_generation.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <variant>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/question_rows.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/source.h"
#include "attnflow/base/format_error.h"
#include "attnflow/explain/explain_edges.h"
#include "attnflow/explain/fill_generation.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/graph/layers.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

// A causal graph: each position's network includes only the positions that it sees.
class CausalGraphSource : public AttentionSource {
 public:
  explicit CausalGraphSource(AttentionGraph graph) : graph_(std::move(graph)) {}
  std::size_t layers() const override { return graph_.layers(); }
  std::size_t tokens() const override { return graph_.tokens(); }

  Tensor<double> raw(const RowQuestion& question, const AttributeOptions&) override {
    const std::size_t n = graph_.tokens();
    return internal::rows_of(question, internal::columns_of(question), [&](std::size_t layer, std::size_t position) {
      return std::span(graph_.weights.data() + ((layer - 1) * n + position) * n, position + 1);
    });
  }

  Tensor<double> rollout(const RowQuestion& question, const AttributeOptions&) override {
    return internal::rows_of(question, internal::columns_of(question), [&](std::size_t layer, std::size_t position) {
      std::vector<double> row = rollout_row(graph_, position, layer, question.start_layer);
      row.resize(position + 1);
      return row;
    });
  }

  FlowResult flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                  const AttributeOptions& options) override {
    return causal_flow([&](std::size_t tokens) { return first_tokens(graph_, tokens); }, question, inputs, tolerance,
                       options);
  }

  std::unique_ptr<AttentionSource> uniform() const override {
    return std::make_unique<UniformCausalSource>(graph_.layers(), graph_.residual);
  }

 private:
  AttentionGraph graph_;
};

struct Extent {
  std::size_t layers = 0;
  std::size_t heads = 0;
  std::size_t tokens = 0;
  bool causal = false;
};

void check_first_shares(const MadeEdges& edges, std::size_t tokens) {
  const auto& shares = edges.first_shares;
  if (shares.size() != edges.layers.size()) {
    throw internal::file_error("first_shares: expected shares for {} layers, found {}", edges.layers.size(),
                               shares.size());
  }
  for (std::size_t l = 0; l < shares.size(); ++l) {
    if (shares[l].size() == tokens) continue;
    throw internal::file_error("first_shares of layer {}: expected shares for {} tokens, found {}", l + 1, tokens,
                               shares[l].size());
  }
}

Extent extent_of(const GenerationInput& input) {
  if (!input.edges.layers.empty()) {
    const std::size_t tokens = input.edges.layers.front().weights.extent(0);
    check_first_shares(input.edges, tokens);
    return {input.edges.layers.size(), input.edges.heads, tokens, input.edges.causal || tokens == 1};
  }
  if (!input.fused.layers.empty()) {
    return {input.fused.layers.size(), input.fused.heads, input.fused.layers.front().extent(0), input.fused.causal};
  }
  return std::visit(
      [](const auto& stack) {
        return Extent{stack.layers(), stack.heads(), stack.tokens(), is_causal(stack.weights().view())};
      },
      input.stack);
}

// Mean over heads of each position's attention to position 0 in a layer.
std::vector<double> first_shares(const GenerationInput& input, std::size_t l) {
  if (!input.edges.layers.empty()) return input.edges.first_shares[l];
  if (!input.fused.layers.empty()) {
    const Tensor<double>& fused = input.fused.layers[l];
    std::vector<double> shares(fused.extent(0));
    for (std::size_t q = 0; q < shares.size(); ++q) shares[q] = fused(q, 0);
    return shares;
  }
  return std::visit([l](const auto& stack) { return first_shares(stack.weights().view()[l]); }, input.stack);
}

AttentionGraph graph_of(GenerationInput& input, const ResolvedMixing& resolved, std::size_t threads) {
  if (!input.edges.layers.empty()) {
    return contribution_graph(std::move(input.edges.layers), resolved.contributions(threads));
  }
  if (!input.fused.layers.empty()) return attention_graph(input.fused, resolved.mixing);
  return std::visit([&](const auto& stack) { return attention_graph(stack, resolved.mixing); }, input.stack);
}

}  // namespace

Report explain_generation(GenerationInput input, const ExplainOptions& given, const GenerationColumns& columns) {
  Settings settings = given.settings;
  if (settings.mixing == Mixing::kAuto) settings.mixing = Mixing::kAttention;
  check_generation_settings(settings);
  require_aggregations(settings.methods, "attention of a generation");
  const MixingNeeds needs = input.edges.layers.empty() ? MixingNeeds::kAttention : MixingNeeds::kTerms;
  if (mixing_info(settings.mixing).needs != needs) {
    throw internal::usage_error("--mixing: expected {}, which the generation was read with, found {}",
                                needs == MixingNeeds::kTerms ? "contributions" : "attention", to_text(settings.mixing));
  }
  const Extent extent = extent_of(input);
  const std::size_t m = input.prompt.tokens.size();
  const std::size_t generated = input.generation.tokens.size();
  if (m == 0 || generated == 0 || extent.tokens != m + generated - 1) {
    throw internal::file_error(
        "attention: expected {} prompt tokens and all but the last of {} generated ones, found {}", m, generated,
        extent.tokens);
  }
  if (!extent.causal) {
    throw internal::model_error(
        "{}: expected a decoder, whose tokens see no later tokens, found a model whose tokens do", input.name);
  }
  Report report;
  report.settings = settings;
  report.model = {input.name, input.architecture, extent.layers, extent.heads, true};
  report.input = std::move(input.prompt);
  report.input.kind = "generation";
  report.generation = std::move(input.generation);
  if (given.any_weights) report.notes.emplace_back(NoteCode::kAnyWeights);
  ZeroRows zeros = input.zero_rows;
  zeros.add(input.fused.zero_rows);
  note_zero_rows(zeros, report.notes);
  const std::vector<InputToken> tokens = report.input.tokens;
  GenerationQuestion question{.prompt_tokens = m,
                              .generated_columns = columns.generated_columns,
                              .flow_tokens = columns.flow_tokens,
                              .threads = given.threads,
                              .progress = given.progress,
                              .stop_token = given.stop_token};
  std::size_t none = 0;
  if (settings.words) question.words = merge_words(report, none);
  report.settings.layers = resolve_layers(settings.layers, settings.start_layer, extent.layers);
  set_flow_layers(report, columns.flow_layers);
  std::vector<std::vector<double>> shares;  // [layer][position]
  for (std::size_t l = 0; l < extent.layers; ++l) shares.push_back(first_shares(input, l));
  question.first_share = [&](std::size_t layer, std::size_t position) { return shares[layer - 1][position]; };
  AttentionGraph graph = graph_of(input, resolve_mixing(settings, tokens, extent.heads), given.threads);
  question.sources.assign(generated, std::make_shared<CausalGraphSource>(std::move(graph)));
  place_outputs(report);
  fill_generation(report, question);
  return report;
}

}  // namespace attnflow
