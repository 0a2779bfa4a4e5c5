#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_evidence.h"
#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/analysis/explain/prediction_target.h"
#include "attnflow/attribution/note.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_json_parts.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/wrap.h"

namespace attnflow {
namespace {

using Json = nlohmann::ordered_json;

// A row of the table for people: a method's mean over layers and its last layer, or a score.
struct TableRow {
  std::string name;
  const EvidenceCell* mean = nullptr;
  const EvidenceCell* last = nullptr;
};

std::vector<TableRow> table_rows(const EvidenceReport& report) {
  std::vector<TableRow> rows;
  for (const EvidenceCell& cell : report.cells) {
    std::string name = mixed_name(cell.method, cell.mixing, report.mixings);
    // A single variant needs no name.
    if (report.model.causal && cell.mixing == Mixing::kAttention)
      name += fmt::format(", {}", variant_name(cell.variant));
    if (cell.layer == 0) {
      rows.push_back({name, &cell, nullptr});
    } else {
      rows.back().last = &cell;  // layers come in increasing order
    }
  }
  return rows;
}

std::string value_text(const EvidenceCell* cell) {
  if (cell == nullptr) return "";
  return interval_words(cell->reciprocal_rank);
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
  if (next == kUsual) return what + " rather than the next ten";
  if (next == 1U) return what + " rather than the runner-up";
  if (next) return fmt::format("{} rather than the next {}", what, *next);
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

std::vector<std::string> remarks(const EvidenceReport& report) {
  std::vector<std::string> lines;
  for (const auto& [reason, count] : report.left_out) lines.push_back(fmt::format("Left out: {} ({}).", count, reason));
  for (std::string& text : impossible_texts(report.impossible)) lines.push_back(std::move(text));
  for (std::string& text : note_texts(report.notes)) lines.push_back(std::move(text));
  return lines;
}

const char* place_name(PlaceFrom from) { return from == PlaceFrom::kStart ? "start" : "end"; }

Json difference_json(const Summary& s) { return {{"mean", s.mean}, {"low", s.low}, {"high", s.high}}; }

// The cell that ranks a row: its last layer's, or its only one.
const EvidenceCell& judged(const TableRow& row) { return row.last == nullptr ? *row.mean : *row.last; }

std::string difference_text(const Summary& s) { return s.count == 0 ? std::string() : difference_words(s); }

}  // namespace

std::string evidence_json(const EvidenceReport& report) {
  Json cells = Json::array();
  for (const EvidenceCell& cell : report.cells) {
    const Summary& s = cell.reciprocal_rank;
    cells.push_back({{"method", cell.method},
                     {"mixing", mixing_json(cell.mixing)},
                     {"variant", variant_name(cell.variant)},
                     {"layer", cell.layer == 0 ? Json("mean") : Json(cell.layer)},
                     {"mean", s.mean},
                     {"std", s.std},
                     {"low", s.low},
                     {"high", s.high},
                     {"count", s.count}});
    if (cell.method == "random") continue;
    Json& last = cells.back();
    last["positional"] = {{"mean", cell.positional_rank}, {"from", place_name(cell.place_from)}};
    last["above_position"] = difference_json(cell.above_position);
    last["above_chance"] = difference_json(cell.above_chance);
  }
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
                        {"settings",
                         {{"method", to_texts(report.settings.methods)},
                          {"mixing", to_texts(report.mixings)},
                          {"against", report.settings.against},
                          {"heads", to_text(report.settings.heads)},
                          {"residual", report.settings.residual},
                          {"start_layer", report.settings.start_layer},
                          {"layers", report.settings.layers},
                          {"begin", report.begin},
                          {"seed", report.seed}}},
                        {"samples", std::move(samples)},
                        {"impossible_mixings", report.impossible},
                        {"measure", "mean reciprocal rank"},
                        {"cells", std::move(cells)},
                        {"notes", internal::notes_json(report.notes)}});
}

std::string evidence_csv(const EvidenceReport& report) {
  std::string out = "method,mixing,variant,layer,mean,std,low,high,count,positional,above_position,above_chance\n";
  for (const EvidenceCell& cell : report.cells) {
    const Summary& s = cell.reciprocal_rank;
    const auto text = [](double value) { return std::isfinite(value) ? fmt::format("{}", value) : std::string(); };
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}\n", cell.method, mixing_text(cell.mixing),
                       variant_name(cell.variant), cell.layer == 0 ? "mean" : fmt::format("{}", cell.layer),
                       text(s.mean), text(s.std), text(s.low), text(s.high), s.count, text(cell.positional_rank),
                       text(cell.above_position.mean), text(cell.above_chance.mean));
  }
  return out;
}

std::string evidence_markdown(const EvidenceReport& report) {
  std::string out = fmt::format("# Does the method find the deciding word?\n\n{}\n\n", evidence_about(report));
  out +=
      "Mean reciprocal rank of the deciding word among the words of the text (1: always first), with a bootstrap 95% "
      "interval. The last two columns show how far the last layer's value lies above that of ranking by position alone "
      "(by the method's mean at each position), and above chance.\n\n"
      "| ranked by | mean over layers | last layer | above position | above chance |\n"
      "| --- | ---: | ---: | ---: | ---: |\n";
  for (const TableRow& row : table_rows(report)) {
    out += fmt::format("| {} | {} | {} | {} | {} |\n", row.name, value_text(row.mean), value_text(row.last),
                       difference_text(judged(row).above_position), difference_text(judged(row).above_chance));
  }
  for (const std::string& line : remarks(report)) out += "\n" + line + "\n";
  return out;
}

std::string evidence_table(const EvidenceReport& report, std::size_t width) {
  const std::vector<TableRow> rows = table_rows(report);
  std::size_t name_cells = 10;
  for (const TableRow& row : rows) name_cells = std::max(name_cells, row.name.size());
  std::string out =
      internal::paragraph(evidence_about(report), width) + "\n" +
      internal::paragraph("Mean reciprocal rank of the deciding word (1: always first), 95% interval", width);
  out += fmt::format("{:<{}}  {:<24}  {:<24}  {}\n", "ranked by", name_cells, "mean over layers", "last layer",
                     "above position alone");
  for (const TableRow& row : rows) {
    out += internal::without_trailing_spaces(fmt::format("{:<{}}  {:<24}  {:<24}  {}", row.name, name_cells,
                                                         value_text(row.mean), value_text(row.last),
                                                         difference_text(judged(row).above_position))) +
           "\n";
  }
  for (const std::string& line : remarks(report)) out += internal::paragraph(line, width);
  return out;
}

void write_evidence(const std::filesystem::path& path, const EvidenceReport& report) {
  write_evaluation(path, report, evidence_json, evidence_csv, evidence_markdown);
}

}  // namespace attnflow
