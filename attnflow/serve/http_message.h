// What the server's parts say to each other about a request and its answer. Nothing here knows the network.
#ifndef ATTNFLOW_SERVE_HTTP_MESSAGE_H_
#define ATTNFLOW_SERVE_HTTP_MESSAGE_H_

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
  std::string path;    // "/api/v1/image": as sent, nothing decoded, up to the question mark
  std::string query;   // behind it, as sent
  NamedTexts headers;  // names in lower case, in the order sent
  std::string body;
  std::string server_address;  // of the connection's own end, without port; IPv6 in brackets, as in a URL

  std::size_t count(std::string_view name) const;
  // Of the first header of that name; nothing when there is none.
  std::optional<std::string> header(std::string_view name) const;
};

struct HttpResponse {
  unsigned status = 200;
  std::string content_type = "application/json";
  NamedTexts headers = {};
  std::string body = {};
};

// "content-type" of "Content-Type": names of headers and the like are compared so.
std::string lower_ascii(std::string_view text);

// "Not Found".
std::string_view status_text(unsigned status);

// "a=1&b=x%20y" -> names and values; + is a space. Nothing when a % is not followed by two hexadecimal digits.
std::optional<NamedTexts> parse_query(std::string_view query);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_HTTP_MESSAGE_H_
