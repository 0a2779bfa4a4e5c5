#include "attnflow/draw/viewer_page.h"

#include <cassert>
#include <cstddef>
#include <span>
#include <string_view>

#include "attnflow/draw/page/page_bytes.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow {
namespace {

constexpr std::size_t kTitleCharacters = 60;

std::string page_title(const std::string& text) {
  std::string out = "attnflow";
  if (text.empty()) return out;
  out += ": ";
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (characters++ == kTitleCharacters) return out + "\xe2\x80\xa6";  // an ellipsis
    const char32_t c = next_or_replacement(text, at);
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        append_utf8(out, is_control(c) ? U' ' : c);
    }
  }
  return out;
}

std::string fill_page(const internal::PageBytes& page, const std::string& text, const std::string& json) {
  constexpr std::size_t kMaxTitleBytes = 400;
  std::string out;
  out.reserve(page.before_title.size() + page.before_report.size() + page.after_report.size() + json.size() +
              kMaxTitleBytes);
  const auto append = [&](std::span<const unsigned char> bytes) {
    out.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  append(page.before_title);
  out += page_title(text);
  append(page.before_report);
  out += json;
  append(page.after_report);
  return out;
}

}  // namespace

std::string viewer_page(const std::string& text, const std::string& json) {
  return fill_page(internal::viewer_page_bytes, text, json);
}

std::string viewer_cell_page(const std::string& json) {
  std::string page = fill_page(internal::viewer_cell_page_bytes, "", json);
  const std::string root = "<html";
  const std::size_t at = page.find(root);
  assert(at != std::string::npos && "viewer.html begins with its root element");
  return page.insert(at + root.size(), " data-embed");
}

std::string viewer_server_page() { return fill_page(internal::viewer_server_page_bytes, "", "null"); }

std::string_view viewer_server_policy() {
  const auto policy = internal::viewer_server_page_bytes.policy;
  return {reinterpret_cast<const char*>(policy.data()), policy.size()};
}

}  // namespace attnflow
