#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_image.h"
#include "attnflow/analysis/evaluate/evaluation_file.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/attribution/note.h"
#include "attnflow/report/note_json.h"
#include "attnflow/report/report_json_parts.h"
#include "attnflow/unicode/display_width.h"
#include "attnflow/words/wrap.h"

namespace attnflow {
namespace {

using Json = nlohmann::ordered_json;

Json summary_json(const Summary& s) { return {{"mean", s.mean}, {"std", s.std}, {"low", s.low}, {"high", s.high}}; }

Json image_comparison_json(const PairedComparison& c) {
  Json json = summary_json(c.difference);
  json["sign_flip_p"] = c.sign_flip_p;
  return json;
}

std::string difference_text(const PairedComparison& c) { return difference_words(c.difference); }

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

std::string order_name(const ImageEvaluationReport& report, const ImageOrderCurves& curve) {
  return mixed_name(curve.method, curve.mixing, report.mixings);
}

bool compares_with_gradient(const ImageEvaluationReport& report) {
  return std::any_of(report.curves.begin(), report.curves.end(),
                     [](const ImageOrderCurves& curve) { return curve.deletion.from_gradient.has_value(); });
}

std::vector<std::string> remarks_of(const ImageEvaluationReport& report) {
  std::vector<std::string> lines = impossible_texts(report.impossible);
  for (std::string& text : note_texts(report.notes)) lines.push_back(std::move(text));
  return lines;
}

constexpr const char* kWhat =
    "Area under the curve of the class's probability as patches are removed, most important first (deletion: lower is "
    "better), and as they are put back, most important first (insertion: higher is better), with bootstrap 95% "
    "intervals";

constexpr const char* kFromGradient = "Difference from rollout over gradient on the same images";

}  // namespace

std::string image_evaluation_json(const ImageEvaluationReport& report) {
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
  return document_text({{"format", "attnflow-image-evaluation"},
                        {"version", 2},
                        {"source", report.source},
                        {"model", internal::named_model_json(report.model)},
                        {"settings",
                         {{"method", to_texts(report.settings.methods)},
                          {"mixing", to_texts(report.mixings)},
                          {"heads", to_text(report.settings.heads)},
                          {"residual", report.settings.residual},
                          {"layer", report.settings.layers.back()},
                          {"start_layer", report.settings.start_layer},
                          {"mask_columns", to_text(report.settings.column_mask)},
                          {"discard", report.settings.discard},
                          {"class", report.scored_class},
                          {"blank", report.blank},
                          {"seed", report.seed}}},
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

std::string image_evaluation_csv(const ImageEvaluationReport& report) {
  std::string out = "method,mixing,removed,deletion,insertion\n";
  for (const ImageOrderCurves& curve : report.curves) {
    for (std::size_t j = 0; j < report.removed.size(); ++j) {
      out += fmt::format("{},{},{},{},{}\n", curve.method, mixing_text(curve.mixing), report.removed[j],
                         curve.deletion.values[j], curve.insertion.values[j]);
    }
  }
  return out;
}

std::string image_evaluation_markdown(const ImageEvaluationReport& report) {
  std::string out = fmt::format("# Which method finds the patches that the class depends on?\n\n{}\n\n{}.\n\n",
                                image_evaluation_about(report), kWhat);
  out += "| ordered by | deletion | from random | insertion | from random |\n| --- | ---: | ---: | ---: | ---: |\n";
  for (const ImageOrderCurves& curve : report.curves) {
    const bool random = curve.method == "random";
    out += fmt::format("| {} | {} | {} | {} | {} |\n", order_name(report, curve), interval_words(curve.deletion.area),
                       random ? "" : difference_text(curve.deletion.from_random), interval_words(curve.insertion.area),
                       random ? "" : difference_text(curve.insertion.from_random));
  }
  if (compares_with_gradient(report)) {
    out += fmt::format("\n{}:\n\n| ordered by | deletion | insertion |\n| --- | ---: | ---: |\n", kFromGradient);
    for (const ImageOrderCurves& curve : report.curves) {
      if (!curve.deletion.from_gradient) continue;
      out +=
          fmt::format("| {} | {} | {} |\n", order_name(report, curve), difference_text(*curve.deletion.from_gradient),
                      difference_text(*curve.insertion.from_gradient));
    }
  }
  for (const std::string& line : remarks_of(report)) out += "\n" + line + "\n";
  return out;
}

std::string image_evaluation_table(const ImageEvaluationReport& report, std::size_t width) {
  std::size_t name_cells = 10;
  for (const ImageOrderCurves& curve : report.curves)
    name_cells = std::max(name_cells, order_name(report, curve).size());
  const auto row = [&](const std::string& name, const std::string& deletion, const std::string& insertion) {
    return fmt::format("{:<{}}  {:<26}  {}\n", name, name_cells, deletion, insertion);
  };
  std::string out = fmt::format("{}\n{}{}", internal::paragraph(image_evaluation_about(report), width),
                                internal::paragraph(kWhat, width), row("ordered by", "deletion", "insertion"));
  for (const ImageOrderCurves& curve : report.curves) {
    out += row(order_name(report, curve), interval_words(curve.deletion.area), interval_words(curve.insertion.area));
  }
  if (compares_with_gradient(report)) {
    out += fmt::format("\n{}{}", internal::paragraph(kFromGradient, width), row("ordered by", "deletion", "insertion"));
    for (const ImageOrderCurves& curve : report.curves) {
      if (!curve.deletion.from_gradient) continue;
      out += row(order_name(report, curve), difference_text(*curve.deletion.from_gradient),
                 difference_text(*curve.insertion.from_gradient));
    }
    out += '\n';
  }
  for (const std::string& line : remarks_of(report)) out += internal::paragraph(line, width);
  return out;
}

void write_image_evaluation(const std::filesystem::path& path, const ImageEvaluationReport& report) {
  write_evaluation(path, report, image_evaluation_json, image_evaluation_csv, image_evaluation_markdown);
}

}  // namespace attnflow
