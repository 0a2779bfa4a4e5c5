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

std::string report_html(const Report& report, PageForm form) {
  const std::string json = compact_report_json(report);
  return form == PageForm::kEmbedded ? viewer_embedded_page(title(report), json) : viewer_page(title(report), json);
}

void write_html(const std::filesystem::path& path, const Report& report) { write_file(path, report_html(report)); }

}  // namespace attnflow
