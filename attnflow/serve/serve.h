// The complete server: a page and a JSON API for the analyses (docs/serve.md).
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/http/http_server.h"
#include "attnflow/serve/api.h"

namespace attnflow {

struct ServeOptions {
  HttpServerOptions http{.port = 8080, .max_connections_per_address = 128};
  std::vector<std::string> models;         // in addition to the built-in ones: folders, GGUF files
  std::string token;                       // visible ASCII; below 16 characters, or empty: only for a loopback address
  std::vector<std::string> allowed_hosts;  // additional names of this server: "name" or "name:port"
  bool allow_unused_weights = false;       // for these models (OpenOptions)
  std::string device = "cpu";
  std::size_t threads = 0;          // for one analysis; 0: the processors divided among the workers
  ApiLimits limits;                 // except for pixels and memory:
  std::size_t max_megapixels = 32;  // of 2^20 pixels
  std::size_t max_memory_mib = 0;  // for one analysis; 0: half of the memory free at startup, divided among the workers
  // Receives the server's own problems, such as a model that does not load; called from any thread. May be empty.
  std::function<void(const std::string& message)> log = {};
};

// Throws Error(kUsage) for invalid options, and for a host that other machines can reach with a token under 16
// characters. Does not look at any model.
void check_serve_options(const ServeOptions& options);

// Serves until `stop_token` is triggered, then lets open requests be answered in the grace period. Calls `listening`
// once with the URL. Throws as check_serve_options() and reading the models' configs do, and Error(kOther) if the
// address is taken or does not belong to this machine.
void serve(const ServeOptions& options, const std::stop_token& stop_token,
           const std::function<void(const std::string& url)>& listening);

}  // namespace attnflow
