#include "attnflow/draw/html.h"

#include "attnflow/draw/html_page.h"
#include "attnflow/draw/page/page_bytes.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/compact_json.h"
#include "attnflow/report/report_json.h"

namespace attnflow {
namespace {

// Leaves room for the page itself below 3 MB.
constexpr std::size_t kMostFloat32Bytes = 2'600'000;

std::string page_json(const Report& report) {
  if (internal::pages_are_compact()) return compact_report_json(report);
  ReportJsonOptions options;
  options.array_type = ReportArrayType::kF32;
  options.attention = false;
  std::string json = report_to_json(report, options);
  if (json.size() > kMostFloat32Bytes) {
    options.array_type = ReportArrayType::kF16;
    options.omit = {"flow_gap"};
    json = report_to_json(report, options);
  }
  return json;
}

}  // namespace

std::string report_html(const Report& report) {
  const internal::PageBytes page{.before_title = {internal::page_before_title, internal::page_before_title_size},
                                 .before_report = {internal::page_before_report, internal::page_before_report_size},
                                 .after_report = {internal::page_after_report, internal::page_after_report_size}};
  return internal::fill_page(page, report.input.text.empty() ? report.model.name : report.input.text,
                             page_json(report));
}

void write_html(const std::filesystem::path& path, const Report& report) { write_file(path, report_html(report)); }

}  // namespace attnflow
