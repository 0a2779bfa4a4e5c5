#include "attnflow/draw/generation_html.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <vector>

#include "attnflow/draw/html_page.h"
#include "attnflow/draw/page/page_bytes.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/compact_json.h"
#include "attnflow/report/generation_output.h"
#include "attnflow/report/report_layers.h"

namespace attnflow {
namespace {

using internal::PageBytes;

// Above this, numbers are float16 (3 digits).
constexpr std::size_t kMostFloat32Values = 480'000;
// Above this even so, numbers are left out until they fit: a page of 64 MB still opens.
constexpr std::size_t kMostValues = 20'000'000;

void count_values(const GenerationValues& values, std::size_t* count) {
  *count += values.prompt.size() + values.generated.size() + values.normalized.size();
}

std::size_t values_of(const GenerationReport& report) {
  std::size_t count = 2 * report.flow_gap.size();
  for (const GenerationValues* values : {&report.raw, &report.rollout, &report.flow}) count_values(*values, &count);
  return count;
}

// Takes numbers out of a generation that is too large for a page, what is needed least first, and says so in its notes.
void shrink(GenerationReport* report) {
  std::vector<std::string> gone;
  const auto is_large = [&] { return values_of(*report) > kMostValues; };
  const auto drop = [&](Tensor<double> GenerationValues::*tensor, const char* what) {
    if (!is_large()) return;
    const std::size_t before = values_of(*report);
    for (GenerationValues* values : {&report->raw, &report->rollout, &report->flow}) values->*tensor = {};
    if (values_of(*report) < before) gone.emplace_back(what);
  };
  drop(&GenerationValues::generated, "the columns of generated tokens");
  drop(&GenerationValues::normalized, "normalised values");
  if (is_large() && !report->raw.prompt.empty() && !report->rollout.prompt.empty()) {
    report->raw = {};
    gone.emplace_back("raw attention");
  }
  const std::size_t layers = report->settings.layers.size();
  while (is_large() && report->settings.layers.size() > 1) internal::halve_layers(report);
  if (report->settings.layers.size() < layers) {
    gone.push_back(fmt::format("{} of the {} layers", layers - report->settings.layers.size(), layers));
  }
  if (gone.empty()) return;
  report->notes.push_back("This page leaves out " + internal::joined(gone) +
                          ", for which there is no room in it; a json or npz file has all numbers.");
}

std::string page_json(const GenerationReport& report) {
  if (internal::pages_are_compact()) return compact_generation_json(report);
  const std::size_t values = values_of(report);
  ReportJsonOptions options;
  options.array_type = values > kMostFloat32Values ? ReportArrayType::kF16 : ReportArrayType::kF32;
  if (values <= kMostValues) return generation_to_json(report, options);
  GenerationReport smaller = report;
  shrink(&smaller);
  return generation_to_json(smaller, options);
}

}  // namespace

std::string generation_to_html(const GenerationReport& report) {
  const std::string json = page_json(report);
  const PageBytes page{
      .before_title = {internal::generation_page_before_title, internal::generation_page_before_title_size},
      .before_report = {internal::generation_page_before_report, internal::generation_page_before_report_size},
      .after_report = {internal::generation_page_after_report, internal::generation_page_after_report_size}};
  return internal::fill_page(page, report.prompt.empty() ? report.model.name : report.prompt, json);
}

void write_generation_html(const std::filesystem::path& path, const GenerationReport& report) {
  write_file(path, generation_to_html(report));
}

}  // namespace attnflow
