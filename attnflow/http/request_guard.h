// Checks request headers to keep out other sites' pages and other programs.
//
// Every page in the user's browser can reach a server on 127.0.0.1. These checks keep them out:
//
//   Host            must name this server. A page of attacker.example whose name suddenly resolves to 127.0.0.1 (DNS
//                   rebinding) sends its own name and is rejected. Accepted are 127.0.0.1, localhost, [::1] and the
//                   bind address, with the server's port; the address at which the connection arrived, which cannot be
//                   a name; and the names of --allow-host (with any port if they give none).
//   Origin          if present (every POST from a browser), must be http(s):// and that same Host.
//   Sec-Fetch-Site  if present, must be same-origin or none for the API: a page elsewhere can make a browser send a
//                   request without reading the response, which would still cause work. Links to the page are allowed.
//   Content-Type    of a POST must be the expected type: JSON and images cannot be sent across origins without a
//                   preflight request, which is never granted (no CORS header is ever sent).
//   Content-Encoding  of a POST must be absent or "identity": bodies are read as sent.
//   Authorization   Bearer with the token, if there is one.
//
// All functions are pure functions of the request and the settings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/http/api_error.h"
#include "attnflow/http/http_message.h"

namespace attnflow {

struct GuardSettings {
  std::string host;  // the bind address as given: "127.0.0.1", "::1", "localhost"
  std::uint16_t port = 0;
  std::vector<std::string> allowed_hosts;  // "name" or "name:port"
  std::string token;                       // empty: none
};

// Parses "name:port", "[::1]:port" or "name"; the name is in lower case. Nothing for anything else.
struct HostAndPort {
  std::string name;  // IPv6 in brackets
  std::optional<std::uint16_t> port;
};
std::optional<HostAndPort> parse_host(std::string_view text);

std::optional<ApiError> check_host(const HttpRequest& request, const GuardSettings& settings);
std::optional<ApiError> check_origin(const HttpRequest& request);
std::optional<ApiError> check_token(const HttpRequest& request, const GuardSettings& settings);
// `types`: the accepted types, in lower case, without parameters.
std::optional<ApiError> check_content_type(const HttpRequest& request, const std::vector<std::string>& types);
std::optional<ApiError> check_content_encoding(const HttpRequest& request);

// Whether the two are equal, in time that depends only on the length of `given`.
bool equal_in_constant_time(std::string_view given, std::string_view secret);

}  // namespace attnflow
