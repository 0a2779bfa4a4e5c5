// Which requests are answered at all: checks of headers that keep other people's pages and programs out.
//
// A server on 127.0.0.1 can be reached by every page that the user's browser shows. What keeps those out:
//
//   Host            must name this server. A page of attacker.example whose name suddenly resolves to 127.0.0.1 (DNS
//                   rebinding) sends its own name and is refused. Taken are 127.0.0.1, localhost, [::1] and the address
//                   that it was told to bind, with its port; the address that the connection came in at, which a name
//                   cannot be; and the names of --allow-host (with any port where they name none).
//   Origin          when it is there (every POST of a browser), must be http(s):// and that same Host.
//   Sec-Fetch-Site  when it is there, must be same-origin or none for the API: a page elsewhere can make a browser send
//                   a request without reading the answer, and work is work. The page itself may be linked to.
//   Content-Type    of a POST must be the type that is expected: JSON and pictures cannot be sent across origins
//                   without asking first, which is never allowed (no CORS header is ever sent).
//   Content-Encoding  of a POST must be none: bodies are read as they are sent.
//   Authorization   Bearer with the token, where there is one.
//
// All are pure functions of the request and the settings.
#ifndef ATTNFLOW_SERVE_REQUEST_GUARD_H_
#define ATTNFLOW_SERVE_REQUEST_GUARD_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/serve/api_error.h"
#include "attnflow/serve/http_message.h"

namespace attnflow {

struct GuardSettings {
  std::string host;  // as it was told to bind: "127.0.0.1", "::1", "localhost"
  std::uint16_t port = 0;
  std::vector<std::string> allowed_hosts;  // "name" or "name:port"
  std::string token;                       // "" for none
};

// "name:port", "[::1]:port", "name": the parts, the name in lower case. Nothing for anything else.
struct HostAndPort {
  std::string name;  // IPv6 in brackets
  std::optional<std::uint16_t> port;
};
std::optional<HostAndPort> parse_host(std::string_view text);

// Why the request is refused; nothing when it is not.
std::optional<ApiError> check_host(const HttpRequest& request, const GuardSettings& settings);
std::optional<ApiError> check_origin(const HttpRequest& request);
std::optional<ApiError> check_token(const HttpRequest& request, const GuardSettings& settings);
// `types`: those that are taken, in lower case, without parameters.
std::optional<ApiError> check_content_type(const HttpRequest& request, const std::vector<std::string>& types);
std::optional<ApiError> check_content_encoding(const HttpRequest& request);

// Whether the two are equal, in a time that depends on the length of `given` alone.
bool equal_in_constant_time(std::string_view given, std::string_view secret);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_REQUEST_GUARD_H_
