#include "attnflow/report/report.h"

#include <algorithm>

namespace attnflow {
namespace {

std::optional<std::size_t> position_of(const std::vector<std::size_t>& values, std::size_t value) {
  const auto found = std::find(values.begin(), values.end(), value);
  if (found == values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - values.begin());
}

}  // namespace

std::optional<std::size_t> layer_index(const Report& report, std::size_t layer) {
  return position_of(report.settings.layers, layer);
}

std::optional<std::size_t> row_index(const std::vector<std::size_t>& output_tokens, std::size_t token) {
  return position_of(output_tokens, token);
}

MethodValues method_values(const Report& report, Method method) {
  switch (method) {
    case Method::kRaw:
      return {&report.raw, &report.output_tokens};
    case Method::kRollout:
      return {&report.rollout, &report.output_tokens};
    case Method::kFlow:
      break;
  }
  return {&report.flow, &report.flow_output_tokens};
}

}  // namespace attnflow
