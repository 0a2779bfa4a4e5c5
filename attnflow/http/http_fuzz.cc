#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "attnflow/http/http_message.h"
#include "attnflow/http/request_guard.h"

namespace {

namespace http = boost::beast::http;

attnflow::HttpRequest request_of(const http::request<http::string_body>& given) {
  attnflow::HttpRequest request;
  request.method = std::string(given.method_string());
  const std::string_view target(given.target().data(), given.target().size());
  const std::size_t question = target.find('?');
  request.path = target.substr(0, question);
  if (question != std::string_view::npos) request.query = target.substr(question + 1);
  request.server_address = "127.0.0.1";
  for (const auto& field : given) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request.headers.emplace_back(name, std::string(field.value()));
  }
  request.body = given.body();
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  http::request_parser<http::string_body> parser;
  parser.header_limit(1 << 14);
  parser.body_limit(1 << 20);
  parser.eager(true);
  boost::system::error_code error;
  for (std::size_t at = 0; at < size && !parser.is_done();) {
    const std::size_t read = parser.put(boost::asio::const_buffer(data + at, size - at), error);
    if (error || read == 0) break;
    at += read;
  }
  if (!parser.is_header_done()) return 0;
  const attnflow::HttpRequest request = request_of(parser.get());
  const attnflow::GuardSettings settings{
      .host = "127.0.0.1", .port = 8080, .allowed_hosts = {"example.org"}, .token = "0123456789abcdef"};
  const auto host = attnflow::check_host(request, settings);
  const auto origin = attnflow::check_origin(request);
  const auto token = attnflow::check_token(request, settings);
  (void)attnflow::check_content_type(request, {"application/json"});
  (void)attnflow::check_content_encoding(request);
  (void)attnflow::parse_query(request.query);
  // A request that passes has named this server, comes from its own pages if it gives an origin, and has the token.
  const std::string own = request.header("host").value_or("");
  if (!host) {
    const auto named = attnflow::parse_host(own);
    if (request.count("host") != 1 || !named) __builtin_trap();
    if (named->name != "127.0.0.1" && named->name != "localhost" && named->name != "[::1]" &&
        named->name != "example.org")
      __builtin_trap();
  }
  if (!origin && request.count("origin") > 0) {
    const std::size_t scheme = request.header("origin")->size() - own.size();
    if (scheme != std::string_view("http://").size() && scheme != std::string_view("https://").size()) __builtin_trap();
  }
  if (!token && request.header("authorization").value_or("").find(settings.token) == std::string::npos)
    __builtin_trap();
  return 0;
}
