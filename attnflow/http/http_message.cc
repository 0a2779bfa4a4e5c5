#include "attnflow/http/http_message.h"

#include <algorithm>
#include <charconv>

namespace attnflow {
namespace {

std::optional<std::string> decode(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      result += ' ';
    } else if (text[i] == '%') {
      unsigned char byte = 0;
      const char* const end = text.data() + std::min(i + 3, text.size());
      if (i + 3 > text.size() || std::from_chars(end - 2, end, byte, 16).ptr != end) return std::nullopt;
      result += static_cast<char>(byte);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace

std::size_t HttpRequest::count(std::string_view name) const {
  return static_cast<std::size_t>(
      std::count_if(headers.begin(), headers.end(), [&](const auto& header) { return header.first == name; }));
}

std::optional<std::string> HttpRequest::header(std::string_view name) const {
  for (const auto& [known, value] : headers) {
    if (known == name) return value;
  }
  return std::nullopt;
}

std::string lower_ascii(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

std::optional<NamedTexts> parse_query(std::string_view query) {
  NamedTexts result;
  while (!query.empty()) {
    const std::size_t end = query.find('&');
    const std::string_view part = query.substr(0, end);
    query = end == std::string_view::npos ? std::string_view() : query.substr(end + 1);
    if (part.empty()) continue;
    const std::size_t equals = part.find('=');
    auto name = decode(part.substr(0, equals));
    auto value = equals == std::string_view::npos ? std::optional<std::string>("") : decode(part.substr(equals + 1));
    if (!name || !value) return std::nullopt;
    result.emplace_back(std::move(*name), std::move(*value));
  }
  return result;
}

}  // namespace attnflow
