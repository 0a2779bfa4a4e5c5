#include "attnflow/draw/image_html.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/draw/html_page.h"
#include "attnflow/draw/page/page_bytes.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/report_json.h"

namespace attnflow {
namespace {

// Above this, numbers are float16 (3 digits).
constexpr std::size_t kMostFloat32Values = 480'000;
// Above this even so, layers are left out until they fit: a page of 60 MB still opens.
constexpr std::size_t kMostValues = 20'000'000;

std::size_t values_of(const Report& report) {
  return report.raw.size() + report.rollout.size() + report.flow.size() + report.flow_degenerate.size();
}

// Every other layer, with the last: which they are, and their part of an array [layer, output_token, input_token].
std::vector<std::size_t> every_other(std::size_t layers) {
  std::vector<std::size_t> kept;
  for (std::size_t l = 1 - layers % 2; l < layers; l += 2) kept.push_back(l);
  return kept;
}

template <typename T>
Tensor<T> layers_of(const Tensor<T>& values, const std::vector<std::size_t>& layers) {
  if (values.empty()) return {};
  Shape shape = values.shape();
  const std::size_t size = values.size() / shape.front();
  shape.front() = layers.size();
  Tensor<T> kept(shape);
  for (std::size_t l = 0; l < layers.size(); ++l) {
    std::copy_n(values.data() + layers[l] * size, size, kept.data() + l * size);
  }
  return kept;
}

void halve_layers(Report* report) {
  const std::vector<std::size_t> kept = every_other(report->settings.layers.size());
  std::vector<std::size_t> layers;
  for (const std::size_t l : kept) layers.push_back(report->settings.layers[l]);
  report->settings.layers = layers;
  for (Tensor<double>* values : {&report->raw, &report->rollout, &report->flow, &report->flow_gap}) {
    *values = layers_of(*values, kept);
  }
  report->flow_degenerate = layers_of(report->flow_degenerate, kept);
}

// The part of the report that fits into a page.
Report shrunk(const Report& report) {
  Report smaller = report;
  smaller.graph = {};
  smaller.attention = {};
  const std::size_t layers = report.settings.layers.size();
  while (values_of(smaller) > kMostValues && smaller.settings.layers.size() > 1) halve_layers(&smaller);
  smaller.notes.push_back(
      fmt::format("This page leaves out {} of the {} layers, for which there is no room in it; a json or npz file has "
                  "all numbers.",
                  layers - smaller.settings.layers.size(), layers));
  return smaller;
}

std::string page_json(const Report& report) {
  const std::size_t values = values_of(report);
  ReportJsonOptions options;
  options.attention = false;
  options.omit = {"graph"};
  options.array_type = ReportArrayType::kF32;
  if (values > kMostFloat32Values) {
    options.array_type = ReportArrayType::kF16;
    options.omit.emplace_back("flow_gap");
  }
  if (values > kMostValues && report.settings.layers.size() > 1) return report_to_json(shrunk(report), options);
  return report_to_json(report, options);
}

}  // namespace

std::string image_html(const Report& report) {
  if (!report.input.image) {
    throw Error(ErrorKind::kUsage,
                "expected the report of a picture for its page, found one of kind '" + report.input.kind + "'");
  }
  const internal::PageBytes page{
      .before_title = {internal::image_page_before_title, internal::image_page_before_title_size},
      .before_report = {internal::image_page_before_report, internal::image_page_before_report_size},
      .after_report = {internal::image_page_after_report, internal::image_page_after_report_size}};
  const std::string& name = report.input.image->name;
  return internal::fill_page(page, name.empty() ? report.model.name : name, page_json(report));
}

void write_image_html(const std::filesystem::path& path, const Report& report) { write_file(path, image_html(report)); }

}  // namespace attnflow
