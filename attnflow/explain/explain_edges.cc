#include "attnflow/explain/explain_edges.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "attnflow/base/error.h"
#include "attnflow/explain/fill_report.h"

namespace attnflow {
namespace {

// [layer, query, key]
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
                        std::vector<Note>& notes) {
  if (mixing_info(mixing.kind).needs == MixingNeeds::kTerms) {
    return contribution_graph(std::move(layers), mixing.contributions(threads));
  }
  RelevanceGraph made = relevance_graph(std::move(layers), mixing.removal());
  note_negative_share(notes, made.negative_share);
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
    report.attention = std::visit(
        [](const auto& stack) {
          const auto& weights = stack.weights();
          return Tensor<float>(weights.shape(), {weights.span().begin(), weights.span().end()});
        },
        input.stack);
    if (report.attention.empty()) {
      throw Error(ErrorKind::kUsage, "--keep-attention: expected attention beside the edges, found none");
    }
  }
  AttentionGraph graph = graph_of(std::move(edges.layers), question.settings, options.threads, report.notes);
  fill_report(report, GraphSource(std::move(graph), report.model.causal), question, options);
  return report;
}

AttentionGraph contribution_graph(std::vector<PositiveRelevance> layers, const ContributionOptions& options) {
  const Tensor<double> all = stacked(layers);
  layers.clear();
  return contribution_graph(all.view(), options);
}

void note_negative_share(std::vector<Note>& notes, const std::optional<double>& share) {
  if (share) notes.push_back({NoteCode::kNegativeRelevance, {{"share", *share}}});
}

}  // namespace attnflow
