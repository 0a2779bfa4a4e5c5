// A report as named arrays, for NumPy and for engines that read .safetensors.
//
// Keys and types, with n tokens:
//
//   tokens              unicode [n]                     the pieces as the tokenizer spells them ("##ets")
//   special             bool [n]                        [CLS], [SEP], padding, ...
//   layers              int64 [l]                       the l that were computed, 1-based
//   output_tokens       int64 [r]                       positions of the rows of raw and rollout
//   raw, rollout        float64 [l, r, n]               [layer, output_token, input_token]
//   flow                float64 [l, f, n]               certified lower end
//   flow_gap            float64 [l, f, n]               upper end - lower end
//   flow_degenerate     uint8 [l, f, n]                 0 no, 1 the first layer's columns, 2 the top row
//   flow_output_tokens  int64 [f]                       only when flow has other rows than raw and rollout
//   attention           float32 [layer, head, n, n]     (query, key), of all layers; only when it was kept
//
// A generation has, for m prompt tokens and n generated ones, the values as M[generated token, input token, layer]:
//
//   prompt_tokens, generated_tokens        unicode [m], [n]     with prompt_special, generated_special: bool
//   layers, generated_ids                  int64 [l], [n]
//   probability                            float64 [n]          of each generated token
//   excluded                               bool [m]             from rankings
//   raw, rollout                           float64 [n, m, l]
//   raw_generated, rollout_generated       float64 [n, n, l]    when asked for
//   raw_normalized, rollout_normalized     float64 [n, m, l]    when asked for
//   flow, flow_gap, flow_degenerate        float64, float64, uint8 [f, m, k]
//   flow_generated, flow_normalized        float64 [f, n, k], [f, m, k]
//   flow_tokens, flow_layers               int64 [f], [k]
//   sink_share                             float64 [n, l]       attention on position 0
//   attnlrp, ...                           float64 [n, m]       methods outside the graph
//   attnlrp_generated, ...                 float64 [n, n]       when asked for
//
// Methods that were not asked for are absent.
//
// References:
//   NumPy's .npy format: https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
//   .safetensors: https://github.com/huggingface/safetensors#format
//
// Example:
//
//     write_report_npz("report.npz", report);  // numpy.load("report.npz")["rollout"]
//     assert(read_npz("report.npz", "rollout").to_double("rollout") == report.rollout);
//     write_report_npz("generation.npz", generation);
//     assert(read_npz("generation.npz", "rollout").shape == (Shape{1, 2, 1}));  // [n, m, l]
#pragma once

#include <filesystem>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/report/report.h"

namespace attnflow {

std::vector<NamedArray> report_arrays(const Report& report);

// The same report gives the same bytes. Throws Error(kOther), leaving no file, if the file cannot be written.
void write_report_npz(const std::filesystem::path& path, const Report& report);

// As above, but `tokens`, which this format has no type for, is a JSON list of text in the file's metadata.
void write_report_safetensors(const std::filesystem::path& path, const Report& report);

}  // namespace attnflow
