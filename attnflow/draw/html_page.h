// Pages that are embedded in the program, filled with a title and a report.
#ifndef ATTNFLOW_DRAW_HTML_PAGE_H_
#define ATTNFLOW_DRAW_HTML_PAGE_H_

#include <span>
#include <string>

namespace attnflow::internal {

// The pieces of a page (page/page_bytes.h).
struct PageBytes {
  std::span<const unsigned char> before_title;
  std::span<const unsigned char> before_report;
  std::span<const unsigned char> after_report;
};

// Whether pages hold compact documents (report/compact_json.h), or version 1 in fewer digits, which is all that the
// scripts in draw/page read. The one place to change when they read more.
bool pages_are_compact();

// The page with the beginning of `text` for the browser's tab and `json`, which may stand in a <script> as it is.
std::string fill_page(const PageBytes& page, const std::string& text, const std::string& json);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_HTML_PAGE_H_
