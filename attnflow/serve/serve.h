// The whole server: a page and a JSON API over the analyses (docs/serve.md).
#ifndef ATTNFLOW_SERVE_SERVE_H_
#define ATTNFLOW_SERVE_SERVE_H_

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/serve/api.h"
#include "attnflow/serve/http_server.h"

namespace attnflow {

struct ServeOptions {
  HttpServerOptions http{.port = 8080, .max_connections_per_address = 128};
  std::vector<std::string> models;         // beside the built-in ones: folders, GGUF files
  std::string token;                       // "" for none, which only a loopback address may have
  std::vector<std::string> allowed_hosts;  // names of this server beside its own: "name" or "name:port"
  bool allow_unused_weights = false;       // of these models (OpenOptions)
  std::string device = "cpu";
  std::size_t threads = 0;          // of one analysis; 0: the processors shared out among the workers
  ApiLimits limits;                 // but for pixels and memory:
  std::size_t max_megapixels = 32;  // of 2^20 pixels
  std::size_t max_memory_mib = 0;   // of one analysis; 0: half of what is free at the start, shared out
  // Told what is wrong with the server itself, such as a model that does not load; from any thread. May be empty.
  std::function<void(const std::string& message)> log = {};
};

// Throws Error(kUsage) for options that are wrong, and for a host that others can reach without a token. No model is
// looked at.
void check_serve_options(const ServeOptions& options);

// Serves until `stop_token` is triggered, then ends in order: open requests have the grace period to be answered.
// `listening` is called once with the URL. Throws what check_serve_options() throws, Error(kOther) when the address is
// taken or not this machine's, and what reading the models' configs throws.
void serve(const ServeOptions& options, const std::stop_token& stop_token,
           const std::function<void(const std::string& url)>& listening);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_SERVE_H_
