// The viewer: the page that shows a report document.
#ifndef ATTNFLOW_DRAW_VIEWER_PAGE_H_
#define ATTNFLOW_DRAW_VIEWER_PAGE_H_

#include <string>
#include <string_view>

namespace attnflow {

// A file that works by itself: style, script and `json`, a report document that may stand in a <script> as it is
// (report/report_json.h writes no other). `text`: for the browser's tab, the user's own.
std::string viewer_page(const std::string& text, const std::string& json);

// The same in its form for a frame in another page: its root element has the attribute data-embed.
std::string viewer_embedded_page(const std::string& text, const std::string& json);

// The page that a server sends, without a report: it asks /api/v1 of the server it came from.
std::string viewer_server_page();
// The content security policy of that page, for the header of the same name.
std::string_view viewer_server_policy();

}  // namespace attnflow

#endif  // ATTNFLOW_DRAW_VIEWER_PAGE_H_
