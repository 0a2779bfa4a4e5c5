#include "attnflow/draw/viewer_page.h"

#include "attnflow/draw/html_page.h"
#include "attnflow/draw/page/page_bytes.h"

namespace attnflow {

std::string viewer_page(const std::string& text, const std::string& json) {
  using namespace internal;
  const PageBytes page{.before_title = {viewer_page_before_title, viewer_page_before_title_size},
                       .before_report = {viewer_page_before_report, viewer_page_before_report_size},
                       .after_report = {viewer_page_after_report, viewer_page_after_report_size}};
  return fill_page(page, text, json);
}

std::string viewer_server_page() {
  using namespace internal;
  const PageBytes page{.before_title = {viewer_server_page_before_title, viewer_server_page_before_title_size},
                       .before_report = {viewer_server_page_before_report, viewer_server_page_before_report_size},
                       .after_report = {viewer_server_page_after_report, viewer_server_page_after_report_size}};
  return fill_page(page, "", "null");
}

std::string_view viewer_server_policy() {
  return {reinterpret_cast<const char*>(internal::viewer_server_page_policy), internal::viewer_server_page_policy_size};
}

}  // namespace attnflow
