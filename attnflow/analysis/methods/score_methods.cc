#include "attnflow/analysis/methods/score_methods.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "attnflow/analysis/methods/gradient_scores.h"
#include "attnflow/analysis/methods/integrated_gradients.h"
#include "attnflow/analysis/methods/logit_scores.h"
#include "attnflow/attribution/note.h"
#include "attnflow/base/error.h"
#include "attnflow/evaluate/rank_correlation.h"
#include "attnflow/report/report_ranking.h"

namespace attnflow {
namespace {

Tensor<double> score_row(std::vector<double> scores, const char* method) {
  if (!std::all_of(scores.begin(), scores.end(), [](double score) { return std::isfinite(score); })) {
    throw Error(ErrorKind::kBadFile,
                fmt::format("--method {}: expected finite scores, found some that are not; the model's weights are "
                            "damaged or overflow in float32",
                            method));
  }
  const std::size_t n = scores.size();
  return {{1, n}, std::move(scores)};
}

template <typename Question>
MethodScores scores_of(Method method, const Question& question, const std::optional<BlankOut>& blanked) {
  MethodScores found{.method = method, .sums = {{}}};
  ScoreSum& sum = found.sums.front();
  std::vector<double> scores;
  switch (method) {
    case Method::kBlankOut:
      scores = blanked ? blanked->scores() : blank_out(question).scores();
      break;
    case Method::kGradientTimesInput:
      scores = gradient_times_input_scores(question, BackwardRule::kGradient);
      break;
    case Method::kAttnLrp:
      scores = gradient_times_input_scores(question, BackwardRule::kAttnLrp);
      break;
    case Method::kIntegratedGradients: {
      IntegratedGradients integrated = integrated_gradients(question);
      scores = std::move(integrated.scores);
      sum.total = integrated.change;
      break;
    }
    case Method::kLogit:
    case Method::kAltiLogit: {
      LogitScores shared = method == Method::kLogit ? logit_scores(question) : alti_logit_scores(question);
      scores = std::move(shared.scores);
      sum.parts = std::move(shared.parts);
      sum.total = shared.value;
      break;
    }
    default:
      throw Error(ErrorKind::kUsage,
                  fmt::format("--method {}: expected a method beside the graph, found none", to_text(method)));
  }
  found.values = score_row(std::move(scores), method_info(method).name);
  return found;
}

// What a map says of the tokens, [n]; nothing where the report does not hold it.
struct Map {
  std::optional<std::size_t> layer;
  std::vector<double> values;
  std::vector<double> gaps;    // of flow
  bool is_for_target = false;  // larger speaks for the target, not just of it
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
  for (std::size_t j = 0; j < found.values->extent(2); ++j) {
    map.values.push_back((*found.values)(last, *row, j));
    if (method == Method::kFlow && !report.flow_gap.empty()) map.gaps.push_back(report.flow_gap(last, *row, j));
  }
  return map;
}

template <typename Question>
void score_all(Report& report, const Question& question) {
  const bool asked = report.settings.wants(Method::kBlankOut);
  const double work = report.settings.explains_prediction() ? kAgreementWork : kCheckWork;
  const std::size_t n = question.groups.size();
  std::size_t tokens = 0;
  for (const std::vector<std::size_t>& group : question.groups) tokens += group.size();
  std::optional<BlankOut> blanked;
  if (question.blanked && (asked || agreement_is_cheap(question.model.info(), tokens, n, work))) {
    blanked = blank_out(question);
  }
  for (const Method method : report.settings.methods) {
    if (!method_info(method).aggregates()) report.scores.push_back(scores_of(method, question, blanked));
  }
  note_integration_error(report.scores, question.steps, report.notes);
  if (!blanked) return;
  report.agreement = blank_out_agreement(report, report.output_token, *blanked, question);
  note_agreement(*report.agreement, report.input, report.notes);
}

}  // namespace

template <typename Input>
void check_methods(const Settings& settings, ModelOf<Input>& model, std::size_t steps) {
  for (const Method method : settings.methods) {
    const MethodInfo& info = method_info(method);
    if (info.aggregates()) continue;
    if (model.info().head == ModelHead::kNone) {
      throw Error(ErrorKind::kUnsupportedModel,
                  fmt::format("--method {}: expected a model that predicts something (a class, a token), found {}, "
                              "which has no head; choose such a model, or raw, rollout or flow",
                              info.name, model.info().name));
    }
    if (!info.needs_gradients()) continue;
    if (info.needs == MethodNeeds::kLayers) check_logit_scores(model.info(), method);
    if (method == Method::kIntegratedGradients) check_integration_steps(steps);
    if (method == Method::kIntegratedGradients && !gradients_of(model).takes_embeddings()) {
      throw Error(ErrorKind::kUnsupportedModel,
                  fmt::format("--method {}: expected a model whose gradients can be taken at other embeddings than the "
                              "input's, found {}, whose backend has none; use attnlrp, gradient-x-input or blank-out",
                              info.name, model.info().name));
    }
    gradients_of(model);
  }
}

template void check_methods(const Settings& settings, ModelOf<TextInput>& model, std::size_t steps);
template void check_methods(const Settings& settings, ModelOf<PixelInput>& model, std::size_t steps);

bool agreement_is_cheap(const ModelInfo& info, std::size_t tokens, std::size_t groups, double work) {
  const double runs = static_cast<double>(groups) + 1.0;
  return 2.0 * static_cast<double>(info.parameters) * static_cast<double>(tokens) * runs <= work;
}

std::string target_quantity(ScoreTarget::Kind kind) {
  switch (kind) {
    case ScoreTarget::Kind::kLogit:
      return "logit";
    case ScoreTarget::Kind::kLogitDifference:
      return "logit difference";
    case ScoreTarget::Kind::kLogitAgainstRest:
      return "logit above the others' mean";
    case ScoreTarget::Kind::kProbability:
      return "probability";
    case ScoreTarget::Kind::kProbabilityDifference:
      break;
  }
  return "difference of probabilities";
}

namespace {

template <typename Question>
BlankOutAgreement agreement_of(const Report& report, std::size_t output_token, const BlankOut& found,
                               const Question& question) {
  BlankOutAgreement agreement{
      .quantity = question.quantity.empty() ? target_quantity(question.target.kind) : question.quantity,
      .value = found.value,
      .blank = question.blank,
      .maps = {}};
  const std::optional<std::size_t> position = question.target.position;
  std::vector<bool> excluded(report.input.tokens.size(), false);  // of what rankings leave out
  if (report.generation) {
    for (const ExcludedTokens& rule : report.generation->excluded) {
      for (const std::size_t j : rule.tokens) excluded[j] = true;
    }
  }
  std::vector<std::size_t> compared;
  for (std::size_t j = 0; j < report.input.tokens.size(); ++j) {
    const std::vector<std::size_t>& group = question.groups[j];
    const bool is_mask = position && !report.model.causal &&
                         std::find(group.begin(), group.end(), *position) != group.end();  // what is predicted
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
    const bool sink = method_info(method).aggregates() && sets_first_aside(report, map->values);
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

}  // namespace

BlankOutAgreement blank_out_agreement(const Report& report, std::size_t output_token, const BlankOut& found,
                                      const TextQuestion& question) {
  return agreement_of(report, output_token, found, question);
}
BlankOutAgreement blank_out_agreement(const Report& report, std::size_t output_token, const BlankOut& found,
                                      const ImageQuestion& question) {
  return agreement_of(report, output_token, found, question);
}

void note_integration_error(const std::vector<MethodScores>& all, std::size_t steps, std::vector<Note>& notes) {
  constexpr double kMuch = 0.1;
  double most = 0.0;
  for (const MethodScores& scores : all) {
    if (scores.method != Method::kIntegratedGradients) continue;
    for (std::size_t p = 0; p < scores.sums.size(); ++p) {
      const double total = std::abs(scores.sums[p].total.value_or(0.0));
      if (total > 0.0) most = std::max(most, std::abs(scores.error(p)) / total);
    }
  }
  if (most > kMuch) notes.push_back({NoteCode::kIntegrationError, {{"steps", steps}, {"share", most}}});
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

MethodScores method_scores(Method method, const TextQuestion& question, const std::optional<BlankOut>& blanked) {
  return scores_of(method, question, blanked);
}
MethodScores method_scores(Method method, const ImageQuestion& question, const std::optional<BlankOut>& blanked) {
  return scores_of(method, question, blanked);
}

void score_methods(Report& report, const TextQuestion& question) { score_all(report, question); }
void score_methods(Report& report, const ImageQuestion& question) { score_all(report, question); }

}  // namespace attnflow
