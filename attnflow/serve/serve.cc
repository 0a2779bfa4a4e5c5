#include "attnflow/serve/serve.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "attnflow/base/available_memory.h"
#include "attnflow/base/error.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/http/api_error.h"
#include "attnflow/http/request_guard.h"

namespace attnflow {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20U;
constexpr std::size_t kMaxWorkers = 64;
constexpr std::size_t kShortestToken = 16;  // hexadecimal: half a million years to guess at a million per second

[[noreturn]] void fail_to_serve(const std::string& message) { throw Error(ErrorKind::kUsage, message); }

// Visible ASCII, valid in a header.
bool is_token(const std::string& token) {
  return std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace

void check_serve_options(const ServeOptions& options) {
  if (!is_token(options.token)) {
    fail_to_serve(
        "--token: expected visible ASCII characters without spaces, found others; 'openssl rand -hex 24' generates "
        "one");
  }
  if (options.token.size() < kShortestToken && !is_loopback_host(options.http.host)) {
    fail_to_serve(fmt::format(
        "--host {}: a non-loopback address requires a --token of at least {} characters, found {}; 'openssl rand -hex "
        "24' generates one",
        options.http.host, kShortestToken,
        options.token.empty() ? "none" : fmt::format("one of {}", options.token.size())));
  }
  for (const std::string& name : options.allowed_hosts) {
    if (!parse_host(name)) fail_to_serve(fmt::format("--allow-host: expected a name, or NAME:PORT, found '{}'", name));
  }
  if (options.limits.workers == 0 || options.limits.workers > kMaxWorkers) {
    fail_to_serve(fmt::format("--workers: expected 1 to {}, found {}", kMaxWorkers, options.limits.workers));
  }
  if (options.limits.timeout.count() == 0) fail_to_serve("--timeout: expected at least 1 second, found 0");
  if (options.limits.max_body_bytes == 0) fail_to_serve("--max-body: expected at least 1 byte, found 0");
  if (options.http.max_connections == 0) fail_to_serve("--max-connections: expected at least 1, found 0");
  if (options.http.max_connections_per_address == 0) {
    fail_to_serve("--max-connections-per-address: expected at least 1, found 0");
  }
  constexpr std::size_t kMaxMegapixels = std::size_t{1} << 20U;
  if (options.max_megapixels == 0 || options.max_megapixels > kMaxMegapixels) {
    fail_to_serve(fmt::format("--max-megapixels: expected 1 to {}, found {}", kMaxMegapixels, options.max_megapixels));
  }
}

void serve(const ServeOptions& options, const std::stop_token& stop_token,
           const std::function<void(const std::string& url)>& listening) {
  attnflow::check_serve_options(options);
  ApiOptions api_options;
  api_options.models = options.models;
  api_options.load.device = options.device;
  api_options.load.copy_weights = true;
  api_options.open.allow_unused_weights = options.allow_unused_weights;
  api_options.load.threads =
      options.threads > 0 ? options.threads : std::max<std::size_t>(1, resolve_threads(0) / options.limits.workers);
  api_options.guard = {options.http.host, options.http.port, options.allowed_hosts, options.token};
  api_options.log = options.log;
  ApiLimits& limits = api_options.limits;
  limits = options.limits;
  limits.max_pixels = options.max_megapixels * kMebibyte;
  limits.max_memory = options.max_memory_mib * kMebibyte;
  if (limits.max_memory == 0) {
    if (const auto available = available_memory()) limits.max_memory = *available / 2 / limits.workers;
  }

  HttpServerOptions http = options.http;
  http.max_connections_per_address = std::min(http.max_connections_per_address, http.max_connections);
  // The server outlives the work whose responses it sends.
  std::unique_ptr<Api> api;
  HttpHandler handler;
  handler.admit = [&api](const HttpRequest& request, std::size_t& most) { return api->admit(request, most); };
  handler.handle = [&api](const std::shared_ptr<HttpExchange>& exchange) { api->handle(exchange); };
  handler.problem = [](unsigned status, const std::string& kind, const std::string& message) {
    return error_response(status, kind, message);
  };
  handler.complete = &Api::complete;
  HttpServer server(http, std::move(handler));
  api = std::make_unique<Api>(std::move(api_options));
  api->set_port(server.port());

  listening(server.url());
  const std::stop_callback end(stop_token, [&server] { server.stop(); });
  server.run();
  api.reset();
}

}  // namespace attnflow
