// The html page without its report, in three pieces; embed.cmake writes the definitions.
#ifndef ATTNFLOW_DRAW_PAGE_PAGE_BYTES_H_
#define ATTNFLOW_DRAW_PAGE_PAGE_BYTES_H_

#include <cstddef>

namespace attnflow::internal {

extern const unsigned char page_before_title[];
extern const std::size_t page_before_title_size;
extern const unsigned char page_before_report[];  // from the title to the report
extern const std::size_t page_before_report_size;
extern const unsigned char page_after_report[];
extern const std::size_t page_after_report_size;

}  // namespace attnflow::internal

#endif  // ATTNFLOW_DRAW_PAGE_PAGE_BYTES_H_
