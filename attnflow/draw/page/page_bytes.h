// The HTML pages without their report, in three pieces each; defined by embed.cmake.
#pragma once

#include <span>

namespace attnflow::internal {

struct PageBytes {
  std::span<const unsigned char> before_title;
  std::span<const unsigned char> before_report;  // from the title to the report
  std::span<const unsigned char> after_report;
  std::span<const unsigned char> policy;  // content of the policy element
};

// The self-contained viewer (viewer/).
extern const PageBytes viewer_page_bytes;
// In a frame, such as a notebook's cell.
extern const PageBytes viewer_cell_page_bytes;
// As the server sends it: it may connect to that server.
extern const PageBytes viewer_server_page_bytes;

}  // namespace attnflow::internal
