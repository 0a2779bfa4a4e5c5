#include "attnflow/http/request_guard.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "attnflow/base/parse_number.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxShownHeader = 80;

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_' || c == ':';
}

std::string bracketed(const std::string& host) {
  return host.find(':') != std::string::npos && host.front() != '[' ? "[" + host + "]" : host;
}

std::string quoted_header(const std::string& text) { return internal::quote_name(text, kMaxShownHeader); }

}  // namespace

std::optional<HostAndPort> parse_host(std::string_view text) {
  HostAndPort result;
  std::string_view port;
  if (!text.empty() && text.front() == '[') {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    result.name = lower_ascii(text.substr(0, end + 1));
    if (!std::all_of(result.name.begin() + 1, result.name.end() - 1, is_name_character)) return std::nullopt;
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    result.name = lower_ascii(text.substr(0, colon));
    if (!std::all_of(result.name.begin(), result.name.end(), is_name_character)) return std::nullopt;
    port = colon == std::string_view::npos ? std::string_view() : text.substr(colon);
  }
  if (result.name.empty() || result.name == "[]") return std::nullopt;
  if (port.empty()) return result;
  if (port.front() != ':') return std::nullopt;
  port.remove_prefix(1);
  const auto number = internal::parse_number<std::uint16_t>(port);
  if (!number) return std::nullopt;
  result.port = *number;
  return result;
}

std::optional<ApiError> check_host(const HttpRequest& request, const GuardSettings& settings) {
  if (request.count("host") != 1) {
    return ApiError(400, "bad_request", fmt::format("expected one Host header, found {}", request.count("host")));
  }
  const std::string given = request.header("host").value();
  const auto host = parse_host(given);
  if (host) {
    constexpr std::uint16_t kHttpPort = 80;
    const bool right_port = host->port.value_or(kHttpPort) == settings.port;
    const bool own = host->name == "127.0.0.1" || host->name == "localhost" || host->name == "[::1]" ||
                     host->name == lower_ascii(bracketed(settings.host)) ||
                     host->name == lower_ascii(request.server_address);
    if (own && right_port) return std::nullopt;
    for (const std::string& name : settings.allowed_hosts) {
      const auto allowed = parse_host(name);
      if (allowed && allowed->name == host->name && (!allowed->port || allowed->port == host->port)) {
        return std::nullopt;
      }
    }
  }
  return ApiError(
      421, "wrong_host",
      fmt::format(
          "expected this server's address as Host, found {}; attnflow serve --allow-host NAME accepts another name",
          quoted_header(given)));
}

std::optional<ApiError> check_origin(const HttpRequest& request) {
  if (const auto origin = request.header("origin")) {
    const std::string host = lower_ascii(request.header("host").value_or(""));
    const std::string given = lower_ascii(*origin);
    if (request.count("origin") != 1 || (given != "http://" + host && given != "https://" + host)) {
      return ApiError(
          403, "cross_origin",
          fmt::format("expected a request from the page of this server, found one from {}", quoted_header(*origin)));
    }
  }
  if (const auto site = request.header("sec-fetch-site")) {
    if (*site != "same-origin" && *site != "none") {
      return ApiError(403, "cross_origin",
                      fmt::format("expected a request from the page of this server, found Sec-Fetch-Site {}",
                                  quoted_header(*site)));
    }
  }
  return std::nullopt;
}

bool equal_in_constant_time(std::string_view given, std::string_view secret) {
  // Compares with the secret if the lengths agree, else with `given` itself, so that the loop is the same.
  unsigned difference = given.size() == secret.size() ? 0U : 1U;
  const std::string_view other = difference == 0 ? secret : given;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |= static_cast<unsigned>(static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(other[i]));
  }
  return difference == 0;
}

std::optional<ApiError> check_token(const HttpRequest& request, const GuardSettings& settings) {
  if (settings.token.empty()) return std::nullopt;
  const auto header = request.header("authorization");
  constexpr std::string_view kScheme = "bearer ";
  if (header && request.count("authorization") == 1 &&
      lower_ascii(std::string_view(*header).substr(0, kScheme.size())) == kScheme &&
      equal_in_constant_time(trim(std::string_view(*header).substr(kScheme.size())), settings.token)) {
    return std::nullopt;
  }
  return ApiError(401, "unauthorized",
                  fmt::format("expected 'Authorization: Bearer TOKEN' with the token that this server was started "
                              "with, found {}",
                              header ? "another" : "none"));
}

std::optional<ApiError> check_content_type(const HttpRequest& request, const std::vector<std::string>& types) {
  const std::string given = request.header("content-type").value_or("");
  const std::string type = lower_ascii(trim(std::string_view(given).substr(0, given.find(';'))));
  if (request.count("content-type") == 1 && std::find(types.begin(), types.end(), type) != types.end()) {
    return std::nullopt;
  }
  return ApiError(415, "unsupported_media_type",
                  fmt::format("Content-Type: expected {}, found {}", fmt::join(types, " or "),
                              given.empty() ? "none" : quoted_header(given)));
}

std::optional<ApiError> check_content_encoding(const HttpRequest& request) {
  for (const auto& [name, value] : request.headers) {
    if (name != "content-encoding" || lower_ascii(trim(value)) == "identity") continue;
    return ApiError(
        415, "unsupported_media_type",
        fmt::format("Content-Encoding: expected none, found {}; send the body as it is", quoted_header(value)));
  }
  return std::nullopt;
}

}  // namespace attnflow
