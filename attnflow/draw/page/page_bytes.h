// The html pages without their report, in three pieces each; embed.cmake writes the definitions.
#ifndef ATTNFLOW_DRAW_PAGE_PAGE_BYTES_H_
#define ATTNFLOW_DRAW_PAGE_PAGE_BYTES_H_

#include <cstddef>

namespace attnflow::internal {

// The viewer (viewer/) as a file that works by itself.
extern const unsigned char viewer_page_before_title[];
extern const std::size_t viewer_page_before_title_size;
extern const unsigned char viewer_page_before_report[];  // from the title to the report
extern const std::size_t viewer_page_before_report_size;
extern const unsigned char viewer_page_after_report[];
extern const std::size_t viewer_page_after_report_size;
extern const unsigned char viewer_page_policy[];
extern const std::size_t viewer_page_policy_size;

// And as the server sends it: it may talk to the server that it comes from. The policy is what stands in its element.
extern const unsigned char viewer_server_page_before_title[];
extern const std::size_t viewer_server_page_before_title_size;
extern const unsigned char viewer_server_page_before_report[];
extern const std::size_t viewer_server_page_before_report_size;
extern const unsigned char viewer_server_page_after_report[];
extern const std::size_t viewer_server_page_after_report_size;
extern const unsigned char viewer_server_page_policy[];
extern const std::size_t viewer_server_page_policy_size;

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_PAGE_PAGE_BYTES_H_
