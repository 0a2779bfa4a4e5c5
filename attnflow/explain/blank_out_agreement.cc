#include "attnflow/explain/blank_out_agreement.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/evaluate/rank_correlation.h"
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
    const MethodScores* const scores = method_scores(report, method);
    if (scores == nullptr) return std::nullopt;
    const double* const row = scores->values[scored_prediction(report, output_token)].data();
    map.values.assign(row, row + scores->values.extent(1));
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
  for (std::size_t j = 0; j < found.values->extent(2); ++j) {
    map.values.push_back((*found.values)(last, *row, j));
    if (method == Method::kFlow && !report.flow_gap.empty()) map.gaps.push_back(report.flow_gap(last, *row, j));
  }
  return map;
}

}  // namespace

std::vector<double> BlankOut::scores() const {
  std::vector<double> scores;
  for (const double without : blanked) scores.push_back(value - without);
  return scores;
}

bool agreement_is_cheap(std::uint64_t parameters, std::size_t tokens, std::size_t groups, double work) {
  const double runs = static_cast<double>(groups) + 1.0;
  return 2.0 * static_cast<double>(parameters) * static_cast<double>(tokens) * runs <= work;
}

BlankOutAgreement blank_out_agreement(const Report& report, std::size_t output_token, const BlankOut& found,
                                      const BlankedInput& input) {
  BlankOutAgreement agreement{.quantity = input.quantity, .value = found.value, .blank = input.blank, .maps = {}};
  const std::optional<std::size_t> position = input.position;
  std::vector<bool> excluded(report.input.tokens.size(), false);  // left out of rankings
  if (report.generation) {
    for (const ExcludedTokens& rule : report.generation->excluded) {
      for (const std::size_t j : rule.tokens) excluded[j] = true;
    }
  }
  std::vector<std::size_t> compared;
  for (std::size_t j = 0; j < report.input.tokens.size(); ++j) {
    const std::vector<std::size_t>& group = input.groups[j];
    const bool is_mask =
        position && !report.model.causal && std::find(group.begin(), group.end(), *position) != group.end();
    const bool is_unseen = position && report.model.causal && group.front() > *position;
    if (!report.input.tokens[j].special && !excluded[j] && !is_mask && !is_unseen) compared.push_back(j);
  }
  if (compared.empty()) return agreement;
  for (const Method method : report.settings.methods) {
    if (method == Method::kBlankOut) continue;
    const std::optional<Map> map = map_of(report, method, output_token);
    if (!map) continue;
    std::vector<double> values;
    std::vector<double> gaps;
    std::vector<double> drops;
    const bool sink = method_info(method).aggregates() && sets_first_aside(report, method, output_token, {*map->layer});
    std::vector<std::size_t> ranked;
    for (const std::size_t j : compared) {
      if (j == 0 && sink) continue;
      ranked.push_back(j);
      const double drop = found.value - found.blanked[j];
      values.push_back(map->values[j]);
      drops.push_back(map->is_for_target ? drop : std::abs(drop));
      if (!map->gaps.empty()) gaps.push_back(map->gaps[j]);
    }
    if (ranked.empty()) continue;
    MapAgreement& one = agreement.maps.emplace_back();
    one.method = method;
    one.layer = map->layer;
    one.rank_correlation = spearman(values, drops, {.first_gaps = gaps});
    const auto largest = std::max_element(values.begin(), values.end()) - values.begin();
    one.first_token = ranked[static_cast<std::size_t>(largest)];
    one.blanked_value = found.blanked[one.first_token];
    one.decisive_token = *std::min_element(ranked.begin(), ranked.end(), [&](std::size_t a, std::size_t b) {
      return found.blanked[a] < found.blanked[b];
    });
    one.decisive_value = found.blanked[*one.decisive_token];
  }
  return agreement;
}

void note_agreement(const BlankOutAgreement& agreement, const InputText& input, std::vector<Note>& notes) {
  std::vector<Note> found;
  for (const MapAgreement& map : agreement.maps) {
    NoteValues values = {{"method", to_text(map.method)},
                         {"token", display_text(input, map.first_token)},
                         {"quantity", agreement.quantity},
                         {"before", agreement.value},
                         {"after", map.blanked_value}};
    if (map.layer) values.emplace("layer", *map.layer);
    if (map.rank_correlation) values.emplace("rank_correlation", *map.rank_correlation);
    if (map.decisive_token && *map.decisive_token != map.first_token) {
      values.emplace("decisive", display_text(input, *map.decisive_token));
      values.emplace("least", map.decisive_value);
    }
    found.push_back({NoteCode::kBlankOutAgreement, std::move(values)});
  }
  notes.insert(notes.begin(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

}  // namespace attnflow
