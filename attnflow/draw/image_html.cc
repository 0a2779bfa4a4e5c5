#include "attnflow/draw/image_html.h"

#include <fmt/format.h>

#include <cstddef>

#include "attnflow/base/error.h"
#include "attnflow/draw/html_page.h"
#include "attnflow/draw/page/page_bytes.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/compact_json.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_layers.h"

namespace attnflow {
namespace {

// Above this, numbers are float16 (3 digits).
constexpr std::size_t kMostFloat32Values = 480'000;
// Above this even so, layers are left out until they fit: a page of 60 MB still opens.
constexpr std::size_t kMostValues = 20'000'000;

std::size_t values_of(const Report& report) {
  return report.raw.size() + report.rollout.size() + report.flow.size() + report.flow_degenerate.size();
}

// The part of the report that fits into a page.
Report shrunk(const Report& report) {
  Report smaller = report;
  smaller.graph = {};
  smaller.attention = {};
  const std::size_t layers = report.settings.layers.size();
  while (values_of(smaller) > kMostValues && smaller.settings.layers.size() > 1) internal::halve_layers(&smaller);
  smaller.notes.push_back(
      fmt::format("This page leaves out {} of the {} layers, for which there is no room in it; a json or npz file has "
                  "all numbers.",
                  layers - smaller.settings.layers.size(), layers));
  return smaller;
}

std::string page_json(const Report& report) {
  if (internal::pages_are_compact()) return compact_report_json(report);
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
