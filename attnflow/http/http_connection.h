// One connection of an HttpServer, and the state shared by all connections (http_server.h describes the behavior).
//
// A connection reads a request, waits for its response, writes it, and starts over. One read is always pending (unless
// a client has sent too much ahead), and at most one write. Everything here runs on the server's single thread, except
// for the HttpExchange that a connection hands out.
#pragma once

#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "attnflow/http/http_server.h"

namespace attnflow {

class HttpConnection;

struct HttpHub {
  boost::asio::io_context io{1};
  HttpServerOptions options;
  HttpHandler handler;
  std::set<std::shared_ptr<HttpConnection>> connections;
  std::size_t body_bytes = 0;    // reserved by connections for their request bodies
  std::size_t answer_bytes = 0;  // in responses that clients have not yet received
  bool ending = false;
  std::function<void()> emptied;  // called when the last connection is closed

  HttpResponse problem(unsigned status, const std::string& kind, const std::string& message) const {
    return handler.problem(status, kind, message);
  }
  // Makes a place for one more connection of `client`, if none is free, by closing one without a pending request.
  // Returns false if there is no such connection.
  bool make_place(const std::string& client);
  // Whether `asking` may hold `bytes` more for its client. Closes connections whose clients have been slow for long to
  // make room. If no other connection holds anything, no response is too long.
  bool make_room(std::size_t bytes, const HttpConnection& asking);
  void forget(const std::shared_ptr<HttpConnection>& connection);
};

// Formats an address as in URLs: "127.0.0.1", "[::1]".
std::string url_address(const boost::asio::ip::address& address);

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<HttpHub> hub, boost::asio::ip::tcp::socket socket);

  void start(bool overloaded);
  // The server is about to end: does not wait for clients that have not sent a request.
  void begin_end();
  // The time for pending work is over.
  void end_work();
  void close();

  // Identifies the client: an address, or the first half of an IPv6 address, which is what one customer is assigned.
  const std::string& client() const { return client_; }
  // No request has arrived, or it has been rejected or answered: closing the connection costs the client little.
  bool may_give_way() const {
    return state_ == State::kIdle || state_ == State::kHeader || state_ == State::kClosing || refused_;
  }
  std::chrono::steady_clock::time_point waits_since() const { return waits_since_; }

 private:
  enum class State {
    kIdle,     // no part of a request has arrived
    kHeader,   // part of the header has arrived
    kBody,     // the header has arrived
    kWork,     // the whole request has arrived; the response is being made or written
    kClosing,  // the response is written; further input from the client is discarded
    kClosed,
  };
  struct Exchange;
  class Handle;
  friend struct HttpHub;
  using Clock = boost::asio::steady_timer::clock_type;
  using ExchangePointer = std::shared_ptr<Exchange>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  void begin_request();
  void read();
  void on_read(boost::system::error_code error, std::size_t n);
  void parse();
  bool admit();
  void hand_over();
  bool refuse(HttpResponse response);
  bool refuse(unsigned status, const std::string& kind, const std::string& message);
  void refuse_malformed(boost::system::error_code error);
  void release_body();

  // Called by a Handle; has no effect if the exchange is no longer the current one.
  void respond(const ExchangePointer& exchange, HttpResponse response);
  void begin_stream(const ExchangePointer& exchange, HttpResponse response);
  void send(const ExchangePointer& exchange, const std::string& part);
  void end_stream(const ExchangePointer& exchange);
  void unanswered(const ExchangePointer& exchange);
  void limit_time(const ExchangePointer& exchange, std::chrono::milliseconds time);
  void stop_exchange(StopReason why);
  HttpResponse stop_problem(StopReason why) const;

  std::string head_of(HttpResponse& response, bool keep_alive, const std::string& framing) const;
  void add_part(const std::string& part);
  void put(std::string piece);
  void write();
  void on_written(boost::system::error_code error, std::size_t n);
  void finish_answer(bool keep_alive);
  void answered();

  void set_deadline(Clock::time_point time);
  void set_deadline(std::chrono::milliseconds time) { set_deadline(Clock::now() + time); }
  void too_late();

  std::shared_ptr<HttpHub> hub_;
  boost::asio::ip::tcp::socket socket_;
  boost::asio::executor_work_guard<boost::asio::ip::tcp::socket::executor_type> guard_;
  boost::asio::steady_timer deadline_;
  boost::asio::steady_timer time_limit_;
  std::string address_;
  std::string client_;
  Clock::time_point waits_since_{};  // for a request, if it is waiting for one
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  HttpRequest request_;
  State state_ = State::kIdle;
  ExchangePointer exchange_;  // until it is answered
  std::deque<std::string> out_;
  std::size_t written_ = 0;        // of the front element
  std::size_t kept_ = 0;           // bytes in out_
  std::size_t put_ = 0;            // bytes since out_ was last empty
  Clock::time_point put_since_{};  // when out_ was last empty
  std::size_t max_body_ = 0;
  std::size_t promised_ = 0;
  std::size_t thrown_away_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool streaming_ = false;
  bool stream_keep_alive_ = false;
  bool keep_alive_ = true;
  bool close_after_ = false;
  bool first_ = true;     // no request has been read yet
  bool refused_ = false;  // by refuse()
};

}  // namespace attnflow
