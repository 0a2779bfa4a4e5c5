// The report as one html page that works by itself.
//
// The page holds its style, its script and the report document, asks the network for nothing (a content security policy
// with only the hashes of its own style and script forbids it), and needs no installation to be opened. It shows the
// user's own text coloured by what the chosen output token drew on, a layer-by-token picture, the graph of information
// flow for up to 48 tokens, the matrix of all pairs, and a ranking with the values; method, layer and output token are
// chosen in the page.
//
// Numbers in the page are float32, and flow_gap is kept. Where that takes more than about 2.6 MB, numbers are float16
// (3 digits), flow_gap is reduced to its maximum, and the page says so: a 128-token input of a 12-layer model stays
// under 3 MB. The kept attention stack is never included. Everything else the page needs is in the report.
//
// Deterministic: the same report gives the same bytes.
#ifndef ATTNFLOW_DRAW_HTML_H_
#define ATTNFLOW_DRAW_HTML_H_

#include <filesystem>
#include <string>

#include "attnflow/report/report.h"

namespace attnflow {

std::string report_html(const Report& report);

// Writes a complete file or none. Throws Error(kOther) when the path cannot be written.
void write_html(const std::filesystem::path& path, const Report& report);

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_HTML_H_
