// The page at /. The one place that says which page it is.
#ifndef ATTNFLOW_SERVE_START_PAGE_H_
#define ATTNFLOW_SERVE_START_PAGE_H_

#include <string>
#include <string_view>

namespace attnflow {

// HTML with its styles and scripts inside, and a meta element with the content security policy that holds their hashes.
const std::string& start_page();

// The policy in the page's meta element, as a header's value, with frame-ancestors 'none', which a meta element cannot
// say. "default-src 'none'; frame-ancestors 'none'" for a page without one.
std::string content_security_policy(std::string_view page);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_START_PAGE_H_
