// HTTP/1.1 over Boost.Asio and Beast's parser: connections, limits, timeouts, clients that leave, and an orderly end.
//
// One thread (the one that calls run()) reads and writes all connections; it never computes. A request is handed over
// as an HttpExchange, which any thread may answer, at once or in parts. While an exchange is open the connection is
// still read, so that a client that goes away is noticed: the exchange's stop token is triggered, and whatever is
// answered then is dropped. (A client that closes only its sending side has gone, too: HTTP has no use for that, and
// the two look alike.)
//
// Every request that was read to its end gets an answer: an exchange that is destroyed unanswered says 500, or 503
// where it was stopped by its time limit or by the server's end.
//
// Places. Connections that have asked nothing yet, or only part of a header, or whose refusal is on its way, keep
// nobody out: where there is no place left, in all or for one address, the one of them that has waited longest gives
// way to who comes; of an address that has most of them, where all are taken. So whoever opens many and says nothing
// closes his own.
//
// Limits, each with its own answer: header size (431), body size (413, before it is read where its length is said),
// bodies being read at the same time (503), connections (503), time for a header and a body to arrive (408, or nothing
// where nothing came), idle time between requests. An answer must be taken without long pauses and at a least speed on
// the whole, else the connection is closed; answers that wait for their clients have a limit of bytes together, kept by
// closing who has waited longest, or else by 503.
//
// The end: stop() closes the door and idle connections. Open exchanges have the grace period to be answered; then they
// are stopped, and answered 503. run() returns when the last connection is closed, at the latest two seconds after
// that.
#ifndef ATTNFLOW_SERVE_HTTP_SERVER_H_
#define ATTNFLOW_SERVE_HTTP_SERVER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "attnflow/serve/http_message.h"

namespace attnflow {

struct HttpServerOptions {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;                     // 0: any that is free
  std::size_t max_header_bytes = 16U << 10U;  // request line included
  std::size_t max_connections = 512;
  std::size_t max_connections_per_address = 512;                 // of max_connections; IPv6: of a /64
  std::size_t max_body_bytes_at_once = std::size_t{256} << 20U;  // of all connections together
  std::chrono::milliseconds header_timeout{10'000};
  std::chrono::milliseconds body_timeout{60'000};
  std::size_t max_answer_bytes_at_once = std::size_t{512} << 20U;  // that clients have not taken
  std::size_t slowest_bytes_per_second = 16U << 10U;               // at which an answer must be taken, on the whole
  std::chrono::milliseconds write_timeout{30'000};                 // for each 64 KiB, and on top of that for the whole
  std::chrono::milliseconds idle_timeout{60'000};  // between requests; for the first one header_timeout holds
  std::chrono::milliseconds grace{5'000};
};

enum class StopReason { kNone, kClientLeft, kTimeLimit, kShutdown };

// What a client is told whose work was stopped: the error's kind and message.
struct StopWords {
  const char* kind;
  const char* message;
};
StopWords stop_words(StopReason reason);

// A request and the way to answer it. All functions may be called from any thread. The first of respond() and
// begin_stream() counts; later calls, and all after the client left, do nothing.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  virtual const HttpRequest& request() const = 0;
  // The body is handed over once, so that it needs not be kept.
  virtual std::string take_body() = 0;
  virtual std::stop_token stop_token() const = 0;
  virtual StopReason stop_reason() const = 0;
  // From now on the exchange is stopped, and answered 503 if it is not begun, when the time is over.
  virtual void limit_time(std::chrono::milliseconds time) = 0;

  virtual void respond(HttpResponse response) = 0;
  // An answer in parts; `response.body` is the first one. end_stream() ends it; destruction does, too.
  virtual void begin_stream(HttpResponse response) = 0;
  virtual void send(std::string part) = 0;
  virtual void end_stream() = 0;
};

struct HttpHandler {
  // Asked when the header has been read: an answer refuses the request, whose body is then not read. `max_body_bytes`
  // becomes the limit of the body (0: none may come).
  std::function<std::optional<HttpResponse>(const HttpRequest& request, std::size_t& max_body_bytes)> admit;
  // Called with a whole request. Must not block or throw.
  std::function<void(std::shared_ptr<HttpExchange> exchange)> handle;
  // The body of answers that the server gives by itself: status, kind ("time_limit"), message.
  std::function<HttpResponse(unsigned status, const std::string& kind, const std::string& message)> problem;
  // Called with every answer before it is sent, for what all have. May be empty.
  std::function<void(HttpResponse& response)> complete = {};
};

class HttpServer {
 public:
  // Binds and listens. Throws Error(kOther): the address does not exist here, or the port is taken; the message says
  // which.
  HttpServer(const HttpServerOptions& options, HttpHandler handler);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  // After run() has returned and every exchange is destroyed.
  ~HttpServer();

  std::uint16_t port() const;
  // "http://127.0.0.1:8080/".
  std::string url() const;
  // Serves until stop() is called from another thread, then ends as above. Once.
  void run();
  void stop();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

// Whether a host to bind can be reached from this machine alone. Throws Error(kUsage) for what is no address and no
// known name.
bool is_loopback_host(const std::string& host);

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_HTTP_SERVER_H_
