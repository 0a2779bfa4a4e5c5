// One connection of an HttpServer, and what connections share. Internal to serve/: http_server.h says what they keep
// to.
//
// A connection reads a request, waits for its answer, writes it, and begins again. There is always one read under way
// (but when a client has sent too much ahead), and at most one write. Everything here runs on the server's one thread,
// but for the HttpExchange that a connection gives away.
#ifndef ATTNFLOW_SERVE_HTTP_CONNECTION_H_
#define ATTNFLOW_SERVE_HTTP_CONNECTION_H_

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

#include "attnflow/serve/http_server.h"

namespace attnflow {

class HttpConnection;

struct HttpHub {
  boost::asio::io_context io{1};
  HttpServerOptions options;
  HttpHandler handler;
  std::set<std::shared_ptr<HttpConnection>> connections;
  std::size_t body_bytes = 0;    // promised to connections for their requests' bodies
  std::size_t answer_bytes = 0;  // of answers that clients have not taken
  bool ending = false;
  std::function<void()> emptied;  // the last connection is closed

  HttpResponse problem(unsigned status, const std::string& kind, const std::string& message) const {
    return handler.problem(status, kind, message);
  }
  // Makes a place for one more connection of `client`, where there is none, by closing one that has asked nothing.
  // False: there is no such connection.
  bool make_place(const std::string& client);
  // Whether `asking` may keep `bytes` more for its client. Connections that have waited for theirs for long are closed
  // to make it so. Where no other keeps anything, no answer is too long.
  bool make_room(std::size_t bytes, const HttpConnection& asking);
  void forget(const std::shared_ptr<HttpConnection>& connection);
};

// "127.0.0.1", "[::1]": an address as URLs have it.
std::string url_address(const boost::asio::ip::address& address);

class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
 public:
  HttpConnection(std::shared_ptr<HttpHub> hub, boost::asio::ip::tcp::socket socket);

  void start(bool overloaded);
  // The server is about to end: nobody is waited for who has not asked anything.
  void begin_end();
  // The time for that is over.
  void end_work();
  void close();

  // Who is at the other end: an address, or the first half of an IPv6 one, which is what one customer gets.
  const std::string& client() const { return client_; }
  // Nothing has been asked, or what was asked is refused or answered: nobody loses much by its being closed.
  bool may_give_way() const {
    return state_ == State::kIdle || state_ == State::kHeader || state_ == State::kClosing || refused_;
  }
  std::chrono::steady_clock::time_point waits_since() const { return waits_since_; }

 private:
  enum class State {
    kIdle,     // nothing of a request has come
    kHeader,   // part of one has
    kBody,     // its header has
    kWork,     // the whole; the answer is being made or written
    kClosing,  // the answer is written, what the client still sends is thrown away
    kClosed,
  };
  struct Exchange;
  class Handle;
  friend struct HttpHub;
  using Clock = boost::asio::steady_timer::clock_type;
  using ExchangePointer = std::shared_ptr<Exchange>;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

  // Reading.
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

  // What a Handle is told; it comes too late where the exchange is another by now.
  void respond(const ExchangePointer& exchange, HttpResponse response);
  void begin_stream(const ExchangePointer& exchange, HttpResponse response);
  void send(const ExchangePointer& exchange, const std::string& part);
  void end_stream(const ExchangePointer& exchange);
  void unanswered(const ExchangePointer& exchange);
  void limit_time(const ExchangePointer& exchange, std::chrono::milliseconds time);
  void stop_exchange(StopReason why);
  HttpResponse stop_problem(StopReason why) const;

  // Writing.
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
  Clock::time_point waits_since_{};  // for a request, where it has to
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  HttpRequest request_;
  State state_ = State::kIdle;
  ExchangePointer exchange_;  // while it is not answered
  std::deque<std::string> out_;
  std::size_t written_ = 0;        // of the front
  std::size_t kept_ = 0;           // bytes in out_
  std::size_t put_ = 0;            // bytes since out_ was empty last
  Clock::time_point put_since_{};  // when that was
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

#endif  // ATTNFLOW_SERVE_HTTP_CONNECTION_H_
