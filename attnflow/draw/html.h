// A report as a self-contained HTML page.
//
// The page is the viewer (viewer/), with its style, its script and the report document. It needs no installation and
// makes no network requests: a content security policy allows only its own style and script, by hash. Texts from users
// and models are shown as text, never as markup.
//
// - Text and array files: the text colored by its influence on the chosen output token, layers by tokens, all pairs,
//   the graph of information flow, kept attention of single heads, and a ranking with the values.
// - Pictures: the same over the picture, patch by patch.
// - Generations: each generated token and what it depends on.
//
// The document in the page is compact (report/compact_json.h): float32 while it fits; for 512 tokens, 12 layers and 12
// heads a page is smaller than 8 MB. Its notes say what was left out.
//
// Deterministic: the same report gives the same bytes.
#pragma once

#include <filesystem>
#include <string>

#include "attnflow/report/report.h"

namespace attnflow {

std::string report_html(const Report& report);

// Writes a complete file or none. Throws Error(kOther) if the path cannot be written.
void write_html(const std::filesystem::path& path, const Report& report);

}  // namespace attnflow
