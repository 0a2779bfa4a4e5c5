// A report as one html page that works by itself.
//
// The page is the viewer (viewer/), which holds its style, its script and the report document, asks the network for
// nothing (a content security policy with only the hashes of its own style and script forbids it), and needs no
// installation to be opened. Texts, names and labels of users and models are shown as text, never as markup.
//
// - Text and array files: the text colored by what the chosen output token depends on, layers by tokens, all pairs, the
//   graph of information flow, kept attention of single heads, and a ranking with the values.
// - Pictures: the same over the picture, patch by patch.
// - Generations: step through what was generated and see what each token depends on.
//
// The document in the page is compact (report/compact_json.h): numbers are float32 while they fit, and with a report of
// 512 tokens, 12 layers and 12 heads the page stays below 8 MB. What is not kept is said in its notes.
//
// Deterministic: the same report gives the same bytes.
#ifndef ATTNFLOW_DRAW_HTML_H_
#define ATTNFLOW_DRAW_HTML_H_

#include <cstdint>
#include <filesystem>
#include <string>

#include "attnflow/report/report.h"

namespace attnflow {

// kEmbedded: for a frame in another page, such as a notebook's cell: one card and a slim bar, no keys of the whole
// page, no link to copy. It says how high it is by `parent.postMessage({attnflow: {height}}, "*")`, whenever that
// changes.
enum class PageForm : std::uint8_t { kPage, kEmbedded };

std::string report_html(const Report& report, PageForm form = PageForm::kPage);

// Writes a complete file or none. Throws Error(kOther) when the path cannot be written.
void write_html(const std::filesystem::path& path, const Report& report);

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_HTML_H_
