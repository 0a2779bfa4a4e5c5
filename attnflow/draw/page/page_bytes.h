// The HTML pages without their report, in three pieces each; embed.cmake writes the definitions.
#pragma once

#include <span>

namespace attnflow::internal {

struct PageBytes {
  std::span<const unsigned char> before_title;
  std::span<const unsigned char> before_report;  // from the title to the report
  std::span<const unsigned char> after_report;
  std::span<const unsigned char> policy;  // content of the policy element
};

// The viewer (viewer/) as a self-contained file.
extern const PageBytes viewer_page_bytes;
// The viewer as the server sends it: it may connect to the server that it comes from.
extern const PageBytes viewer_server_page_bytes;

}  // namespace attnflow::internal
