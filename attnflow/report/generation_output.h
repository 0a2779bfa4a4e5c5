// A generation as JSON, arrays, a table of numbers, and a table for people.
//
// All are deterministic: the same generation gives the same bytes. Text is UTF-8.
//
// References:
//   Comma-separated values: https://www.rfc-editor.org/rfc/rfc4180
//
// Example:
//
//     write_generation_npz("generation.npz", generation);
//     const Tensor<double> values = read_npz("generation.npz", "rollout").to_double("rollout");  // [n, m, layer]
//     assert(values == generation.rollout.prompt);
//     std::fputs(generation_terminal_table(generation, {.width = 100}).c_str(), stdout);
#ifndef ATTNFLOW_REPORT_GENERATION_OUTPUT_H_
#define ATTNFLOW_REPORT_GENERATION_OUTPUT_H_

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/report/generation_report.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_table.h"

namespace attnflow {

// The report document of kind "generation" (docs/report-format.md).
std::string generation_to_json(const GenerationReport& report, const ReportJsonOptions& options = {});

// Keys and types, m prompt tokens (words where merged), n generated ones:
//
//   prompt_tokens, generated_tokens        unicode [m], [n]     the pieces
//   prompt_special, generated_special      bool [m], [n]
//   generated_ids                          int64 [n]
//   probability                            float64 [n]          of each generated token
//   layers                                 int64 [l]            of raw and rollout, 1-based
//   raw, rollout                           float64 [n, m, l]
//   raw_generated, rollout_generated       float64 [n, n, l]    when asked for
//   raw_normalized, rollout_normalized     float64 [n, m, l]    when asked for
//   sink_share                             float64 [n, l]       attention on position 0
//   flow, flow_gap, flow_degenerate        float64, float64, uint8 [f, m, k]
//   flow_generated, flow_normalized        float64 [f, n, k], [f, m, k]
//   flow_tokens, flow_layers               int64 [f], [k]
//   dropped                                bool [m]             left out of rankings
//
// Methods that were not asked for are absent.
std::vector<NamedArray> generation_arrays(const GenerationReport& report);

// One row for each generated token, layer and prompt token, the last fastest. Columns: token, token_text, layer,
// input_token, input_text, input_special, dropped, then the methods (and flow_gap, flow_degenerate, and the normalized
// values) as far as the report holds them. Cells without a value are empty. Handed to `sink` piece by piece.
void generation_to_csv(const GenerationReport& report, const std::function<void(std::string_view)>& sink);

// One line for each generated token: its probability, the share of what it drew on that lies in the prompt, and the
// prompt tokens that it drew on most, by the mean over layers of rollout where the report has it, else of its first
// method. Then what was left out, and the notes. Tokens are printed by clean_line().
std::string generation_terminal_table(const GenerationReport& report, const TableOptions& options = {});
std::string generation_markdown_table(const GenerationReport& report);

// Files; nothing is left of one that cannot be written.
void write_generation_json(const std::filesystem::path& path, const GenerationReport& report);
void write_generation_npz(const std::filesystem::path& path, const GenerationReport& report);
void write_generation_safetensors(const std::filesystem::path& path, const GenerationReport& report);
void write_generation_csv(const std::filesystem::path& path, const GenerationReport& report);

}  // namespace attnflow

#endif  // ATTNFLOW_REPORT_GENERATION_OUTPUT_H_
