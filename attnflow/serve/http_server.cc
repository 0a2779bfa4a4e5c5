#include "attnflow/serve/http_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <deque>
#include <functional>
#include <limits>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "attnflow/base/error.h"

namespace attnflow {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr std::size_t kReadBytes = std::size_t{16} << 10U;
constexpr std::size_t kWriteBytes = std::size_t{64} << 10U;
// What may arrive behind a request that is being worked on, before its answer: then the connection is not read any
// more.
constexpr std::size_t kMostBytesAhead = std::size_t{64} << 10U;
// What a client may still send to a connection that is being closed before its answer would be lost.
constexpr milliseconds kLinger{1'000};
constexpr std::size_t kMostLingerBytes = std::size_t{4} << 20U;
constexpr milliseconds kLastWords{2'000};  // behind the grace period
constexpr milliseconds kAcceptPause{100};  // when there are no file descriptors left

tcp::endpoint resolve(const std::string& host, std::uint16_t port) {
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) return {address, port};
  asio::io_context context;
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(host, std::to_string(port), error);
  if (error || found.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("--host: expected an address or a name of this machine, found '{}': {}",
                                               host, error.message()));
  }
  // "localhost" is both 127.0.0.1 and ::1; what people type is the former.
  for (const auto& one : found) {
    if (one.endpoint().address().is_v4()) return one.endpoint();
  }
  return found.begin()->endpoint();
}

std::string url_address(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

std::string response_head(const HttpResponse& response, bool keep_alive, const std::string& framing) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nServer: attnflow\r\nContent-Type: {}\r\n", response.status,
                                 status_text(response.status), response.content_type);
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += framing;
  head += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

}  // namespace

// Everything but the answer functions runs on the server's one thread.
class HttpServer::Impl : public std::enable_shared_from_this<HttpServer::Impl> {
 public:
  Impl(const HttpServerOptions& options, HttpHandler handler)
      : options_(options), handler_(std::move(handler)), acceptor_(io_), accept_pause_(io_), end_(io_) {
    const tcp::endpoint endpoint = resolve(options.host, options.port);
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      throw Error(ErrorKind::kOther,
                  fmt::format("expected to listen at {}:{}, found: {}; --port 0 takes any port that is free",
                              url_address(endpoint.address()), endpoint.port(), error.message()));
    }
    local_ = acceptor_.local_endpoint();
  }

  class Session;

  void run() {
    accept();
    for (;;) {
      try {
        io_.run();
        return;
      } catch (const std::bad_alloc&) {
        // One connection wanted more memory than there is. What it had pending is gone with the exception; its deadline
        // closes it, and the others go on.
      }
    }
  }

  void stop() {
    asio::post(io_, [self = shared_from_this()] { self->begin_end(); });
  }

  // What the end of run() left behind: answers to clients that are gone.
  void drain() {
    io_.restart();
    io_.poll();
  }

  const tcp::endpoint& local() const { return local_; }

 private:
  void accept();
  void add(tcp::socket socket);
  void begin_end();
  void forget(const std::shared_ptr<Session>& session);

  HttpResponse problem(unsigned status, const std::string& kind, const std::string& message) const {
    return handler_.problem(status, kind, message);
  }

  HttpServerOptions options_;
  HttpHandler handler_;
  asio::io_context io_{1};
  tcp::acceptor acceptor_;
  asio::steady_timer accept_pause_;
  asio::steady_timer end_;
  tcp::endpoint local_;
  std::set<std::shared_ptr<Session>> sessions_;
  std::size_t body_bytes_ = 0;  // promised to connections
  bool ending_ = false;
};

// What an exchange and its connection have in common.
struct ExchangeState {
  HttpRequest request;
  bool keep_alive = true;
  bool chunks = true;  // HTTP/1.1
  std::stop_source stop;
  std::atomic<StopReason> reason = StopReason::kNone;
  std::atomic<bool> answered = false;  // begun, at least

  void stop_for(StopReason why) {
    StopReason none = StopReason::kNone;
    if (reason.compare_exchange_strong(none, why)) stop.request_stop();
  }
};

// A connection: reads a request, waits for its answer, writes it, and begins again. There is always one read under way
// (but when a client has sent too much ahead), and at most one write.
class HttpServer::Impl::Session : public std::enable_shared_from_this<HttpServer::Impl::Session> {
 public:
  Session(std::shared_ptr<Impl> server, tcp::socket socket)
      : server_(std::move(server)),
        socket_(std::move(socket)),
        guard_(asio::make_work_guard(socket_.get_executor())),
        deadline_(socket_.get_executor()),
        time_limit_(socket_.get_executor()) {}

  void start(bool overloaded) {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    const auto end = socket_.local_endpoint(ignored);
    if (!ignored) address_ = url_address(end.address());
    if (overloaded) {
      refuse(server_->problem(503, "overloaded",
                              "expected fewer connections at the same time; close some, or come back in a second"));
    } else {
      begin_request();
    }
    read();
  }

  // The server is about to end: nobody is waited for who has not asked anything.
  void begin_end() {
    error_code ignored;
    if (state_ == State::kIdle && socket_.available(ignored) == 0) close();
  }

  void end_work() {
    if (exchange_) stop_exchange(StopReason::kShutdown);
    if (state_ == State::kHeader || state_ == State::kBody) {
      refuse(server_->problem(503, "shutting_down", "this server is ending"));
    }
  }

  void close() {
    if (state_ == State::kClosed) return;
    state_ = State::kClosed;
    if (exchange_) exchange_->stop_for(StopReason::kClientLeft);
    exchange_.reset();
    release_body();
    deadline_.cancel();
    time_limit_.cancel();
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_both, ignored);
    socket_.close(ignored);
    guard_.reset();
    server_->forget(shared_from_this());
  }

  using ExchangePointer = std::shared_ptr<ExchangeState>;

  void respond(const ExchangePointer& exchange, HttpResponse response) {
    if (exchange != exchange_ || streaming_) return;
    const bool keep_alive = exchange->keep_alive && !server_->ending_;
    const bool body = exchange->request.method != "HEAD";
    put(response_head(response, keep_alive, fmt::format("Content-Length: {}\r\n", response.body.size())));
    if (body) put(std::move(response.body));
    finish_answer(keep_alive);
  }

  void begin_stream(const ExchangePointer& exchange, const HttpResponse& response) {
    if (exchange != exchange_ || streaming_) return;
    streaming_ = true;
    stream_keep_alive_ = exchange->keep_alive && exchange->chunks && !server_->ending_;
    const char* framing = exchange->chunks ? "Transfer-Encoding: chunked\r\n" : "";
    put(response_head(response, stream_keep_alive_, framing));
    add_part(response.body);
    write();
  }

  void send(const ExchangePointer& exchange, const std::string& part) {
    if (exchange != exchange_ || !streaming_) return;
    add_part(part);
    write();
  }

  void end_stream(const ExchangePointer& exchange) {
    if (exchange != exchange_ || !streaming_) return;
    if (exchange->chunks) put("0\r\n\r\n");
    finish_answer(stream_keep_alive_);
  }

  void unanswered(const ExchangePointer& exchange);

  void limit_time(const ExchangePointer& exchange, milliseconds time) {
    if (exchange != exchange_) return;
    time_limit_.expires_after(time);
    time_limit_.async_wait([self = shared_from_this(), exchange](error_code error) {
      if (!error && exchange == self->exchange_) self->stop_exchange(StopReason::kTimeLimit);
    });
  }

  std::shared_ptr<Impl> server() const { return server_; }
  auto executor() { return socket_.get_executor(); }

 private:
  enum class State {
    kIdle,     // nothing of a request has come
    kHeader,   // part of one has
    kBody,     // its header has
    kWork,     // the whole; the answer is being made or written
    kClosing,  // the answer is written, what the client still sends is thrown away
    kClosed,
  };

  void begin_request() {
    state_ = State::kIdle;
    parser_.emplace();
    parser_->header_limit(static_cast<std::uint32_t>(server_->options_.most_header_bytes));
    // The handler says, when it knows what is asked. (None is no limit by the documentation, and 0 in Boost 1.74.)
    parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
    set_deadline(server_->options_.idle_timeout);
  }

  void set_deadline(milliseconds time) {
    deadline_.expires_after(time);
    deadline_.async_wait([self = shared_from_this()](error_code error) {
      if (!error) self->too_late();
    });
  }

  void too_late() {
    if (deadline_.expiry() > asio::steady_timer::clock_type::now()) return;  // set again in the meantime
    if (state_ == State::kHeader || state_ == State::kBody) {
      refuse(server_->problem(408, "too_slow", "expected the whole request in less time"));
    } else {
      close();
    }
  }

  void read() {
    if (reading_ || state_ == State::kClosed) return;
    if (state_ == State::kWork && buffer_.size() >= kMostBytesAhead) return;
    reading_ = true;
    socket_.async_read_some(buffer_.prepare(kReadBytes), [self = shared_from_this()](error_code error, std::size_t n) {
      self->reading_ = false;
      self->buffer_.commit(n);
      self->on_read(error, n);
    });
  }

  void on_read(error_code error, std::size_t n) {
    if (state_ == State::kClosed) return;
    if (error) {
      // What is already on its way may still be wanted (a client may close its sending side when it has asked).
      const bool answered = !exchange_ && (writing_ || !out_.empty());
      if (error == asio::error::eof && answered) {
        close_after_ = true;
      } else {
        close();
      }
      return;
    }
    if (state_ == State::kClosing) {
      buffer_.consume(buffer_.size());
      thrown_away_ += n;
      if (thrown_away_ > kMostLingerBytes) {
        close();
        return;
      }
    } else if (state_ != State::kWork) {
      parse();
    }
    read();
  }

  void parse() {
    while (buffer_.size() > 0 && (state_ == State::kIdle || state_ == State::kHeader || state_ == State::kBody)) {
      if (state_ == State::kIdle) {
        state_ = State::kHeader;
        set_deadline(server_->options_.header_timeout);
      }
      error_code error;
      const std::size_t used = parser_->put(buffer_.data(), error);
      buffer_.consume(used);
      if (error && error != http::error::need_more) {
        refuse_malformed(error);
        return;
      }
      if (state_ == State::kHeader && parser_->is_header_done() && !admit()) return;
      if (state_ == State::kBody && parser_->is_done()) {
        hand_over();
        return;
      }
      // The parser takes a body as it comes. What it leaves lying is the beginning of a chunk's extensions or of
      // trailers, which have no limit in it.
      if (state_ == State::kBody && buffer_.size() > server_->options_.most_header_bytes) {
        refuse(server_->problem(
            431, "header_too_large",
            fmt::format("expected extensions and trailers of a chunked body of at most {} bytes, found more",
                        server_->options_.most_header_bytes)));
        return;
      }
      if (error == http::error::need_more) return;
    }
  }

  void refuse_malformed(error_code error) {
    if (error == http::error::header_limit) {
      refuse(server_->problem(
          431, "header_too_large",
          fmt::format("expected a header of at most {} bytes, found more", server_->options_.most_header_bytes)));
    } else if (error == http::error::body_limit) {
      refuse(server_->problem(413, "body_too_large",
                              fmt::format("expected a body of at most {} bytes, found more", most_body_)));
    } else if (error == http::error::bad_version) {
      refuse(server_->problem(505, "bad_request", "expected HTTP/1.1, found another version"));
    } else {
      refuse(server_->problem(400, "bad_request",
                              fmt::format("expected an HTTP/1.1 request, found: {}", error.message())));
    }
  }

  // The header is there: is the request taken? If not, it is answered.
  bool admit() {
    const auto& header = parser_->get();
    request_ = HttpRequest{};
    request_.method = std::string(header.method_string());
    const std::string_view target(header.target().data(), header.target().size());
    const std::size_t question = target.find('?');
    request_.path = target.substr(0, question);
    if (question != std::string_view::npos) request_.query = target.substr(question + 1);
    request_.server_address = address_;
    for (const auto& field : header) {
      request_.headers.emplace_back(lower(std::string_view(field.name_string().data(), field.name_string().size())),
                                    std::string(field.value()));
    }
    if (server_->ending_) {
      refuse(server_->problem(503, "shutting_down", "this server is ending"));
      return false;
    }
    // Where a body ends must be beyond doubt (RFC 9112, 6.3): what follows would be taken for another request.
    const auto codings = header.count(http::field::transfer_encoding);
    if (codings > 0 && (codings > 1 || header.version() < 11 ||
                        lower(std::string_view(header[http::field::transfer_encoding].data(),
                                               header[http::field::transfer_encoding].size())) != "chunked")) {
      refuse(server_->problem(400, "bad_request",
                              "Transfer-Encoding: expected chunked in HTTP/1.1, found something else"));
      return false;
    }
    most_body_ = 0;
    if (auto refusal = server_->handler_.admit(request_, most_body_)) {
      refuse(std::move(*refusal));
      return false;
    }
    const auto length = parser_->content_length();
    if (length && *length > most_body_) {
      refuse(
          server_->problem(413, "body_too_large",
                           fmt::format("expected a body of at most {} bytes, found one of {}", most_body_, *length)));
      return false;
    }
    if (most_body_ == 0 && parser_->chunked()) {
      refuse(server_->problem(413, "body_too_large", "expected no body, found a chunked one"));
      return false;
    }
    const bool has_body = length.value_or(0) > 0 || parser_->chunked();
    promised_ = has_body ? static_cast<std::size_t>(length.value_or(most_body_)) : 0;
    if (promised_ > server_->options_.most_body_bytes_at_once - server_->body_bytes_) {
      promised_ = 0;
      refuse(server_->problem(503, "overloaded",
                              "too many bodies are being sent at the same time; come back in a second"));
      return false;
    }
    server_->body_bytes_ += promised_;
    parser_->body_limit(most_body_);
    state_ = State::kBody;
    set_deadline(server_->options_.body_timeout);
    if (const auto expects = request_.header("expect")) {
      if (lower(*expects) != "100-continue") {
        refuse(server_->problem(417, "bad_request", "Expect: expected 100-continue, found something else"));
        return false;
      }
      if (has_body && !parser_->is_done()) {
        put("HTTP/1.1 100 Continue\r\n\r\n");
        write();
      }
    }
    return true;
  }

  void hand_over();

  // An answer that ends the connection: what the client has still to send is not wanted.
  void refuse(HttpResponse response) {
    if (state_ == State::kWork || state_ == State::kClosing || state_ == State::kClosed) return;
    state_ = State::kWork;
    release_body();
    put(response_head(response, false, fmt::format("Content-Length: {}\r\n", response.body.size())));
    if (request_.method != "HEAD") put(std::move(response.body));
    finish_answer(false);
  }

  void finish_answer(bool keep_alive) {
    exchange_.reset();
    streaming_ = false;
    time_limit_.cancel();
    keep_alive_ = keep_alive;
    write();
  }

  void add_part(const std::string& part) {
    if (part.empty()) return;
    if (!exchange_->chunks) {
      put(part);
      return;
    }
    put(fmt::format("{:x}\r\n{}\r\n", part.size(), part));
  }

  // Small pieces are written together.
  void put(std::string piece) {
    if (piece.empty()) return;
    const bool may_join = out_.size() > (writing_ ? 1U : 0U) && out_.back().size() + piece.size() <= kWriteBytes;
    if (may_join) {
      out_.back() += piece;
    } else {
      out_.push_back(std::move(piece));
    }
  }

  void write() {
    if (writing_ || state_ == State::kClosed) return;
    if (out_.empty()) {
      // While a request is being read, what was written was no answer.
      if (!exchange_ && state_ == State::kWork) answered();
      return;
    }
    writing_ = true;
    // What waits is an answer's or an event's: the deadline is that of this piece.
    set_deadline(server_->options_.write_timeout);
    const std::string& front = out_.front();
    const std::size_t size = std::min(kWriteBytes, front.size() - written_);
    asio::async_write(socket_, asio::buffer(front.data() + written_, size),
                      [self = shared_from_this()](error_code error, std::size_t n) { self->on_written(error, n); });
  }

  void on_written(error_code error, std::size_t n) {
    writing_ = false;
    if (state_ == State::kClosed) return;
    if (error) {
      close();
      return;
    }
    written_ += n;
    if (written_ == out_.front().size()) {
      out_.pop_front();
      written_ = 0;
    }
    if (out_.empty()) {
      if (state_ == State::kBody) {
        set_deadline(server_->options_.body_timeout);
      } else {
        deadline_.expires_at(asio::steady_timer::time_point::max());
      }
    }
    write();
  }

  // The answer is with the client's machine.
  void answered() {
    if (close_after_) {
      close();
      return;
    }
    if (keep_alive_ && !server_->ending_) {
      begin_request();
      parse();
      read();
      return;
    }
    // Closing at once would reset the connection where the client is still sending, and the answer might be lost.
    state_ = State::kClosing;
    error_code ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    buffer_.consume(buffer_.size());
    set_deadline(kLinger);
    read();
  }

  void stop_exchange(StopReason why) {
    const ExchangePointer exchange = exchange_;
    exchange->stop_for(why);
    if (exchange->answered.exchange(true)) return;  // a stream: its work says what happened
    respond(exchange, stop_problem(why));
  }

  HttpResponse stop_problem(StopReason why) const {
    return why == StopReason::kTimeLimit
               ? server_->problem(503, "time_limit",
                                  "expected work that takes less time than this server allows "
                                  "(attnflow serve --timeout); a shorter input or fewer methods take less")
               : server_->problem(503, "shutting_down", "this server is ending");
  }

  void release_body() {
    server_->body_bytes_ -= promised_;
    promised_ = 0;
  }

  std::shared_ptr<Impl> server_;
  tcp::socket socket_;
  asio::executor_work_guard<tcp::socket::executor_type> guard_;
  asio::steady_timer deadline_;
  asio::steady_timer time_limit_;
  std::string address_;
  boost::beast::flat_buffer buffer_;
  std::optional<http::request_parser<http::string_body>> parser_;
  HttpRequest request_;
  State state_ = State::kIdle;
  ExchangePointer exchange_;  // while it is not answered
  std::deque<std::string> out_;
  std::size_t written_ = 0;  // of the front
  std::size_t most_body_ = 0;
  std::size_t promised_ = 0;
  std::size_t thrown_away_ = 0;
  bool reading_ = false;
  bool writing_ = false;
  bool streaming_ = false;
  bool stream_keep_alive_ = false;
  bool keep_alive_ = true;
  bool close_after_ = false;
};

void HttpServer::Impl::accept() {
  acceptor_.async_accept([self = shared_from_this()](error_code error, tcp::socket socket) {
    if (self->ending_) return;
    if (!error) {
      self->add(std::move(socket));
      self->accept();
      return;
    }
    self->accept_pause_.expires_after(kAcceptPause);
    self->accept_pause_.async_wait([self](error_code cancelled) {
      if (!cancelled && !self->ending_) self->accept();
    });
  });
}

void HttpServer::Impl::add(tcp::socket socket) {
  // A few more than may come get an answer that says so; the others are hung up on.
  constexpr std::size_t kAnswered = 64;
  if (sessions_.size() >= options_.most_connections + kAnswered) return;
  const bool overloaded = sessions_.size() >= options_.most_connections;
  const auto session = std::make_shared<Session>(shared_from_this(), std::move(socket));
  sessions_.insert(session);
  session->start(overloaded);
}

void HttpServer::Impl::begin_end() {
  if (ending_) return;
  error_code ignored;
  acceptor_.cancel(ignored);
  // Who has been let in by the system, and may have asked something, is not turned away without a word.
  acceptor_.non_blocking(true, ignored);
  for (std::size_t i = 0; i < options_.most_connections; ++i) {
    error_code none;
    tcp::socket socket(io_);
    acceptor_.accept(socket, none);
    if (none) break;
    add(std::move(socket));
  }
  acceptor_.close(ignored);
  accept_pause_.cancel();
  ending_ = true;
  const auto each = [this](void (Session::*function)()) {
    const auto sessions = sessions_;  // which forget themselves
    for (const auto& session : sessions) (session.get()->*function)();
  };
  each(&Session::begin_end);
  if (sessions_.empty()) return;
  end_.expires_after(options_.grace);
  end_.async_wait([this, self = shared_from_this(), each](error_code cancelled) {
    if (cancelled) return;
    each(&Session::end_work);
    if (sessions_.empty()) return;
    end_.expires_after(kLastWords);
    end_.async_wait([self, each](error_code too) {
      if (!too) each(&Session::close);
    });
  });
}

void HttpServer::Impl::forget(const std::shared_ptr<Session>& session) {
  sessions_.erase(session);
  if (ending_ && sessions_.empty()) end_.cancel();
}

namespace {

// The handle that the rest of the program has. What it is told reaches the connection in that order: asio alone keeps
// the order of what one thread posts, not that of what the server's thread and a worker post one after the other.
template <typename Session>
class Exchange final : public HttpExchange {
 public:
  Exchange(std::shared_ptr<Session> session, std::shared_ptr<ExchangeState> state)
      : session_(std::move(session)), state_(std::move(state)), actions_(std::make_shared<Actions>()) {}
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;
  ~Exchange() override {
    if (state_->answered.exchange(true)) {
      tell([state = state_](Session& session) { session.end_stream(state); });
    } else {
      tell([state = state_](Session& session) { session.unanswered(state); });
    }
  }

  const HttpRequest& request() const override { return state_->request; }
  std::string take_body() override { return std::move(state_->request.body); }
  std::stop_token stop_token() const override { return state_->stop.get_token(); }
  StopReason stop_reason() const override { return state_->reason; }
  void limit_time(milliseconds time) override {
    tell([state = state_, time](Session& session) { session.limit_time(state, time); });
  }
  void respond(HttpResponse response) override {
    if (state_->answered.exchange(true)) return;
    tell([state = state_, response = std::move(response)](Session& session) mutable {
      session.respond(state, std::move(response));
    });
  }
  void begin_stream(HttpResponse response) override {
    if (state_->answered.exchange(true)) return;
    tell([state = state_, response = std::move(response)](Session& session) { session.begin_stream(state, response); });
  }
  void send(std::string part) override {
    tell([state = state_, part = std::move(part)](Session& session) { session.send(state, part); });
  }
  void end_stream() override {
    tell([state = state_](Session& session) { session.end_stream(state); });
  }

 private:
  struct Actions {
    std::mutex mutex;
    std::deque<std::function<void(Session&)>> waiting;
  };

  void tell(std::function<void(Session&)> action) {
    {
      const std::scoped_lock lock(actions_->mutex);
      actions_->waiting.push_back(std::move(action));
      if (actions_->waiting.size() > 1) return;  // who put the first one there has told the connection
    }
    asio::post(session_->executor(), [session = session_, actions = actions_] {
      std::deque<std::function<void(Session&)>> told;
      {
        const std::scoped_lock lock(actions->mutex);
        told.swap(actions->waiting);
      }
      for (auto& one : told) one(*session);
    });
  }

  std::shared_ptr<Session> session_;
  std::shared_ptr<ExchangeState> state_;
  std::shared_ptr<Actions> actions_;
};

}  // namespace

void HttpServer::Impl::Session::unanswered(const ExchangePointer& exchange) {
  const StopReason why = exchange->reason;
  respond(exchange, why == StopReason::kNone
                        ? server_->problem(500, "internal", "the work ended without an answer; this is a bug")
                        : stop_problem(why));
}

void HttpServer::Impl::Session::hand_over() {
  state_ = State::kWork;
  release_body();
  deadline_.expires_at(asio::steady_timer::time_point::max());
  exchange_ = std::make_shared<ExchangeState>();
  exchange_->keep_alive = parser_->get().keep_alive();
  exchange_->chunks = parser_->get().version() >= 11;
  exchange_->request = std::move(request_);
  exchange_->request.body = std::move(parser_->get().body());
  request_ = HttpRequest{};
  server_->handler_.handle(std::make_shared<Exchange<Session>>(shared_from_this(), exchange_));
}

HttpServer::HttpServer(const HttpServerOptions& options, HttpHandler handler)
    : impl_(std::make_shared<Impl>(options, std::move(handler))) {}

HttpServer::~HttpServer() { impl_->drain(); }

std::uint16_t HttpServer::port() const { return impl_->local().port(); }

std::string HttpServer::url() const {
  return fmt::format("http://{}:{}/", url_address(impl_->local().address()), port());
}

void HttpServer::run() { impl_->run(); }

void HttpServer::stop() { impl_->stop(); }

bool is_loopback_host(const std::string& host) { return resolve(host, 0).address().is_loopback(); }

}  // namespace attnflow
