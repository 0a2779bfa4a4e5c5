#include "attnflow/draw/html.h"

#include "attnflow/draw/viewer_page.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/compact_json.h"

namespace attnflow {
namespace {

std::string title(const Report& report) {
  if (report.input.image && !report.input.image->name.empty()) return report.input.image->name;
  return report.input.text.empty() ? report.model.name : report.input.text;
}

}  // namespace

std::string report_html(const Report& report) { return viewer_page(title(report), compact_report_json(report)); }

void write_html(const std::filesystem::path& path, const Report& report) { write_file(path, report_html(report)); }

}  // namespace attnflow
