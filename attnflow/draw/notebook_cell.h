// A report as the output of a notebook's cell.
//
// Problem. Notebooks are read where their scripts do not run: before a notebook is trusted, in GitHub's and nbviewer's
// previews, in e-mail. A cell that is one frame shows nothing there. And every cell is stored in the notebook's file.
//
// Method. The cell begins with the answer as static HTML (answer_html()), which is complete without a script. Below it,
// closed until the reader opens it, is the viewer's page for frames: compressed, as text in a short script (13 bits in
// two characters). Opening it unpacks the page into a sandboxed frame without an origin, which can neither read nor
// change the notebook, and which reports each change of its height by `parent.postMessage({attnflow: {height}}, "*")`.
// Where scripts do not run, the section says what to do. The document in the page is compact, with a byte a number
// (report/compact_json.h); its notes name Python's options, and it lacks what replaced the tokens of the check.
//
// A cell of 30 tokens and 6 layers takes less than 150 KB without kept attention. The same report and name give the
// same bytes.
//
// References:
//   DecompressionStream, "deflate" (RFC 1950): https://compression.spec.whatwg.org
#pragma once

#include <string>
#include <string_view>

#include "attnflow/report/report.h"

namespace attnflow {

// `name`: letters, digits and hyphens, unlike that of any other cell of the notebook.
std::string notebook_cell(const Report& report, std::string_view name);

}  // namespace attnflow
