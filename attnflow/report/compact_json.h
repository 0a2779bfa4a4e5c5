// The report document in few bytes, for pages and browsers (docs/report-format.md, "Compact documents").
//
// Problem. A report of 512 tokens, 12 layers and 12 heads holds 44 million numbers, 350 MB as JSON. A page shows two or
// three digits of them, and only a few values of most rows.
//
// Method. Arrays keep float32 while they fit. Otherwise each value becomes one logarithmic byte, at most 2.3% off; then
// only the largest values in each row of attention, later of every array, are kept and the rest summed. The output
// token that views show first keeps exact raw, rollout and flow. If even 16 values per row do not fit, fewer are kept;
// then the attention of single heads is dropped (for a generation: the columns of generated tokens, normalized values,
// raw attention), then every other layer, never the last. All bytes are compressed, and notes in the document state
// each loss.
//
// References:
//   zlib's format of compressed data: https://www.rfc-editor.org/rfc/rfc1950
//
// Example:
//
//     const std::string json = compact_report_json(report, {.exact_bytes = 0});  // a byte a value
//     const Report approximate = report_from_json(json);                         // report/report_json.h
//     assert(std::abs(approximate.rollout(0, 1, 1) / report.rollout(0, 1, 1) - 1.0) < 0.024);
#pragma once

#include <cstddef>
#include <string>

#include "attnflow/attribution/option_names.h"
#include "attnflow/report/report.h"

namespace attnflow {

struct CompactOptions {
  std::size_t exact_bytes = 2'600'000;           // numbers are float32 as long as the document is no larger
  std::size_t bytes = 5'200'000;                 // of the whole document, without the attention of single heads
  std::size_t bytes_with_attention = 7'200'000;  // with it
  // Used instead if 16 values per row, the minimum kept, need more.
  std::size_t max_bytes = 11'000'000;
  std::size_t small_bytes = 48 * 1024;             // an array up to here is not worth losing digits
  OptionNames option_names = OptionNames::kShell;  // in the notes' advice
  bool replacements = true;                        // lists what replaced each token of the check
};

// The document as JSON that is safe inside a <script> element. The same report gives the same bytes. Text, tokens, a
// picture and certificates count but are never left out, so they may exceed the limits alone. O(values) time; memory
// for the encoded arrays.
std::string compact_report_json(const Report& report, const CompactOptions& options = {});

}  // namespace attnflow
