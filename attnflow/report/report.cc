#include "attnflow/report/report.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <string_view>

#include "attnflow/attribution/shown_token.h"

namespace attnflow {
std::optional<std::size_t> layer_index(const Report& report, std::size_t layer) {
  return row_index(report.settings.layers, layer);
}

std::optional<std::size_t> row_index(const std::vector<std::size_t>& output_tokens, std::size_t token) {
  const auto found = std::find(output_tokens.begin(), output_tokens.end(), token);
  if (found == output_tokens.end()) return std::nullopt;
  return static_cast<std::size_t>(found - output_tokens.begin());
}

MethodValues method_values(const Report& report, Method method) {
  const std::vector<std::size_t>& layers = report.settings.layers;
  switch (method) {
    case Method::kRaw:
      return {&report.raw, &report.output_tokens, &layers, &report.raw_beside};
    case Method::kRollout:
      return {&report.rollout, &report.output_tokens, &layers, &report.rollout_beside};
    default:
      assert(method == Method::kFlow);
      break;
  }
  return {&report.flow, &report.flow_output_tokens, report.flow_layers.empty() ? &layers : &report.flow_layers,
          &report.flow_beside};
}

std::vector<Method> methods_present(const Report& report) {
  std::vector<Method> methods;
  for (const Method method : report.settings.methods) {
    if (method_info(method).aggregates() && !method_values(report, method).values->empty()) methods.push_back(method);
  }
  return methods;
}

Method leading_method(const Report& report, const std::vector<Method>& present) {
  const bool by_flow =
      !report.generation && mixing_info(report.settings.mixing).rule == ResidualRule::kContainedNormalized;
  for (const Method method : {by_flow ? Method::kFlow : Method::kRollout, Method::kRollout}) {
    if (std::find(present.begin(), present.end(), method) != present.end()) return method;
  }
  return present.front();
}

const MethodScores* method_scores(const Report& report, Method method) {
  const auto found = std::find_if(report.scores.begin(), report.scores.end(),
                                  [&](const MethodScores& scores) { return scores.method == method; });
  return found == report.scores.end() ? nullptr : &*found;
}

const CheckedToken* ReportCheck::find(std::size_t token) const {
  const auto found = std::find_if(tokens.begin(), tokens.end(), [&](const auto& one) { return one.token == token; });
  return found == tokens.end() ? nullptr : &*found;
}

bool ReportCheck::has_rises() const {
  return std::any_of(tokens.begin(), tokens.end(), [](const CheckedToken& one) { return one.drop < 0.0; });
}

double MethodScores::error(std::size_t prediction) const {
  const ScoreSum& promised = sums.at(prediction);
  if (!promised.total) return 0.0;
  double sum = 0.0;
  for (const Tensor<double>* const scores : {&values, &generated}) {
    if (scores->empty()) continue;
    const double* const row = (*scores)[prediction].data();
    sum = std::accumulate(row, row + scores->extent(1), sum);
  }
  for (const ScorePart& part : promised.parts) sum += part.value;
  return *promised.total - sum;
}

std::size_t chosen_token(const Report& report, std::size_t position) {
  assert(report.generation && position + 1 >= report.input.tokens.size());
  return position + 1 - report.input.tokens.size();
}

std::size_t scored_prediction(const Report& report, std::size_t position) {
  return report.generation ? chosen_token(report, position) : 0;
}

std::string generated_text(const Generation& generation, std::size_t token) {
  return internal::shown_token(generation.tokens.size(), token, [&](std::size_t t) -> internal::TokenPiece {
    const GeneratedToken& one = generation.tokens[t];
    const bool has_range = one.begin < one.end && one.end <= generation.text.size();
    const std::string_view text = generation.text;
    return {.own = has_range ? text.substr(one.begin, one.end - one.begin) : std::string_view(),
            .piece = one.text,
            .begin = one.begin};
  });
}

}  // namespace attnflow
