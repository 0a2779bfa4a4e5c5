// The report document as JSON: format "attnflow-report" (docs/report-format.md lists every field). Documents written
// here are exact; compact_json.h writes smaller ones for pages. Both are read, as are older versions.
//
// Writing is deterministic: the same report gives the same bytes, in UTF-8 that is safe inside an HTML <script>
// element: '<', U+2028 and U+2029 are escaped. In strings that are not UTF-8 each wrong byte becomes '?', which keeps
// tokens' byte ranges.
//
// Reading trusts nothing: sizes are checked before they are multiplied or allocated, nesting is limited, and every
// array must have the shape that the other fields imply. Any defect throws Error(kBadFile) with its place in the
// document, the expected and the found value. Unknown fields are ignored; missing fields have the defaults of report.h,
// except `format`, `version`, `input.tokens` and what the arrays need. A newer version is refused.
//
// References:
//   JSON: https://www.rfc-editor.org/rfc/rfc8259
//
// Example:
//
//     const std::string json = report_to_json(report);  // every bit
//     assert(report_from_json(json).rollout == report.rollout);
//     write_report_json("report.json", report, {.array_type = ReportArrayType::kF32});
//     const Report rounded = read_report_json("report.json");
//     assert(std::abs(rounded.rollout(0, 0, 1) - report.rollout(0, 0, 1)) < 1e-7);
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/report/report.h"

namespace attnflow {

// How floating-point arrays are stored. f64 keeps every bit of raw, rollout, flow, flow_gap and graph (attention is
// float32 and never stored wider). f32 and f16 round to nearest, ties to even, which limits the precision of an
// enclosure [flow, flow + flow_gap].
enum class ReportArrayType { kF64, kF32, kF16 };

struct ReportJsonOptions {
  ReportArrayType array_type = ReportArrayType::kF64;
  bool attention = true;  // write `attention` when the report has it
  std::vector<std::string> omit =
      {};  // names of arrays to leave out: raw, rollout, flow, flow_gap, flow_degenerate, graph
};

// Omits `graph` if it equals `raw` and the reader can tell: all layers, all output tokens, heads not a single head.
std::string report_to_json(const Report& report, const ReportJsonOptions& options = {});

struct ReportReadOptions {
  // Limit for all compressed and compact arrays when expanded, since a few hostile bytes could stand for any amount: 16
  // GiB, or the machine's available memory if less.
  std::size_t max_array_bytes = std::size_t{16} << 30;
};

// The inverse. With kF64 and nothing omitted the result equals the report bit by bit, except for a `graph` that was
// empty while `raw` implies it. A compact document yields approximate values, with exact rows where it has them and
// means in place of dropped values. Throws Error(kBadFile).
Report report_from_json(std::string_view json, const ReportReadOptions& options = {});

// As above, for files; errors name the path. Writes a complete file or none.
void write_report_json(const std::filesystem::path& path, const Report& report, const ReportJsonOptions& options = {});
Report read_report_json(const std::filesystem::path& path, const ReportReadOptions& options = {});

}  // namespace attnflow
