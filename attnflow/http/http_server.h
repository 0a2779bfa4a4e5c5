// HTTP/1.1 with Boost.Asio and Beast's parser: connections, limits, timeouts, client disconnects, and orderly shutdown.
//
// One thread (the one that calls run()) reads and writes all connections; it does no computation. A request is handed
// over as an HttpExchange, which any thread may answer, at once or in parts. The connection is still read while an
// exchange is open, so that a disconnect is noticed: the exchange's stop token is triggered, and any later response is
// dropped. (A client that closes only its sending side also counts as disconnected: HTTP has no use for that, and the
// two cannot be distinguished.)
//
// Every request that is fully read gets a response: an exchange that is destroyed unanswered yields 500, or 503 if it
// was stopped by its time limit or by the server's shutdown.
//
// Places. Connections without a request, with only part of a header, or whose rejection is being sent, do not block new
// clients: when no place is left, overall or for one address, the one that has waited longest is closed. It is chosen
// from the newcomer's address if that is at its limit, otherwise from the address with the most connections. So a
// client that opens many idle connections closes its own.
//
// Limits, each with its own response: header size (431), body size (413, before the body is read if its length is
// given), bodies being read at the same time (503), connections (503), time for a header and a body to arrive (408, or
// nothing if nothing came), idle time between requests. A client must read its response without long pauses and at a
// minimum overall speed, or the connection is closed. Responses waiting for their clients have a common limit in bytes,
// enforced by closing the connection that has waited longest, or else by 503.
//
// Shutdown. stop() stops accepting connections and closes idle ones. Open exchanges have the grace period to be
// answered; then they are stopped, and answered 503. run() returns when the last connection is closed, at most two
// seconds later.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "attnflow/http/http_message.h"

namespace attnflow {

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;                     // 0: any free port
  std::size_t max_header_bytes = 16U << 10U;  // request line included
  std::size_t max_connections = 512;
  std::size_t max_connections_per_address = 512;                 // out of max_connections; for IPv6, per /64
  std::size_t max_body_bytes_at_once = std::size_t{256} << 20U;  // for all connections together
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{60'000};
  std::size_t max_answer_bytes_at_once = std::size_t{512} << 20U;  // that clients have not yet received
  std::size_t slowest_bytes_per_second = 16U << 10U;  // minimum overall speed at which a response must be received
  // Time for a client to take each 64 KiB of a response. The whole response may take this long plus its size divided by
  // slowest_bytes_per_second.
  std::chrono::milliseconds write_timeout{30'000};
  std::chrono::milliseconds idle_timeout{60'000};  // between requests; header_timeout applies to the first
  std::chrono::milliseconds grace{5'000};
};

enum class StopReason { kNone, kClientLeft, kTimeLimit, kShutdown };

struct StopWords {
  const char* kind;
  const char* message;
};
StopWords stop_words(StopReason reason);

// A request and the means to answer it. All functions may be called from any thread. Only the first call of respond()
// or begin_stream() takes effect; later calls, and all calls after the client has left, do nothing.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;
  // Returns the body, once, so that it need not be kept.
  virtual std::string take_body() = 0;
  virtual std::stop_token stop_token() const = 0;
  virtual StopReason stop_reason() const = 0;
  // Stops the exchange after `time` from now, and answers it 503 if no response has begun.
  virtual void limit_time(std::chrono::milliseconds time) = 0;

  virtual void respond(HttpResponse response) = 0;
  // Starts a response in parts; `response.body` is the first one. end_stream() or destruction ends it.
  virtual void begin_stream(HttpResponse response) = 0;
  virtual void send(std::string part) = 0;
  virtual void end_stream() = 0;
};

struct HttpHandler {
  // Called when the header has been read: a response rejects the request, whose body is then not read. Sets
  // `max_body_bytes` to the limit for the body (0: none allowed).
  std::function<std::optional<HttpResponse>(const HttpRequest& request, std::size_t& max_body_bytes)> admit;
  // Called with a whole request. Must not block or throw.
  std::function<void(std::shared_ptr<HttpExchange> exchange)> handle;
  // Returns the response for errors that the server reports itself: status, kind ("time_limit"), message.
  std::function<HttpResponse(unsigned status, const std::string& kind, const std::string& message)> problem;
  // Called with every response before it is sent, for common headers. May be empty.
  std::function<void(HttpResponse& response)> complete = {};
};

class HttpServer {
 public:
  // Binds and listens. Throws Error(kOther) saying that the address does not exist here or the port is taken.
  HttpServer(const HttpServerOptions& options, HttpHandler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // Only after run() has returned and every exchange is destroyed.
  ~HttpServer();

  std::uint16_t port() const;
  std::string url() const;
  // Serves until stop() is called from another thread, then shuts down as above. Call it once.
  void run();
  void stop();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// Whether a host to bind is reachable from this machine only. Throws Error(kUsage) if it is neither an address nor a
// known name.
bool is_loopback_host(const std::string& host);

}  // namespace attnflow
