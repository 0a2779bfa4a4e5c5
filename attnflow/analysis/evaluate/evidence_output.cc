#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_evidence.h"
#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/analysis/text/prediction_target.h"
#include "attnflow/attribution/option.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_json_parts.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/text_table.h"
#include "attnflow/words/wrap.h"

namespace attnflow {
namespace {

using internal::Align;
using internal::TextTable;
using Json = nlohmann::ordered_json;

constexpr const char* kRanks =
    "Mean reciprocal rank of the deciding word among the words of the text (1: always first), with a bootstrap 95% "
    "interval. The last two columns show how far the last layer's value lies above that of ranking by position alone "
    "(by the method's mean at each position), and above chance.";

// "flow over relevance", "rollout over attention, first token masked".
std::string name_of_map(const EvidenceReport& report, const EvidenceCell& cell) {
  const std::string name = mixed_name(cell.method, cell.mixing, report.mixings);
  // A single variant needs no name.
  if (!report.model.causal || cell.mixing != Mixing::kAttention) return name;
  return fmt::format("{}, {}", name, variant_name(cell.variant));
}

// A row for a method's mean over layers and its last layer, or for a score.
TextTable rank_table(const EvidenceReport& report) {
  TextTable table{
      {{"ranked by", Align::kLeft}, {"mean over layers"}, {"last layer"}, {"above position alone"}, {"above chance"}}};
  for (const EvidenceCell& cell : report.cells) {
    const std::string name = name_of_map(report, cell);
    const std::string rank = interval_words(cell.reciprocal_rank);
    const bool is_mean = cell.layer == 0;  // followed by layers in increasing order
    const std::string mean = is_mean ? rank : table.rows.back()[1];
    if (!is_mean) table.rows.pop_back();
    table.rows.push_back(
        {name, mean, is_mean ? "" : rank, difference_words(cell.above_position), difference_words(cell.above_chance)});
  }
  return table;
}

// The cell with the highest mean among the wanted ones; null if there are none.
template <typename Wanted>
const EvidenceCell* best_of(const EvidenceReport& report, const Wanted& wanted) {
  const EvidenceCell* best = nullptr;
  for (const EvidenceCell& cell : report.cells) {
    if (wanted(cell) && (best == nullptr || cell.reciprocal_rank.mean > best->reciprocal_rank.mean)) best = &cell;
  }
  return best;
}

// Whether no later layer of the same map was scored.
bool is_last_layer(const EvidenceReport& report, const EvidenceCell& cell) {
  return std::ranges::none_of(report.cells, [&](const EvidenceCell& other) {
    return other.method == cell.method && other.mixing == cell.mixing && other.variant == cell.variant &&
           other.layer > cell.layer;
  });
}

// Which map finds the word that decides? Maps are compared at the last layer that each was computed for.
std::string answer_sentence(const EvidenceReport& report) {
  const EvidenceCell* const map =
      best_of(report, [&](const EvidenceCell& cell) { return cell.mixing && is_last_layer(report, cell); });
  const EvidenceCell* const score =
      best_of(report, [](const EvidenceCell& cell) { return !cell.mixing && cell.method != kChance; });
  const double chance = report.cells.back().reciprocal_rank.mean;
  if (map == nullptr) return "";
  const double mean = map->reciprocal_rank.mean;
  // Not so for NaN, which stands for an interval that few samples do not have.
  const bool is_chance = !(mean > chance) || map->above_chance.low <= 0.0;
  std::string text =
      is_chance ? fmt::format(
                      "The best map, {}, does not find the word that decides better than chance ({:.2f}): its mean "
                      "reciprocal rank at layer {} is {:.2f}",
                      name_of_map(report, *map), chance, map->layer, mean)
                : fmt::format(
                      "The map that finds the word that decides best is {}: its mean reciprocal rank at layer {} is "
                      "{:.2f}, where chance is {:.2f}",
                      name_of_map(report, *map), map->layer, mean, chance);
  if (score != nullptr) {
    text += fmt::format(". The best ranking beside the maps, {}, has {:.2f}", name_of_map(report, *score),
                        score->reciprocal_rank.mean);
  }
  return text + '.';
}

// "the right word rather than the wrong one", what the methods with a target explain.
std::string explained(const EvidenceReport& report) {
  const std::string& against = report.settings.against;
  std::string what = report.has_right ? "the right word" : "what the model predicts";
  if (against == "none") return what;
  if (against == "auto" && report.has_wrong) return what + " rather than the wrong one";
  if (against == "rest") return what + " rather than all others";
  constexpr std::size_t kUsual = 10;
  const auto next = against == "auto" ? kUsual : next_of(against);
  if (next == kUsual) return what + " rather than the ten most probable others";
  if (next == 1U) return what + " rather than the most probable other";
  if (next) return fmt::format("{} rather than the {} most probable others", what, *next);
  return fmt::format("{} rather than '{}'", what, clean_line(against));
}

std::string evidence_about(const EvidenceReport& report) {
  std::string text = fmt::format("{} ({}, {} layers), {} of {} samples, {:.1f} words ranked per sample.",
                                 clean_line(report.model.name), clean_line(report.model.architecture),
                                 report.model.layers, report.scored, report.available, report.words);
  if (report.has_right) {
    text += fmt::format(" The right word is more probable than {} in {}.",
                        report.has_wrong ? "the wrong one" : "all others", part_words(report.right, report.scored));
  }
  text += fmt::format(" Methods with a target explain {}.", explained(report));
  if (!report.begin.empty()) text += fmt::format(" Each prefix follows '{}'.", clean_line(report.begin));
  return text;
}

std::vector<std::string> remarks_of(const EvidenceReport& report) {
  std::vector<std::string> lines;
  for (const auto& [reason, count] : report.left_out) lines.push_back(fmt::format("Left out: {} ({}).", count, reason));
  for (std::string& text : remarks(report.impossible, report.notes)) lines.push_back(std::move(text));
  return lines;
}

const char* place_name(PlaceFrom from) { return from == PlaceFrom::kStart ? "start" : "end"; }

Json cells_json(const EvidenceReport& report) {
  Json cells = Json::array();
  for (const EvidenceCell& cell : report.cells) {
    Json& json = cells.emplace_back(Json{{"method", cell.method},
                                         {"mixing", mixing_json(cell.mixing)},
                                         {"variant", variant_name(cell.variant)},
                                         {"layer", cell.layer == 0 ? Json("mean") : Json(cell.layer)}});
    json.update(summary_json(cell.reciprocal_rank));
    if (cell.method == kChance) continue;
    json["positional"] = {{"mean", cell.positional_rank}, {"from", place_name(cell.place_from)}};
    json["above_position"] = summary_json(cell.above_position);
    json["above_chance"] = summary_json(cell.above_chance);
  }
  return cells;
}

}  // namespace

std::string evaluation_json(const EvidenceReport& report) {
  Json settings = internal::settings_json(report.settings, kForEvidence);
  settings.update({{"mixing", to_texts(report.mixings)}, {"begin", report.begin}, {"seed", report.seed}});
  Json samples = {{"available", report.available},
                  {"scored", report.scored},
                  {"left_out", report.left_out},
                  {"words", report.words},
                  {"evidence_is_first", report.evidence_is_first}};
  if (report.has_right) samples["right"] = report.right;
  return document_text({{"format", "attnflow-evidence"},
                        {"version", 3},
                        {"file", report.file},
                        {"model", internal::named_model_json(report.model)},
                        {"settings", std::move(settings)},
                        {"samples", std::move(samples)},
                        {"impossible_mixings", report.impossible},
                        {"measure", "mean reciprocal rank"},
                        {"cells", cells_json(report)},
                        {"notes", internal::notes_json(report.notes)}});
}

std::string evaluation_csv(const EvidenceReport& report) {
  return records_csv(cells_json(report), {"method", "mixing", "variant", "layer", "mean", "std", "low", "high", "count",
                                          "positional", "above_position", "above_chance"});
}

std::string evaluation_markdown(const EvidenceReport& report) {
  std::string out = "# Which map finds the word that decides?\n\n";
  if (const std::string answer = answer_sentence(report); !answer.empty()) {
    out += internal::markdown_escaped(answer) + "\n\n";
  }
  out += fmt::format("{}\n\n{}\n\n{}", evidence_about(report), kRanks, internal::markdown_text(rank_table(report)));
  for (const std::string& line : remarks_of(report)) out += "\n" + line + "\n";
  return out;
}

std::string evaluation_table(const EvidenceReport& report, std::size_t width) {
  TextTable table = rank_table(report);
  table.columns.pop_back();
  const std::string answer = answer_sentence(report);
  std::string out = answer.empty() ? "" : internal::paragraph(answer, width) + "\n";
  out += internal::paragraph(evidence_about(report), width) + "\n" +
         internal::paragraph("Mean reciprocal rank of the deciding word (1: always first), 95% interval", width) +
         internal::terminal_text(table);
  for (const std::string& line : remarks_of(report)) out += internal::paragraph(line, width);
  return out;
}

}  // namespace attnflow
