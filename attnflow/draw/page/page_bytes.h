// The html pages without their report, in three pieces each; embed.cmake writes the definitions.
#ifndef ATTNFLOW_DRAW_PAGE_PAGE_BYTES_H_
#define ATTNFLOW_DRAW_PAGE_PAGE_BYTES_H_

#include <span>

namespace attnflow::internal {

struct PageBytes {
  std::span<const unsigned char> before_title;
  std::span<const unsigned char> before_report;  // from the title to the report
  std::span<const unsigned char> after_report;
  std::span<const unsigned char> policy;  // what stands in its element
};

// The viewer (viewer/) as a file that works by itself.
extern const PageBytes viewer_page_bytes;
// And as the server sends it: it may talk to the server that it comes from.
extern const PageBytes viewer_server_page_bytes;

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_PAGE_PAGE_BYTES_H_
