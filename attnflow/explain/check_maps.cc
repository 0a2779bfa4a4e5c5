#include "attnflow/explain/check_maps.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/base/random.h"
#include "attnflow/metrics/rank_correlation.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow {
namespace {

// A map's values by token, [n]; absent if the report does not have it.
struct Map {
  std::optional<std::size_t> layer;
  std::vector<double> values;
  std::vector<double> gaps;    // for flow
  bool is_for_target = false;  // larger values speak for the target, not just about it
};

std::optional<Map> map_of(const Report& report, Method method, std::size_t output_token) {
  Map map;
  if (!method_info(method).aggregates()) {
    map.values = map_values(report, method, output_token, {});
    if (map.values.empty()) return std::nullopt;
    map.is_for_target = true;
    return map;
  }
  const MethodValues found = method_values(report, method);
  const std::optional<std::size_t> row = row_index(*found.output_tokens, output_token);
  if (found.values->empty() || !row) return std::nullopt;
  map.is_for_target = report.settings.has_target();  // its positive part
  const std::size_t last = found.layers->size() - 1;
  map.layer = (*found.layers)[last];
  const std::optional<std::size_t> place = layer_index(report, *map.layer);
  if (place && carries_nothing(report, output_token, *place)) return std::nullopt;  // ranks no token
  map.values = map_values(report, method, output_token, {*map.layer});
  if (method == Method::kFlow && !report.flow_gap.empty()) {
    for (std::size_t j = 0; j < map.values.size(); ++j) map.gaps.push_back(report.flow_gap(last, *row, j));
  }
  return map;
}

// The largest of the map's tokens that nothing fits in place of, if its value is above `least`, that of all checked
// ones.
std::optional<std::size_t> unchecked_above(double least, const Map& map, const ReportCheck& check, bool sink) {
  std::optional<std::size_t> found;
  for (const std::size_t token : check.irreplaceable) {
    if (token == 0 && sink) continue;
    if (map.values[token] > (found ? map.values[*found] : least)) found = token;
  }
  return found;
}

}  // namespace

std::vector<double> BlankOut::scores() const {
  std::vector<double> scores;
  for (const double without : blanked) scores.push_back(value - without);
  return scores;
}

std::vector<std::size_t> compared_tokens(const Report& report, const CheckedInput& input) {
  const std::optional<std::size_t> position = input.position;
  std::vector<bool> excluded(report.input.tokens.size(), false);  // left out of rankings
  if (report.generation) {
    for (const ExcludedTokens& rule : report.generation->excluded) {
      for (const std::size_t j : rule.tokens) excluded[j] = true;
    }
  }
  const bool looks_back = report.model.causal || input.predicts_next;
  std::vector<std::size_t> compared;
  for (std::size_t j = 0; j < std::min(report.input.tokens.size(), input.groups.size()); ++j) {
    const std::vector<std::size_t>& group = input.groups[j];
    const bool is_mask = position && !looks_back && std::find(group.begin(), group.end(), *position) != group.end();
    const bool is_unseen = position && looks_back && group.front() > *position;
    if (!report.input.tokens[j].special && !excluded[j] && !is_mask && !is_unseen) compared.push_back(j);
  }
  return compared;
}

std::vector<std::size_t> chosen_tokens(const Report& report, std::size_t output_token,
                                       const std::vector<std::size_t>& compared, std::size_t most) {
  constexpr std::size_t kFirst = 5;
  if (compared.size() <= most) return compared;
  std::vector<std::size_t> chosen;
  const auto add = [&](std::size_t token) {
    if (chosen.size() < most && std::find(chosen.begin(), chosen.end(), token) == chosen.end()) chosen.push_back(token);
  };
  std::vector<std::vector<std::size_t>> rankings;
  for (const Method method : report.settings.methods) {
    const std::optional<Map> map = method == Method::kBlankOut ? std::nullopt : map_of(report, method, output_token);
    if (!map) continue;
    std::vector<std::size_t>& ranking = rankings.emplace_back(compared);
    std::stable_sort(ranking.begin(), ranking.end(),
                     [&](std::size_t a, std::size_t b) { return map->values[a] > map->values[b]; });
  }
  for (std::size_t rank = 0; rank < std::min(kFirst, compared.size()); ++rank) {
    for (const std::vector<std::size_t>& ranking : rankings) add(ranking[rank]);
  }
  std::vector<std::size_t> others = compared;
  Random(stream_seed(compared.size(), "check")).shuffle(others);
  for (const std::size_t token : others) add(token);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

void check_maps(ReportCheck& check, const Report& report, std::size_t output_token, const CheckedInput& input) {
  std::vector<const CheckedToken*> compared;
  for (const std::size_t j : compared_tokens(report, input)) {
    if (const CheckedToken* const found = check.find(j)) compared.push_back(found);
  }
  for (const Method method : report.settings.methods) {
    if (method == Method::kBlankOut && !check.blank.empty()) continue;  // would be compared with itself
    const std::optional<Map> map = map_of(report, method, output_token);
    if (!map) continue;
    std::vector<double> values;
    std::vector<double> gaps;
    std::vector<double> drops;
    const bool sink = method_info(method).aggregates() && sets_first_aside(report, method, output_token, {*map->layer});
    std::vector<const CheckedToken*> ranked;
    for (const CheckedToken* const one : compared) {
      if (one->token == 0 && sink) continue;
      ranked.push_back(one);
      values.push_back(map->values[one->token]);
      drops.push_back(map->is_for_target ? one->drop : std::abs(one->drop));
      if (!map->gaps.empty()) gaps.push_back(map->gaps[one->token]);
    }
    if (ranked.empty()) continue;
    const auto largest = std::max_element(values.begin(), values.end());
    const auto by_drop = [](const CheckedToken* a, const CheckedToken* b) { return a->drop < b->drop; };
    check.maps.push_back({.method = method,
                          .layer = map->layer,
                          .rank_correlation = spearman(values, drops, {.first_gaps = gaps}),
                          .compared = ranked.size(),
                          .first_token = ranked[static_cast<std::size_t>(largest - values.begin())]->token,
                          .decisive_token = (*std::max_element(ranked.begin(), ranked.end(), by_drop))->token,
                          .unchecked_token = unchecked_above(*largest, *map, check, sink)});
  }
}

}  // namespace attnflow
