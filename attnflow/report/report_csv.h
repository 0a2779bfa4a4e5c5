// A report as one table of numbers, one row for each layer, output token and input token.
//
// References:
//   Y. Shafranovich, Common Format and MIME Type for Comma-Separated Values (CSV) Files, RFC 4180:
//     https://www.rfc-editor.org/rfc/rfc4180
//
// Example:
//
//     std::string csv;
//     report_to_csv(report, [&csv](std::string_view piece) { csv += piece; });
//     assert(csv.starts_with("layer,output_token,output_text,input_token,input_text,input_special"));
//     write_report_csv("report.csv", report);
//     assert(read_file("report.csv") == csv);  // files/atomic_file.h
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "attnflow/report/report.h"

namespace attnflow {

// Columns: layer, output_token, output_text, input_token, input_text, input_special (0 or 1), then raw, rollout, flow,
// flow_gap and flow_degenerate as far as the report holds them. Rows run over layers, output tokens and input tokens,
// the last fastest; all output tokens when report.all_output_tokens, else report.output_token alone. Where flow was not
// computed for an output token its cells are empty.
//
// Of a generation: output_token is the number of the generated token, from 0, and output_text its text; all of them;
// `excluded` (0 or 1, from rankings) follows input_special, and what was normalized its method, as raw_normalized.
//
// Text is UTF-8 and quoted as RFC 4180 says, so that commas, quotes and line breaks survive; lines end with "\n".
// Numbers have the fewest digits that read back as the same double.

// Hands the text piece by piece to `sink`; nothing larger than a few rows is held in memory.
void report_to_csv(const Report& report, const std::function<void(std::string_view)>& sink);

// Throws Error(kOther) when the file cannot be written; nothing is left of it then.
void write_report_csv(const std::filesystem::path& path, const Report& report);

namespace internal {

// One field of text: in quotes, with quotes doubled, where it holds anything that a reader could take for structure.
// Spaces at the ends are quoted too, because some readers strip them.
std::string csv_field(const std::string& text);

}  // namespace internal

}  // namespace attnflow
