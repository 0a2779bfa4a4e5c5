#include "attnflow/report/generation_report.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace attnflow {

bool rows_sum_to_one(const GenerationReport& report) {
  const ColumnMask::Kind mask = report.settings.column_mask.kind;
  return mask == ColumnMask::Kind::kNone || (mask == ColumnMask::Kind::kFirst && report.prompt_tokens.size() > 1);
}

std::vector<std::string> dropped_by(const GenerationReport& report) {
  std::vector<std::string> rules(report.prompt_tokens.size());
  for (const DroppedTokens& dropped : report.dropped) {
    for (const std::size_t token : dropped.tokens) {
      if (rules[token].empty()) rules[token] = dropped.rule;
    }
  }
  return rules;
}

GenerationMethod generation_method(const GenerationReport& report, Method method) {
  GenerationMethod found;
  found.tokens.resize(report.tokens.size());
  std::iota(found.tokens.begin(), found.tokens.end(), std::size_t{0});
  found.layers = report.settings.layers;
  switch (method) {
    case Method::kRaw:
      found.values = &report.raw;
      break;
    case Method::kRollout:
      found.values = &report.rollout;
      break;
    case Method::kFlow:
      found.values = &report.flow;
      found.tokens = report.flow_tokens;
      found.layers = report.flow_layers;
      break;
  }
  if (found.values->prompt.empty()) found.values = nullptr;
  return found;
}

std::vector<Method> methods_present(const GenerationReport& report) {
  std::vector<Method> methods;
  for (const Method method : report.settings.methods) {
    if (generation_method(report, method).values != nullptr) methods.push_back(method);
  }
  return methods;
}

std::string prompt_text(const GenerationReport& report, std::size_t token) {
  const InputToken& shown = report.prompt_tokens[token];
  if (shown.begin && shown.end && *shown.begin < *shown.end && *shown.end <= report.prompt.size()) {
    return report.prompt.substr(*shown.begin, *shown.end - *shown.begin);
  }
  return shown.text;
}

std::string generated_text(const GenerationReport& report, std::size_t token) {
  const GeneratedToken& shown = report.tokens[token];
  if (shown.begin < shown.end && shown.end <= report.text.size()) {
    return report.text.substr(shown.begin, shown.end - shown.begin);
  }
  return shown.text;
}

std::vector<double> mean_over_layers(const Tensor<double>& values, std::size_t row,
                                     const std::vector<std::size_t>& layers) {
  const std::size_t tokens = values.extent(1);
  const std::size_t count = values.extent(2);
  std::vector<std::size_t> chosen = layers;
  if (chosen.empty()) {
    chosen.resize(count);
    std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  }
  std::vector<double> mean(tokens, 0.0);
  for (std::size_t j = 0; j < tokens; ++j) {
    for (const std::size_t l : chosen) mean[j] += values(row, j, l);
    mean[j] /= static_cast<double>(chosen.size());
  }
  return mean;
}

GenerationRanking rank_prompt_tokens(const GenerationReport& report, const std::vector<double>& values) {
  assert(values.size() == report.prompt_tokens.size());
  const std::vector<std::string> rules = dropped_by(report);
  GenerationRanking ranking;
  double mass = 0.0;
  double dropped = 0.0;
  for (std::size_t j = 0; j < values.size(); ++j) {
    mass += values[j];
    if (!rules[j].empty()) {
      dropped += values[j];
    } else if (values[j] > 0.0) {
      ranking.tokens.push_back({j, values[j]});
    }
  }
  if (mass > 0.0) ranking.dropped_share = dropped / mass;
  const auto larger = [](const RankedPromptToken& a, const RankedPromptToken& b) {
    return a.value != b.value ? a.value > b.value : a.token < b.token;
  };
  std::sort(ranking.tokens.begin(), ranking.tokens.end(), larger);
  if (ranking.tokens.size() > report.settings.top_k) ranking.tokens.resize(report.settings.top_k);
  return ranking;
}

}  // namespace attnflow
