// The answer of a report as static HTML, for the cell of a notebook.
//
// In the order of every surface (report/report_answer.h): the headline; the text colored by the best map with the
// check's drops below its tokens; the verdicts; the paper's attention as a second line. Of a picture, the patches as a
// grid.
//
// The markup survives the sanitizers of notebook servers and previews as far as they allow: no script, no style sheet,
// no link. Colors are inline styles: translucent tints, on which text has the color of the page around it, light or
// dark. Where styles are removed (GitHub), the tokens with at least half of the map's largest value are still marked
// and the drops are subscripts.
//
// Example:
//
//     const std::string html = answer_html(report);
//     assert(html.find("<script") == std::string::npos);
#pragma once

#include <string>

#include "attnflow/report/report.h"

namespace attnflow {

// Texts of users and models are shown as text, never as markup. Of a long text, only the parts around the tokens that
// matter most are shown. O(tokens log tokens).
std::string answer_html(const Report& report);

}  // namespace attnflow
