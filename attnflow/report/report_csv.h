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
// flow_gap and flow_degenerate if the report holds them; the scores of methods without layers, in rows of their own at
// the end; and drop and drop_spread if a prediction was checked: how far it falls without the input token, and the
// standard error, the same at every layer (report/report_scores.h). Rows run over layers, output tokens and input
// tokens, the last fastest; all output tokens if report.all_output_tokens, else report.output_token alone. Cells are
// empty where flow was not computed for an output token, and where nothing was checked.
//
// For a generation, output_token is the number of each generated token, from 0, and output_text its text; `excluded` (0
// or 1, from rankings) follows input_special, and normalized values, such as raw_normalized, follow their method.
//
// Text is UTF-8, quoted by RFC 4180; lines end with "\n". Numbers have the fewest digits that read back as the same
// double.

// Hands the text to `sink` in pieces; holds only a few rows in memory.
void report_to_csv(const Report& report, const std::function<void(std::string_view)>& sink);

// Throws Error(kOther), leaving no file, if the file cannot be written.
void write_report_csv(const std::filesystem::path& path, const Report& report);

// One text field, quoted (with quotes doubled) if it holds anything that a reader could take for structure, or spaces
// at its ends, because some readers strip them.
std::string csv_field(const std::string& text);

}  // namespace attnflow
