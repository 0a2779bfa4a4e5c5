// The report document in few bytes: what pages and servers hand to a browser (docs/report-format.md, "Compact
// documents").
//
// Problem. A report of 512 tokens, 12 layers and 12 heads holds 44 million numbers, 350 MB as JSON. A page shows two or
// three digits of them, and of most rows a few values.
//
// Method. Arrays keep float32 while they fit. Then one logarithmic byte stands for a value, at most 2.3% off. Then only
// the largest values of each row of attention are kept, then of every array, and the others summed; for the output
// token that views show first raw, rollout and flow stand there exactly as well. All bytes are compressed. What is not
// kept is said in the document's notes. When even 16 values of each row do not fit, fewer are kept, then the attention
// of single heads is left out (of a generation: the columns of generated tokens, normalized values, raw attention),
// then every other layer, never the last.
//
// A .json file of a user keeps every bit instead (report_json.h).
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

#include "attnflow/report/report.h"

namespace attnflow {

struct CompactOptions {
  std::size_t exact_bytes = 2'600'000;           // numbers are float32 as long as the document is no larger
  std::size_t bytes = 5'200'000;                 // of the whole document, without the attention of single heads
  std::size_t bytes_with_attention = 7'200'000;  // with it
  // What 16 values of each row, the least that is kept, may take when that is more.
  std::size_t max_bytes = 11'000'000;
};

// The document as JSON that may stand inside a <script> element. The same report gives the same bytes. What cannot be
// made smaller (text, tokens, a picture, certificates) counts, but is never left out: it may exceed the limits alone.
// O(values) time; memory for the encoded arrays.
std::string compact_report_json(const Report& report, const CompactOptions& options = {});

}  // namespace attnflow
