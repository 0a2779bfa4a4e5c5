#include "attnflow/serve/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "attnflow/draw/viewer_page.h"
#include "attnflow/files/messages.h"
#include "attnflow/http/api_error.h"
#include "attnflow/serve/analysis_error.h"

namespace attnflow {
namespace {

constexpr std::size_t kMaxShownPath = 60;

std::string quoted(const std::string& text) { return internal::quote_name(text, kMaxShownPath); }

bool is_method(const Route& route, const std::string& method) {
  return method == route.method || (method == "HEAD" && std::strcmp(route.method, "GET") == 0);
}

const Route* find_route(const HttpRequest& request) {
  for (const Route& route : Api::routes()) {
    if (request.path == route.path && is_method(route, request.method)) return &route;
  }
  return nullptr;
}

HttpResponse no_route(const HttpRequest& request) {
  std::vector<std::string> methods;
  for (const Route& route : Api::routes()) {
    if (request.path == route.path) methods.emplace_back(route.method);
  }
  if (methods.empty()) {
    return error_response(404, "not_found",
                          fmt::format("expected a path of this server (/api/v1/openapi.json lists them), found {}",
                                      quoted(request.path)));
  }
  if (std::find(methods.begin(), methods.end(), "GET") != methods.end()) methods.emplace_back("HEAD");
  HttpResponse response = error_response(405, "wrong_method",
                                         fmt::format("expected the method {} for {}, found {}",
                                                     fmt::join(methods, " or "), request.path, quoted(request.method)));
  response.headers.emplace_back("Allow", fmt::format("{}", fmt::join(methods, ", ")));
  return response;
}

}  // namespace

Api::Api(ApiOptions options)
    : options_(std::move(options)),
      shelf_(options_.models, options_.open),
      queue_(options_.limits.workers, options_.limits.queue) {
  if (!options_.log) return;
  for (const std::string& warning : shelf_.warnings()) options_.log(warning);
}

const std::vector<Route>& Api::routes() {
  static const std::vector<std::string> kJson = {"application/json"};
  static const std::vector<std::string> kPictures = {"image/png", "image/jpeg", "image/webp"};
  static const std::vector<Route> kRoutes = {
      {"GET", "/", false, {}, &Api::get_page},
      {"GET", "/api/v1/health", false, {}, &Api::get_health},
      {"GET", "/api/v1/openapi.json", true, {}, &Api::get_openapi},
      {"GET", "/api/v1/models", true, {}, &Api::get_models},
      {"POST", "/api/v1/explain", true, kJson, &Api::post_explain},
      {"POST", "/api/v1/image", true, kPictures, &Api::post_image},
      {"POST", "/api/v1/generate", true, kJson, &Api::post_generate},
      {"POST", "/api/v1/evaluate", true, kJson, &Api::post_evaluate},
      {"POST", "/api/v1/stop", true, kJson, &Api::post_stop},
  };
  return kRoutes;
}

void Api::complete(HttpResponse& response) {
  response.headers.emplace_back("X-Content-Type-Options", "nosniff");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.emplace_back("X-Frame-Options", "DENY");
  const auto is_policy = [](const auto& header) { return header.first == "Content-Security-Policy"; };
  if (std::none_of(response.headers.begin(), response.headers.end(), is_policy)) {
    response.headers.emplace_back("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");
  }
}

std::optional<HttpResponse> Api::admit(const HttpRequest& request, std::size_t& max_body_bytes) const {
  max_body_bytes = 0;
  if (const auto refusal = check_host(request, options_.guard)) return error_response(*refusal);
  const Route* const route = find_route(request);
  if (route == nullptr) return no_route(request);
  // The page may be linked from anywhere, but not its resources.
  if (request.path != "/") {
    if (const auto refusal = check_origin(request)) return error_response(*refusal);
  }
  if (route->needs_token) {
    if (const auto refusal = check_token(request, options_.guard)) return error_response(*refusal);
  }
  if (!route->body_types.empty()) {
    if (const auto refusal = check_content_type(request, route->body_types)) return error_response(*refusal);
    if (const auto refusal = check_content_encoding(request)) return error_response(*refusal);
    const ApiLimits& limits = options_.limits;
    const bool json = route->body_types.front() == "application/json";
    max_body_bytes = json ? std::min(limits.max_json_bytes, limits.max_body_bytes) : limits.max_body_bytes;
  }
  return std::nullopt;
}

void Api::handle(const std::shared_ptr<HttpExchange>& exchange) {
  const Route* const route = find_route(exchange->request());  // not null, since the request was admitted
  try {
    (this->*route->handle)(exchange);
  } catch (const std::exception& error) {
    exchange->respond(error_response(api_error_of(error)));
  }
}

ShelfModel& Api::model_for(const std::string& name, const std::vector<ModelKind>& kinds) {
  const auto takes = [&](const ShelfModel& model) {
    return std::find(kinds.begin(), kinds.end(), model.kind) != kinds.end();
  };
  std::vector<std::string> names;
  for (const ShelfModel& model : shelf_.models()) {
    if (takes(model)) names.push_back(model.name);
  }
  if (name.empty()) {
    if (ShelfModel* const model = shelf_.first(kinds)) return *model;
    throw ApiError(422, "unsupported_model",
                   fmt::format("model: expected one of kind {}, found none on this server (attnflow serve --model)",
                               model_kind_name(kinds.front())));
  }
  ShelfModel* const model = shelf_.find(name);
  if (model == nullptr) {
    throw ApiError(
        404, "unknown_model",
        fmt::format("model: expected one of this server ({}), found {}",
                    names.empty() ? "it has none for this" : fmt::format("{}", fmt::join(names, ", ")), quoted(name)));
  }
  if (!takes(*model)) {
    throw ApiError(422, "unsupported_model",
                   fmt::format("model: expected one of kind {}, found {}, of kind {}", model_kind_name(kinds.front()),
                               model->name, model_kind_name(model->kind)));
  }
  return *model;
}

LoadedModel& Api::load(ShelfModel& model) const {
  try {
    return model.load(options_.load);
  } catch (const std::exception& error) {
    if (options_.log) options_.log(fmt::format("{}: {}", model.name, error.what()));
    throw ApiError(500, "internal", fmt::format("the model {} failed to load; see the server's log", model.name));
  }
}

void Api::get_page(const std::shared_ptr<HttpExchange>& exchange) {
  HttpResponse response;
  response.content_type = "text/html; charset=utf-8";
  // A meta element cannot express this policy.
  response.headers = {{"Cache-Control", "no-cache"},
                      {"Content-Security-Policy", std::string(viewer_server_policy()) + "; frame-ancestors 'none'"}};
  static const std::string page = viewer_server_page();
  response.body = page;
  exchange->respond(std::move(response));
}

void Api::get_health(const std::shared_ptr<HttpExchange>& exchange) {
  exchange->respond({.headers = {{"Cache-Control", "no-store"}},
                     .body = fmt::format("{{\"status\":\"ok\",\"running\":{},\"waiting\":{}}}\n", queue_.running(),
                                         queue_.waiting())});
}

void Api::get_openapi(const std::shared_ptr<HttpExchange>& exchange) {
  exchange->respond({.headers = {{"Cache-Control", "no-cache"}}, .body = std::string(openapi_json())});
}

}  // namespace attnflow
