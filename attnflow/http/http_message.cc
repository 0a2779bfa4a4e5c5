#include "attnflow/http/http_message.h"

#include <algorithm>
#include <array>

namespace attnflow {
namespace {

std::optional<unsigned> hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

std::optional<std::string> decode(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      result += ' ';
    } else if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const auto high = hex_digit(text[i + 1]);
      const auto low = hex_digit(text[i + 2]);
      if (!high || !low) return std::nullopt;
      result += static_cast<char>(*high * 16 + *low);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

constexpr std::array<std::pair<unsigned, std::string_view>, 19> kStatuses = {{
    {200, "OK"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {406, "Not Acceptable"},
    {408, "Request Timeout"},
    {411, "Length Required"},
    {413, "Content Too Large"},
    {414, "URI Too Long"},
    {415, "Unsupported Media Type"},
    {417, "Expectation Failed"},
    {421, "Misdirected Request"},
    {422, "Unprocessable Content"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {503, "Service Unavailable"},
    {505, "HTTP Version Not Supported"},
}};

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

std::string_view status_text(unsigned status) {
  for (const auto& [known, text] : kStatuses) {
    if (known == status) return text;
  }
  return "Unknown";
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
