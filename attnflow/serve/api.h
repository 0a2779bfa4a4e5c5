// The JSON API under /api/v1 and the page at /: dispatches requests to their handlers.
//
// The routes form one table (routes()), which openapi.json describes; a test compares the two. The server's own thread
// quickly checks a request by its header (admit: host, path, method, origin, token, type, size), reads it, checks its
// options, and queues its work. A worker runs the work and sends the answer, in one piece or as server-sent events.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/http/http_message.h"
#include "attnflow/http/http_server.h"
#include "attnflow/http/request_guard.h"
#include "attnflow/http/stop_table.h"
#include "attnflow/http/work_queue.h"
#include "attnflow/model/model.h"
#include "attnflow/serve/api_work.h"
#include "attnflow/serve/model_shelf.h"

namespace attnflow {

struct ApiLimits {
  std::size_t queue = 64;                               // waiting jobs
  std::size_t workers = 2;                              // running jobs
  std::size_t max_body_bytes = std::size_t{16} << 20U;  // for an image
  std::size_t max_json_bytes = std::size_t{1} << 20U;   // for a JSON request; smaller if max_body_bytes is smaller
  std::size_t max_pixels = std::size_t{32} << 20U;
  std::size_t max_memory = 0;        // bytes that one analysis may use; 0: all that the machine has
  std::chrono::seconds timeout{60};  // for one analysis, without its time in the queue
};

struct ApiOptions {
  std::vector<std::string> models;  // in addition to the built-in ones
  OpenOptions open;                 // for the named models
  LoadOptions load;                 // load.threads applies to one analysis
  GuardSettings guard;              // its port is set by Api::set_port()
  ApiLimits limits;
  // Receives problems of the server that clients do not see, such as models that do not load. May be empty; called from
  // any thread.
  std::function<void(const std::string& message)> log = {};
};

class Api;

struct Route {
  const char* method;
  const char* path;
  bool needs_token;
  std::vector<std::string> body_types;  // accepted Content-Types; empty: no body
  void (Api::*handle)(const std::shared_ptr<HttpExchange>&);
};

class Api {
 public:
  explicit Api(ApiOptions options);

  static const std::vector<Route>& routes();
  // Headers of all responses: no sniffing, framing, sharing or referrers.
  static void complete(HttpResponse& response);

  // The port is known once the server listens.
  void set_port(std::uint16_t port) { options_.guard.port = port; }
  std::optional<HttpResponse> admit(const HttpRequest& request, std::size_t& max_body_bytes) const;
  void handle(const std::shared_ptr<HttpExchange>& exchange);

  void get_page(const std::shared_ptr<HttpExchange>& exchange);
  void get_health(const std::shared_ptr<HttpExchange>& exchange);
  void get_openapi(const std::shared_ptr<HttpExchange>& exchange);
  void get_models(const std::shared_ptr<HttpExchange>& exchange);
  void post_explain(const std::shared_ptr<HttpExchange>& exchange);
  void post_image(const std::shared_ptr<HttpExchange>& exchange);
  void post_generate(const std::shared_ptr<HttpExchange>& exchange);
  void post_evaluate(const std::shared_ptr<HttpExchange>& exchange);
  void post_stop(const std::shared_ptr<HttpExchange>& exchange);

 private:
  // The model with that name, or the first of the accepted kinds. Throws ApiError.
  ShelfModel& model_for(const std::string& name, const std::vector<ModelKind>& kinds);
  // Throws ApiError if loading fails, with a message that contains no local path.
  LoadedModel& load(ShelfModel& model) const;
  // `events` applies if the client states no preference.
  WorkOptions work_options_for(const HttpRequest& request, const ShelfModel& shelf, bool events) const;
  // This server's limits.
  template <typename Options>
  void limit(const Work& work, Options& options) const;

  ApiOptions options_;
  ModelShelf shelf_;
  StopTable stops_;
  WorkQueue queue_;  // last: its jobs use the rest
};

std::string_view openapi_json();

}  // namespace attnflow
