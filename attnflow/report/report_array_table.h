// The table of a report's arrays, for all writers and readers; internal.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow::internal {

// Whether fields other than arrays imply that `graph` equals `raw`.
bool graph_equals_raw_by_rule(const Report& report);

// An array's shape and rows, as implied by the other fields.
struct ArrayPlace {
  Shape shape;
  // Outputs at the positions `output_tokens`; every token; rows that see all their columns; or one row a prediction, of
  // either sign, which no document rounds.
  enum class Rows { kOutputs, kTokens, kWhole, kExact } rows = Rows::kOutputs;
  const std::vector<std::size_t>* output_tokens = nullptr;
  const std::vector<std::size_t>* layers = nullptr;  // the first dimension's, if a report names them
};

// Calls visit(name, tensor, place) for every array that a document may hold, even if empty, in the document's order.
template <typename R, typename Visit>  // Report or const Report
void for_each_array(R& report, Visit visit) {
  const std::size_t m = report.input.tokens.size();
  const std::size_t n = report.generation ? report.generation->tokens.size() : 0;
  for (const Method method : kAggregations) {
    const std::string name = to_text(method);
    const MethodValues found = method_values(report, method);
    const std::size_t layers = found.layers->size();
    const std::size_t rows = found.output_tokens->size();
    const ArrayPlace prompt{{layers, rows, m}, ArrayPlace::Rows::kOutputs, found.output_tokens, found.layers};
    auto& values = method == Method::kRaw ? report.raw : method == Method::kRollout ? report.rollout : report.flow;
    auto& beside = method == Method::kRaw       ? report.raw_beside
                   : method == Method::kRollout ? report.rollout_beside
                                                : report.flow_beside;
    visit(name, values, prompt);
    visit(name + "_generated", beside.generated,
          ArrayPlace{{layers, rows, n}, ArrayPlace::Rows::kOutputs, found.output_tokens, found.layers});
    visit(name + "_normalized", beside.normalized, prompt);
    if (method != Method::kFlow) continue;
    visit("flow_gap", report.flow_gap, prompt);
    visit("flow_degenerate", report.flow_degenerate, prompt);
  }
  for (auto& scores : report.scores) {
    const std::string name = method_info(scores.method).array;
    visit(name, scores.values, ArrayPlace{{report.generation ? n : 1, m}, ArrayPlace::Rows::kExact});
    if (report.generation) {
      visit(name + "_generated", scores.generated, ArrayPlace{{n, n}, ArrayPlace::Rows::kExact});
    }
  }
  if (report.generation) {  // its prompt has no matrices
    visit("sink_share", report.generation->sink_share,
          ArrayPlace{{report.settings.layers.size(), n}, ArrayPlace::Rows::kWhole, nullptr, &report.settings.layers});
    return;
  }
  visit("attention_rollout", report.attention_rollout, ArrayPlace{{1, m}, ArrayPlace::Rows::kExact});
  visit("feed_forward", report.feed_forward, ArrayPlace{{report.model.layers, m}, ArrayPlace::Rows::kWhole});
  visit("graph", report.graph, ArrayPlace{{report.model.layers, m, m}, ArrayPlace::Rows::kTokens});
  visit("attention", report.attention,
        ArrayPlace{{report.model.layers, report.model.heads, m, m}, ArrayPlace::Rows::kTokens});
}

}  // namespace attnflow::internal
