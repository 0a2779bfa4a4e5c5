#include "attnflow/explain/explain_contributions.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/explain/referents.h"

namespace attnflow {
namespace {

bool looks_back_only(const Tensor<double>& contributions) {
  const std::size_t n = contributions.extent(2);
  for (std::size_t row = 0; row < contributions.size() / n; ++row) {
    const double* weights = contributions.data() + row * n;
    if (std::any_of(weights + row % n + 1, weights + n, [](double w) { return w != 0.0; })) return false;
  }
  return true;
}

}  // namespace

Report explain_contributions(AttentionInput input, const ExplainOptions& options) {
  Tensor<float> attention = std::visit(
      [](const auto& stack) {
        const auto& weights = stack.weights();
        return Tensor<float>(weights.shape(), {weights.span().begin(), weights.span().end()});
      },
      input.stack);
  input.stack = {};
  const ContributionArrays& arrays = input.contributions;
  if (attention.empty() && options.keep_attention) {
    throw Error(ErrorKind::kUsage, "--keep-attention: expected a file with attention, found contributions alone");
  }
  Report report;
  report.settings = options.settings;
  report.input.kind = "attention";
  if (options.any_weights) report.notes.emplace_back(NoteCode::kAnyWeights);
  report.input.tokens = std::move(input.tokens);
  const bool is_made = !arrays.contributions.empty();
  const Shape& shape = is_made ? arrays.contributions.shape() : attention.shape();
  report.model = {input.name, "", shape[0], attention.empty() ? 1 : attention.extent(1),
                  is_made ? looks_back_only(arrays.contributions) : is_causal(std::as_const(attention).view())};
  report.referents = resolve_referents(options.referents, report);
  const ReportQuestion question = resolve_question(report, options);
  AttentionGraph graph =
      graph_of_arrays(arrays, std::as_const(attention).view(), question.settings.contributions(options.threads));
  if (options.keep_attention) report.attention = std::move(attention);
  fill_report(report, GraphSource(std::move(graph), report.model.causal), question, options);
  return report;
}

}  // namespace attnflow
