// Requests and responses, as passed between the server's parts. Nothing here depends on the network.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attnflow {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;  // GET, POST, ...
  std::string path;    // "/api/v1/image": as sent, not decoded, up to the question mark
  std::string query;   // after the question mark, as sent
  NamedTexts headers;  // names in lower case, in the order sent
  std::string body;
  std::string server_address;  // the server's address on this connection, without port; IPv6 in brackets, as in a URL

  std::size_t count(std::string_view name) const;
  // Returns the value of the first header with that name, or nothing.
  std::optional<std::string> header(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  NamedTexts headers = {};
  std::string body = {};
};

// Converts "Content-Type" to "content-type", for case-insensitive comparison of header names and the like.
std::string lower_ascii(std::string_view text);

// Parses "a=1&b=x%20y" into names and values; + is a space. Nothing when a % is not followed by two hexadecimal digits.
std::optional<NamedTexts> parse_query(std::string_view query);

}  // namespace attnflow
