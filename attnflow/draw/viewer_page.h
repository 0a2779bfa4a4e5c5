// The viewer: the page that shows a report document.
#pragma once

#include <string>
#include <string_view>

namespace attnflow {

// Makes a self-contained file: style, script and `json`, a report document that is safe inside a <script> without
// escaping (report/report_json.h writes no other). `text` is the user's own text, for the browser tab.
std::string viewer_page(const std::string& text, const std::string& json);

// Likewise for a frame in another page: its root element has the attribute data-embed.
std::string viewer_embedded_page(const std::string& text, const std::string& json);

// The page sent by a server, without a report: it queries /api/v1 of the server that it came from.
std::string viewer_server_page();
// The content security policy of that page, for the header of the same name.
std::string_view viewer_server_policy();

}  // namespace attnflow
