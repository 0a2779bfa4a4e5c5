#include "attnflow/serve/start_page.h"

#include <cstddef>

#include "attnflow/draw/viewer_page.h"

namespace attnflow {

const std::string& start_page() {
  static const std::string page = viewer_server_page();
  return page;
}

std::string content_security_policy(std::string_view page) {
  std::string policy = "default-src 'none'";
  const std::size_t meta = page.find("http-equiv=\"Content-Security-Policy\"");
  if (meta != std::string_view::npos) {
    constexpr std::string_view kContent = "content=\"";
    const std::size_t begin = page.find(kContent, meta);
    const std::size_t close = page.find('>', meta);
    if (begin != std::string_view::npos && begin < close) {
      const std::size_t from = begin + kContent.size();
      const std::size_t end = page.find('"', from);
      if (end != std::string_view::npos) {
        policy.clear();
        bool space = false;  // line breaks are not for headers
        for (const char c : page.substr(from, end - from)) {
          if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            space = !policy.empty();
            continue;
          }
          if (space) policy += ' ';
          space = false;
          policy += c;
        }
      }
    }
  }
  while (!policy.empty() && (policy.back() == ';' || policy.back() == ' ')) policy.pop_back();
  return policy + "; frame-ancestors 'none'";
}

}  // namespace attnflow
