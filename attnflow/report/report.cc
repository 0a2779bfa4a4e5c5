#include "attnflow/report/report.h"

#include <algorithm>

#include "attnflow/base/error.h"

namespace attnflow {
namespace {

std::optional<std::size_t> position_of(const std::vector<std::size_t>& values, std::size_t value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - values.begin());
}

}  // namespace

bool has_gradient_mixing(const ReportSettings& settings) {
  return settings.mixing == "gradient" || settings.mixing == "gradient-renormalized";
}

std::optional<std::size_t> layer_index(const Report& report, std::size_t layer) {
  return position_of(report.settings.layers, layer);
}

std::optional<std::size_t> row_index(const std::vector<std::size_t>& output_tokens, std::size_t token) {
  return position_of(output_tokens, token);
}

MethodValues method_values(const Report& report, const std::string& method) {
  if (method == "raw") return {&report.raw, &report.output_tokens};
  if (method == "rollout") return {&report.rollout, &report.output_tokens};
  if (method == "flow") return {&report.flow, &report.flow_output_tokens};
  throw Error(ErrorKind::kUsage, "expected a method raw, rollout or flow, found '" + method + "'");
}

std::string display_text(const Report& report, std::size_t token) {
  const ReportToken& piece = report.input.tokens.at(token);
  const std::string& text = piece.segment == 0 ? report.input.text : report.input.text_pair;
  // Ranges that lie outside the text (an edited file) or hold nothing fall back to the piece.
  if (piece.begin && piece.end && *piece.begin < *piece.end && *piece.end <= text.size()) {
    return text.substr(*piece.begin, *piece.end - *piece.begin);
  }
  return piece.text;
}

}  // namespace attnflow
