#include "attnflow/explain/explain_edges.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/base/format_error.h"
#include "attnflow/explain/fill_report.h"

namespace attnflow {
namespace {

Tensor<float> rounded_weights(const AnyAttentionStack& attention) {
  return std::visit(
      [](const auto& stack) {
        const auto& weights = stack.weights();
        return Tensor<float>(weights.shape(), {weights.span().begin(), weights.span().end()});
      },
      attention);
}

bool looks_back_only(const Tensor<double>& contributions) {
  const std::size_t n = contributions.extent(2);
  for (std::size_t row = 0; row < contributions.size() / n; ++row) {
    const double* weights = contributions.data() + row * n;
    if (std::any_of(weights + row % n + 1, weights + n, [](double w) { return w != 0.0; })) return false;
  }
  return true;
}

Tensor<double> stacked(const std::vector<PositiveRelevance>& layers) {
  const std::size_t n = layers.front().weights.extent(0);
  Tensor<double> all({layers.size(), n, n});
  for (std::size_t l = 0; l < layers.size(); ++l) {
    if (layers[l].weights.shape() != layers.front().weights.shape()) {
      throw Error(ErrorKind::kOther, "expected edges between the same tokens in every layer, found other shapes");
    }
    std::copy_n(layers[l].weights.data(), n * n, all.data() + l * n * n);
  }
  return all;
}

AttentionGraph graph_of(std::vector<PositiveRelevance> layers, const ResolvedMixing& mixing, std::size_t threads,
                        Report& report) {
  if (mixing_info(mixing.kind).needs == MixingNeeds::kTerms) {
    return contribution_graph(std::move(layers), mixing.contributions(threads));
  }
  RelevanceGraph made = relevance_graph(std::move(layers), mixing.removal());
  note_negative_share(report.notes, made.negative_share, report.target);
  return std::move(made.graph);
}

}  // namespace

Report explain_edges(AttentionInput input, const ExplainOptions& options) {
  Report report = begin_report(input, options);
  MadeEdges& edges = input.edges;
  report.target = std::move(edges.target);
  report.model = {input.name, input.architecture, edges.layers.size(), edges.heads, edges.causal};
  report.input.tokens.resize(edges.layers.front().weights.extent(0));
  const ReportQuestion question = question_of(report, input, options);
  if (options.keep_attention) {
    report.attention = rounded_weights(input.stack);
    if (report.attention.empty()) {
      throw internal::usage_error("--keep-attention: expected attention next to the edges, found none");
    }
  }
  AttentionGraph graph = graph_of(std::move(edges.layers), question.settings, options.threads, report);
  fill_report(report, GraphSource(std::move(graph), report.model.causal), question, options);
  return report;
}

Report explain_contributions(AttentionInput input, const ExplainOptions& options) {
  Tensor<float> attention = rounded_weights(input.stack);
  input.stack = {};
  const ContributionArrays& arrays = input.contributions;
  if (attention.empty() && options.keep_attention) {
    throw internal::usage_error("--keep-attention: expected a file with attention, found only contributions");
  }
  Report report = begin_report(input, options);
  const bool is_made = !arrays.contributions.empty();
  const Shape& shape = is_made ? arrays.contributions.shape() : attention.shape();
  report.model = {input.name, "", shape[0], attention.empty() ? 1 : attention.extent(1),
                  is_made ? looks_back_only(arrays.contributions) : is_causal(std::as_const(attention).view())};
  const ReportQuestion question = question_of(report, input, options);
  AttentionGraph graph =
      graph_of_arrays(arrays, std::as_const(attention).view(), question.settings.contributions(options.threads));
  if (options.keep_attention) report.attention = std::move(attention);
  fill_report(report, GraphSource(std::move(graph), report.model.causal), question, options);
  return report;
}

AttentionGraph contribution_graph(std::vector<PositiveRelevance> layers, const ContributionOptions& options) {
  const Tensor<double> all = stacked(layers);
  layers.clear();
  return contribution_graph(all.view(), options);
}

void note_negative_share(std::vector<Note>& notes, const std::optional<double>& share,
                         const std::optional<ReportTarget>& target) {
  if (!share) return;
  NoteValues values = {{"share", *share}};
  if (target) values.emplace("target", target->label);
  notes.emplace_back(NoteCode::kNegativeRelevance, std::move(values));
}

}  // namespace attnflow
