#include "attnflow/draw/html.h"

#include <string_view>

#include "attnflow/draw/page/page_bytes.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/utf8.h"
#include "attnflow/report/report_json.h"

namespace attnflow {
namespace {

// Leaves room for the page itself below 3 MB.
constexpr std::size_t kMostFloat32Bytes = 2'600'000;
constexpr std::size_t kTitleCharacters = 60;

std::string_view bytes(const unsigned char* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The beginning of the text, for the browser's tab: escaped, on one line, valid UTF-8.
std::string title(const Report& report) {
  const std::string& source = !report.input.text.empty() ? report.input.text : report.model.name;
  std::string out = "attnflow";
  if (source.empty()) return out;
  out += ": ";
  std::size_t characters = 0;
  for (std::size_t at = 0; at < source.size();) {
    if (characters++ == kTitleCharacters) return out + "\xe2\x80\xa6";  // an ellipsis
    const char32_t c = internal::next_code_point(source, at).value_or(internal::kReplacementCharacter);
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        internal::append_utf8(out, c < 0x20 || c == 0x7f ? U' ' : c);
    }
  }
  return out;
}

std::string page_json(const Report& report) {
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
  const std::string_view before_title = bytes(internal::page_before_title, internal::page_before_title_size);
  const std::string_view before_report = bytes(internal::page_before_report, internal::page_before_report_size);
  const std::string_view after_report = bytes(internal::page_after_report, internal::page_after_report_size);
  const std::string json = page_json(report);
  std::string out;
  out.reserve(before_title.size() + before_report.size() + after_report.size() + json.size() + 400);
  out += before_title;
  out += title(report);
  out += before_report;
  out += json;
  out += after_report;
  return out;
}

void write_html(const std::filesystem::path& path, const Report& report) { write_file(path, report_html(report)); }

}  // namespace attnflow
