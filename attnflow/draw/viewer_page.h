// The viewer: the page that shows a report document.
#pragma once

#include <string>
#include <string_view>

namespace attnflow {

// Makes a self-contained file from style, script and `json`, a report document safe inside a <script> (as
// report/report_json.h writes it). `text` is the user's text, for the browser tab.
std::string viewer_page(const std::string& text, const std::string& json);

// For a frame in another page (viewer/README.md, "In a frame"): its root element has the attribute data-embed.
std::string viewer_cell_page(const std::string& json);

// The server's page, without a report: it queries /api/v1 of that server.
std::string viewer_server_page();
// That page's content security policy, for the header of the same name.
std::string_view viewer_server_policy();

}  // namespace attnflow
