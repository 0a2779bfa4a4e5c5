// The JSON API under /api/v1, and the page at /: which request does what.
//
// The routes are one table (routes()), which openapi.json describes and a test compares with it. A request is checked
// by its header alone (admit: host, path, method, origin, token, type, size), then read, its options are checked, and
// its work is put into the queue; all of that is quick and happens on the server's own thread. The work runs on a
// worker and answers from there, in one piece or as server-sent events.
#ifndef ATTNFLOW_SERVE_API_H_
#define ATTNFLOW_SERVE_API_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/serve/api_work.h"
#include "attnflow/serve/http_message.h"
#include "attnflow/serve/http_server.h"
#include "attnflow/serve/model_shelf.h"
#include "attnflow/serve/request_guard.h"
#include "attnflow/serve/stop_table.h"
#include "attnflow/serve/work_queue.h"

namespace attnflow {

struct ApiLimits {
  std::size_t queue = 64;                               // jobs that wait
  std::size_t workers = 2;                              // jobs that run
  std::size_t max_body_bytes = std::size_t{16} << 20U;  // of a picture
  std::size_t max_json_bytes = std::size_t{1} << 20U;   // of a request in JSON; less where max_body_bytes is less
  std::size_t max_pixels = std::size_t{32} << 20U;
  std::size_t max_memory = 0;  // bytes that one analysis may take; 0: what the machine has
  std::chrono::seconds timeout{60};
};

struct ApiOptions {
  std::vector<std::string> models;  // beside the built-in ones
  OpenOptions open;                 // of the models that are named
  LoadOptions load;                 // load.threads: of one analysis
  GuardSettings guard;              // port: set by start()
  ApiLimits limits;
  // Told what is wrong with the server itself, which clients are not: models that do not load. May be empty; any
  // thread.
  std::function<void(const std::string& message)> log = {};
};

class Api;

// A path and method that is answered.
struct Route {
  const char* method;
  const char* path;
  bool needs_token;
  std::vector<std::string> body_types;  // Content-Types that are taken; empty: no body
  void (Api::*handle)(const std::shared_ptr<HttpExchange>&);
};

class Api {
 public:
  explicit Api(ApiOptions options);

  static const std::vector<Route>& routes();
  // Adds what every answer says to a browser: nothing is guessed, framed, shared or told to others.
  static void complete(HttpResponse& response);

  // The port is known when the server listens.
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
  // The model of that name, or the first of the kinds that are taken. Throws ApiError.
  ShelfModel& model_for(const std::string& name, const std::vector<ModelKind>& kinds);
  // Loaded. Throws ApiError when that fails, whose message has no path of this machine.
  LoadedModel& load(ShelfModel& model) const;
  // How a request's work is run: `events` where the client does not say whether it wants them.
  WorkOptions work_options_for(const HttpRequest& request, const ShelfModel& shelf, bool events) const;
  // This server's limits, for an analysis.
  template <typename Options>
  void limit(const Work& work, Options& options) const;

  ApiOptions options_;
  ModelShelf shelf_;
  StopTable stops_;
  WorkQueue queue_;  // last: its jobs use the rest
};

// The OpenAPI document, JSON.
std::string_view openapi_json();

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_API_H_
