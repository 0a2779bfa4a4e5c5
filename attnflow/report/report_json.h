// The report document as JSON: format "attnflow-report" (docs/report-format.md lists every field). What is written here
// is exact; compact_json.h writes documents of fewer bytes and digits, for pages. Both are read, and older versions.
//
// Writing is deterministic: the same report gives the same bytes. The text is valid UTF-8 and may stand inside an HTML
// <script> element as it is: '<', U+2028 and U+2029 are written as escapes. In strings that are not valid UTF-8 each
// wrong byte becomes '?', which keeps the byte ranges of tokens.
//
// Reading trusts nothing: sizes are checked before they are multiplied or allocated, nesting is limited, every array
// must have the shape that the other fields imply, and all that is wrong throws Error(kBadFile) with the place in the
// document, what was expected and what was found. Fields that the reader does not know are ignored; fields that are
// missing have the defaults of report.h, except `format`, `version`, `input.tokens` and what the arrays need. A
// document with a newer version is refused.
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
// float32 and never stored wider). f32 and f16 round to nearest, ties to even, so an enclosure [flow, flow + flow_gap]
// is then only good to that precision.
enum class ReportArrayType { kF64, kF32, kF16 };

struct ReportJsonOptions {
  ReportArrayType array_type = ReportArrayType::kF64;
  bool attention = true;  // write `attention` when the report has it
  std::vector<std::string> omit =
      {};  // names of arrays to leave out: raw, rollout, flow, flow_gap, flow_degenerate, graph
};

// `graph` is left out when it equals `raw` and the reader can see that it does: all layers, all output tokens, heads
// not a single head.
std::string report_to_json(const Report& report, const ReportJsonOptions& options = {});

struct ReportReadOptions {
  // What compressed and compact arrays may take together when they are expanded (a few bytes of a hostile document
  // could stand for any amount): 16 GiB, or what memory the machine has available when that is less.
  std::size_t max_array_bytes = std::size_t{16} << 30;
};

// The inverse. With kF64 and nothing omitted the result equals the report bit by bit, but for a `graph` that was empty
// while `raw` implies it. From a compact document come the values that it stands for: approximate ones, with exact rows
// where it has them, and the mean of what it sums up where it does not keep a value. Throws Error(kBadFile).
Report report_from_json(std::string_view json, const ReportReadOptions& options = {});

// Both for files; errors name the path. Writing leaves a complete file or none.
void write_report_json(const std::filesystem::path& path, const Report& report, const ReportJsonOptions& options = {});
Report read_report_json(const std::filesystem::path& path, const ReportReadOptions& options = {});

}  // namespace attnflow
