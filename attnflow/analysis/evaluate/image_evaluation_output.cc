#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_image.h"
#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
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

Json image_comparison_json(const PairedComparison& comparison) {
  Json json = summary_json(comparison.difference);
  json["sign_flip_p"] = comparison.sign_flip_p;
  return json;
}

std::string image_evaluation_about(const ImageEvaluationReport& report) {
  std::string text = fmt::format("{} ({}, {} layers), {} of {} images from {}", clean_line(report.model.name),
                                 clean_line(report.model.architecture), report.model.layers, report.scored,
                                 report.available, clean_line(report.source));
  if (report.patches != 0) text += fmt::format(", {} patches each", report.patches);
  text += fmt::format(". The {} class has a probability of {:.3f} on average, {:.3f} when every patch is {}.",
                      report.scored_class == "own" ? "images' own" : "predicted", report.probability,
                      report.blank_probability, report.blank == "black" ? "black" : "the mean color");
  if (report.with_label > 0) {
    text += fmt::format(" The model is right about {}.", part_words(report.right, report.with_label));
  }
  return text;
}

// A row for each order that is compared with the usual one.
TextTable gradient_table(const ImageEvaluationReport& report) {
  TextTable table{{{"ordered by", Align::kLeft}, {"deletion"}, {"insertion"}}};
  for (const ImageOrderCurves& curve : report.curves) {
    if (!curve.deletion.from_gradient) continue;
    table.rows.push_back({mixed_name(curve.method, curve.mixing, report.mixings),
                          difference_words(curve.deletion.from_gradient->difference),
                          difference_words(curve.insertion.from_gradient->difference)});
  }
  return table;
}

TextTable area_table(const ImageEvaluationReport& report) {
  TextTable table{
      {{"ordered by", Align::kLeft}, {"deletion"}, {"insertion"}, {"deletion from random"}, {"insertion from random"}}};
  for (const ImageOrderCurves& curve : report.curves) {
    const bool random = curve.method == "random";
    table.rows.push_back({mixed_name(curve.method, curve.mixing, report.mixings), interval_words(curve.deletion.area),
                          interval_words(curve.insertion.area),
                          random ? "" : difference_words(curve.deletion.from_random.difference),
                          random ? "" : difference_words(curve.insertion.from_random.difference)});
  }
  return table;
}

constexpr const char* kWhat =
    "Area under the curve of the class's probability as patches are removed, most important first (deletion: lower is "
    "better), and as they are put back, most important first (insertion: higher is better), with bootstrap 95% "
    "intervals";

constexpr const char* kFromGradient = "Difference from rollout over gradient on the same images";

}  // namespace

std::string evaluation_json(const ImageEvaluationReport& report) {
  Json curves = Json::array();
  for (const ImageOrderCurves& curve : report.curves) {
    curves.push_back({{"method", curve.method},
                      {"mixing", mixing_json(curve.mixing)},
                      {"deletion_area", summary_json(curve.deletion.area)},
                      {"insertion_area", summary_json(curve.insertion.area)},
                      {"deletion_from_random", image_comparison_json(curve.deletion.from_random)},
                      {"insertion_from_random", image_comparison_json(curve.insertion.from_random)},
                      {"deletion", curve.deletion.values},
                      {"insertion", curve.insertion.values}});
    if (curve.deletion.from_gradient) {
      curves.back()["deletion_from_gradient"] = image_comparison_json(*curve.deletion.from_gradient);
      curves.back()["insertion_from_gradient"] = image_comparison_json(*curve.insertion.from_gradient);
    }
  }
  Json settings = internal::settings_json(report.settings, kForImageCurves);
  settings.erase("layers");
  settings.update({{"layer", report.settings.layers.back()},
                   {"mixing", to_texts(report.mixings)},
                   {"discard", report.settings.discard},
                   {"class", report.scored_class},
                   {"blank", report.blank},
                   {"seed", report.seed}});
  return document_text({{"format", "attnflow-image-evaluation"},
                        {"version", 2},
                        {"source", report.source},
                        {"model", internal::named_model_json(report.model)},
                        {"settings", std::move(settings)},
                        {"pictures",
                         {{"available", report.available},
                          {"scored", report.scored},
                          {"with_label", report.with_label},
                          {"right", report.right},
                          {"patches", report.patches},
                          {"probability", report.probability},
                          {"blank_probability", report.blank_probability}}},
                        {"removed", report.removed},
                        {"impossible_mixings", report.impossible},
                        {"curves", std::move(curves)},
                        {"notes", internal::notes_json(report.notes)}});
}

std::string evaluation_csv(const ImageEvaluationReport& report) {
  Json points = Json::array();
  for (const ImageOrderCurves& curve : report.curves) {
    for (std::size_t j = 0; j < report.removed.size(); ++j) {
      points.push_back({{"method", curve.method},
                        {"mixing", mixing_json(curve.mixing)},
                        {"removed", report.removed[j]},
                        {"deletion", curve.deletion.values[j]},
                        {"insertion", curve.insertion.values[j]}});
    }
  }
  return records_csv(points, {"method", "mixing", "removed", "deletion", "insertion"});
}

std::string evaluation_markdown(const ImageEvaluationReport& report) {
  std::string out = fmt::format("# Which method finds the patches that the class depends on?\n\n{}\n\n{}.\n\n{}",
                                image_evaluation_about(report), kWhat, internal::markdown_text(area_table(report)));
  const TextTable from_gradient = gradient_table(report);
  if (!from_gradient.rows.empty()) {
    out += fmt::format("\n{}:\n\n{}", kFromGradient, internal::markdown_text(from_gradient));
  }
  for (const std::string& line : remarks(report.impossible, report.notes)) out += "\n" + line + "\n";
  return out;
}

std::string evaluation_table(const ImageEvaluationReport& report, std::size_t width) {
  TextTable areas = area_table(report);
  areas.columns.resize(3);
  std::string out = internal::paragraph(image_evaluation_about(report), width) + "\n" +
                    internal::paragraph(kWhat, width) + internal::terminal_text(areas);
  const TextTable from_gradient = gradient_table(report);
  if (!from_gradient.rows.empty()) {
    out += "\n" + internal::paragraph(kFromGradient, width) + internal::terminal_text(from_gradient) + "\n";
  }
  for (const std::string& line : remarks(report.impossible, report.notes)) out += internal::paragraph(line, width);
  return out;
}

}  // namespace attnflow
