#include "attnflow/http/http_connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/status.hpp>
#include <limits>
#include <mutex>
#include <string_view>
#include <utility>

namespace attnflow {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

namespace {

constexpr std::size_t kReadBytes = std::size_t{16} << 10U;
constexpr std::size_t kWriteBytes = std::size_t{64} << 10U;
// Bytes that may arrive after a request before its response: beyond that, the connection is not read any further.
constexpr std::size_t kMaxBytesAhead = std::size_t{64} << 10U;
// Time and bytes that a client may still send to a closing connection before its response would be lost.
constexpr milliseconds kLinger{1'000};
constexpr std::size_t kMaxLingerBytes = std::size_t{4} << 20U;

std::string_view status_text(unsigned status) {
  // RFC 9110 has renamed two that Boost still calls by their old names.
  if (status == 413) return "Content Too Large";
  if (status == 422) return "Unprocessable Content";
  const auto text = http::obsolete_reason(static_cast<http::status>(status));
  return {text.data(), text.size()};
}

std::string client_of(const tcp::socket& socket) {
  error_code error;
  const auto end = socket.remote_endpoint(error);
  if (error) return "";
  const asio::ip::address address = end.address();
  if (address.is_v4() || address.to_v6().is_v4_mapped()) return url_address(address);
  auto bytes = address.to_v6().to_bytes();
  std::fill(bytes.begin() + bytes.size() / 2, bytes.end(), 0);
  return asio::ip::address_v6(bytes).to_string();
}

}  // namespace

struct HttpConnection::Exchange {
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

// The handle held by the rest of the program. Its calls reach the connection in order: asio alone preserves the order
// of posts from one thread, but not between the server's thread and a worker that post one after the other.
class HttpConnection::Handle final : public HttpExchange {
 public:
  Handle(std::shared_ptr<HttpConnection> connection, ExchangePointer state)
      : connection_(std::move(connection)), state_(std::move(state)), actions_(std::make_shared<Actions>()) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() override {
    const auto end = state_->answered.exchange(true) ? &HttpConnection::end_stream : &HttpConnection::unanswered;
    tell([state = state_, end](HttpConnection& connection) { (connection.*end)(state); });
  }

  const HttpRequest& request() const override { return state_->request; }
  std::string take_body() override { return std::move(state_->request.body); }
  std::stop_token stop_token() const override { return state_->stop.get_token(); }
  StopReason stop_reason() const override { return state_->reason; }
  void limit_time(milliseconds time) override {
    tell([state = state_, time](HttpConnection& connection) { connection.limit_time(state, time); });
  }
  void respond(HttpResponse response) override { answer(std::move(response), &HttpConnection::respond); }
  void begin_stream(HttpResponse response) override { answer(std::move(response), &HttpConnection::begin_stream); }
  void send(std::string part) override {
    tell([state = state_, part = std::move(part)](HttpConnection& connection) { connection.send(state, part); });
  }
  void end_stream() override {
    tell([state = state_](HttpConnection& connection) { connection.end_stream(state); });
  }

 private:
  struct Actions {
    std::mutex mutex;
    std::deque<std::function<void(HttpConnection&)>> waiting;
  };

  void answer(HttpResponse response, void (HttpConnection::*how)(const ExchangePointer&, HttpResponse)) {
    if (state_->answered.exchange(true)) return;
    tell([state = state_, response = std::move(response), how](HttpConnection& connection) mutable {
      (connection.*how)(state, std::move(response));
    });
  }

  void tell(std::function<void(HttpConnection&)> action) {
    {
      const std::scoped_lock lock(actions_->mutex);
      actions_->waiting.push_back(std::move(action));
      if (actions_->waiting.size() > 1) return;  // a post is already pending
    }
    asio::post(connection_->socket_.get_executor(), [connection = connection_, actions = actions_] {
      std::deque<std::function<void(HttpConnection&)>> told;
      {
        const std::scoped_lock lock(actions->mutex);
        told.swap(actions->waiting);
      }
      for (auto& one : told) one(*connection);
    });
  }

  std::shared_ptr<HttpConnection> connection_;
  ExchangePointer state_;
  std::shared_ptr<Actions> actions_;
};

HttpConnection::HttpConnection(std::shared_ptr<HttpHub> hub, tcp::socket socket)
    : hub_(std::move(hub)),
      socket_(std::move(socket)),
      guard_(asio::make_work_guard(socket_.get_executor())),
      deadline_(socket_.get_executor()),
      time_limit_(socket_.get_executor()),
      client_(client_of(socket_)) {}

void HttpConnection::start(bool overloaded) {
  error_code ignored;
  socket_.set_option(tcp::no_delay(true), ignored);
  const auto end = socket_.local_endpoint(ignored);
  if (!ignored) address_ = url_address(end.address());
  waits_since_ = Clock::now();
  if (overloaded) {
    refuse(503, "overloaded",
           "too many connections to this server (attnflow serve --max-connections, "
           "--max-connections-per-address); retry in a second");
  } else {
    begin_request();
  }
  read();
}

void HttpConnection::begin_end() {
  error_code ignored;
  if (state_ == State::kIdle && socket_.available(ignored) == 0) close();
}

void HttpConnection::end_work() {
  if (exchange_) stop_exchange(StopReason::kShutdown);
  if (state_ == State::kHeader || state_ == State::kBody) {
    refuse(stop_problem(StopReason::kShutdown));
  }
}

void HttpConnection::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  if (exchange_) exchange_->stop_for(StopReason::kClientLeft);
  exchange_.reset();
  release_body();
  hub_->answer_bytes -= std::exchange(kept_, 0);
  deadline_.cancel();
  time_limit_.cancel();
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_both, ignored);
  socket_.close(ignored);
  guard_.reset();
  hub_->forget(shared_from_this());
}

std::string HttpConnection::head_of(HttpResponse& response, bool keep_alive, const std::string& framing) const {
  if (hub_->handler.complete) hub_->handler.complete(response);
  std::string head = fmt::format("HTTP/1.1 {} {}\r\nServer: attnflow\r\nContent-Type: {}\r\n", response.status,
                                 status_text(response.status), response.content_type);
  for (const auto& [name, value] : response.headers) head += fmt::format("{}: {}\r\n", name, value);
  head += framing;
  head += keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return head;
}

void HttpConnection::respond(const ExchangePointer& exchange, HttpResponse response) {
  if (exchange != exchange_ || streaming_) return;
  if (!hub_->make_room(response.body.size(), *this)) {
    response = hub_->problem(503, "overloaded", "too many responses are waiting for slow clients; retry in a minute");
  }
  const bool keep_alive = exchange->keep_alive && !hub_->ending;
  const bool body = exchange->request.method != "HEAD";
  put(head_of(response, keep_alive, fmt::format("Content-Length: {}\r\n", response.body.size())));
  if (body) put(std::move(response.body));
  finish_answer(keep_alive);
}

void HttpConnection::begin_stream(const ExchangePointer& exchange, HttpResponse response) {
  if (exchange != exchange_ || streaming_) return;
  streaming_ = true;
  stream_keep_alive_ = exchange->keep_alive && exchange->chunks && !hub_->ending;
  const char* framing = exchange->chunks ? "Transfer-Encoding: chunked\r\n" : "";
  put(head_of(response, stream_keep_alive_, framing));
  add_part(response.body);
  write();
}

void HttpConnection::send(const ExchangePointer& exchange, const std::string& part) {
  if (exchange != exchange_ || !streaming_) return;
  // An event cannot be left out, and a stream has no other way to report that.
  if (!hub_->make_room(part.size(), *this)) {
    close();
    return;
  }
  add_part(part);
  write();
}

void HttpConnection::end_stream(const ExchangePointer& exchange) {
  if (exchange != exchange_ || !streaming_) return;
  if (exchange->chunks) put("0\r\n\r\n");
  finish_answer(stream_keep_alive_);
}

void HttpConnection::limit_time(const ExchangePointer& exchange, milliseconds time) {
  if (exchange != exchange_) return;
  time_limit_.expires_after(time);
  time_limit_.async_wait([self = shared_from_this(), exchange](error_code error) {
    if (!error && exchange == self->exchange_) self->stop_exchange(StopReason::kTimeLimit);
  });
}

void HttpConnection::begin_request() {
  state_ = State::kIdle;
  parser_.emplace();
  parser_->header_limit(static_cast<std::uint32_t>(hub_->options.max_header_bytes));
  // The handler sets the limit when it knows the request. (none means 0 in Boost 1.74, despite the documentation.)
  parser_->body_limit(std::numeric_limits<std::uint64_t>::max());
  waits_since_ = Clock::now();
  set_deadline(first_ ? hub_->options.header_timeout : hub_->options.idle_timeout);
  first_ = false;
}

void HttpConnection::set_deadline(Clock::time_point time) {
  deadline_.expires_at(time);
  deadline_.async_wait([self = shared_from_this()](error_code error) {
    if (!error) self->too_late();
  });
}

void HttpConnection::too_late() {
  if (deadline_.expiry() > asio::steady_timer::clock_type::now()) return;  // rescheduled in the meantime
  // If something is still being written (the permission to send a body), nothing more can be sent.
  if (!writing_ && (state_ == State::kHeader || state_ == State::kBody)) {
    refuse(408, "too_slow", "the request took too long to arrive");
  } else {
    close();
  }
}

void HttpConnection::read() {
  if (reading_ || state_ == State::kClosed) return;
  if (state_ == State::kWork && buffer_.size() >= kMaxBytesAhead) return;
  reading_ = true;
  socket_.async_read_some(buffer_.prepare(kReadBytes), [self = shared_from_this()](error_code error, std::size_t n) {
    self->reading_ = false;
    self->buffer_.commit(n);
    self->on_read(error, n);
  });
}

void HttpConnection::on_read(error_code error, std::size_t n) {
  if (state_ == State::kClosed) return;
  if (error) {
    // Data already being sent may still be wanted (a client may close its sending side after its request).
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
    if (thrown_away_ > kMaxLingerBytes) {
      close();
      return;
    }
  } else if (state_ != State::kWork) {
    parse();
  }
  read();
}

void HttpConnection::parse() {
  while (buffer_.size() > 0 && (state_ == State::kIdle || state_ == State::kHeader || state_ == State::kBody)) {
    if (state_ == State::kIdle) {
      state_ = State::kHeader;
      set_deadline(hub_->options.header_timeout);
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
    // The parser consumes a body as it arrives. Data that it leaves in the buffer while needing more is the beginning
    // of a chunk's extensions or of trailers, for which it has no limit.
    const bool lies = used == 0 && error == http::error::need_more && parser_->chunked();
    if (state_ == State::kBody && lies && buffer_.size() > hub_->options.max_header_bytes) {
      refuse(431, "header_too_large",
             fmt::format("expected extensions and trailers of a chunked body of at most {} bytes, found more",
                         hub_->options.max_header_bytes));
      return;
    }
    if (error == http::error::need_more) return;
  }
}

void HttpConnection::refuse_malformed(error_code error) {
  if (error == http::error::header_limit) {
    refuse(431, "header_too_large",
           fmt::format("expected a header of at most {} bytes, found more", hub_->options.max_header_bytes));
  } else if (error == http::error::body_limit) {
    refuse(413, "body_too_large", fmt::format("expected a body of at most {} bytes, found more", max_body_));
  } else if (error == http::error::bad_version) {
    refuse(505, "bad_request", "expected HTTP/1.1, found another version");
  } else {
    refuse(400, "bad_request", fmt::format("expected an HTTP/1.1 request, found: {}", error.message()));
  }
}

// Answers a request that is not accepted.
bool HttpConnection::admit() {
  const auto& header = parser_->get();
  request_ = HttpRequest{};
  request_.method = std::string(header.method_string());
  const std::string_view target(header.target().data(), header.target().size());
  const std::size_t question = target.find('?');
  request_.path = target.substr(0, question);
  if (question != std::string_view::npos) request_.query = target.substr(question + 1);
  request_.server_address = address_;
  for (const auto& field : header) {
    request_.headers.emplace_back(lower_ascii(std::string_view(field.name_string().data(), field.name_string().size())),
                                  std::string(field.value()));
  }
  if (hub_->ending) return refuse(stop_problem(StopReason::kShutdown));
  // The end of a body must be unambiguous (RFC 9112, 6.3), or the data after it would be taken for another request.
  const auto codings = header.count(http::field::transfer_encoding);
  if (codings > 0 && (codings > 1 || header.version() < 11 ||
                      lower_ascii(std::string_view(header[http::field::transfer_encoding].data(),
                                                   header[http::field::transfer_encoding].size())) != "chunked")) {
    return refuse(400, "bad_request", "Transfer-Encoding: expected chunked in HTTP/1.1, found something else");
  }
  max_body_ = 0;
  if (auto refusal = hub_->handler.admit(request_, max_body_)) return refuse(std::move(*refusal));
  const auto length = parser_->content_length();
  if (length && *length > max_body_) {
    return refuse(413, "body_too_large",
                  fmt::format("expected a body of at most {} bytes, found one of {}", max_body_, *length));
  }
  if (max_body_ == 0 && parser_->chunked()) {
    return refuse(413, "body_too_large", "expected no body, found a chunked one");
  }
  const bool has_body = length.value_or(0) > 0 || parser_->chunked();
  promised_ = has_body ? static_cast<std::size_t>(length.value_or(max_body_)) : 0;
  if (promised_ > hub_->options.max_body_bytes_at_once - hub_->body_bytes) {
    promised_ = 0;
    return refuse(503, "overloaded", "too many request bodies are being sent at the same time; retry in a second");
  }
  hub_->body_bytes += promised_;
  parser_->body_limit(max_body_);
  state_ = State::kBody;
  set_deadline(hub_->options.body_timeout);
  if (const auto expects = request_.header("expect")) {
    if (lower_ascii(*expects) != "100-continue") {
      return refuse(417, "bad_request", "Expect: expected 100-continue, found something else");
    }
    if (has_body && !parser_->is_done()) {
      put("HTTP/1.1 100 Continue\r\n\r\n");
      write();
    }
  }
  return true;
}

// Discards the client's remaining data. Always returns false, for admit().
bool HttpConnection::refuse(HttpResponse response) {
  if (state_ == State::kWork || state_ == State::kClosing || state_ == State::kClosed) return false;
  state_ = State::kWork;
  refused_ = true;
  release_body();
  put(head_of(response, false, fmt::format("Content-Length: {}\r\n", response.body.size())));
  if (request_.method != "HEAD") put(std::move(response.body));
  finish_answer(false);
  return false;
}

bool HttpConnection::refuse(unsigned status, const std::string& kind, const std::string& message) {
  return refuse(hub_->problem(status, kind, message));
}

void HttpConnection::finish_answer(bool keep_alive) {
  exchange_.reset();
  streaming_ = false;
  time_limit_.cancel();
  keep_alive_ = keep_alive;
  write();
}

void HttpConnection::add_part(const std::string& part) {
  if (part.empty()) return;
  if (!exchange_->chunks) {
    put(part);
    return;
  }
  put(fmt::format("{:x}\r\n{}\r\n", part.size(), part));
}

void HttpConnection::put(std::string piece) {
  if (piece.empty()) return;
  if (out_.empty()) {
    put_ = 0;
    put_since_ = Clock::now();
  }
  put_ += piece.size();
  kept_ += piece.size();
  hub_->answer_bytes += piece.size();
  const bool may_join = out_.size() > (writing_ ? 1U : 0U) && out_.back().size() + piece.size() <= kWriteBytes;
  if (may_join) {
    out_.back() += piece;
  } else {
    out_.push_back(std::move(piece));
  }
}

void HttpConnection::write() {
  if (writing_ || state_ == State::kClosed) return;
  if (out_.empty()) {
    // While a request is still being read, the data written was not its response.
    if (!exchange_ && state_ == State::kWork) answered();
    return;
  }
  writing_ = true;
  // The deadline is that of this piece, and of all pieces of a response or an event pending with it.
  const HttpServerOptions& options = hub_->options;
  const milliseconds whole(1'000 * put_ / options.slowest_bytes_per_second);
  set_deadline(std::min(Clock::now(), put_since_ + whole) + options.write_timeout);
  const std::string& front = out_.front();
  const std::size_t size = std::min(kWriteBytes, front.size() - written_);
  asio::async_write(socket_, asio::buffer(front.data() + written_, size),
                    [self = shared_from_this()](error_code error, std::size_t n) { self->on_written(error, n); });
}

void HttpConnection::on_written(error_code error, std::size_t n) {
  writing_ = false;
  if (state_ == State::kClosed) return;
  if (error) {
    close();
    return;
  }
  written_ += n;
  if (written_ == out_.front().size()) {
    kept_ -= written_;
    hub_->answer_bytes -= written_;
    out_.pop_front();
    written_ = 0;
  }
  if (out_.empty()) {
    if (state_ == State::kBody) {
      set_deadline(hub_->options.body_timeout);
    } else {
      deadline_.expires_at(asio::steady_timer::time_point::max());
    }
  }
  write();
}

void HttpConnection::answered() {
  if (close_after_) {
    close();
    return;
  }
  if (keep_alive_ && !hub_->ending) {
    begin_request();
    parse();
    read();
    return;
  }
  // Closing at once would reset the connection if the client is still sending, and the response might be lost.
  state_ = State::kClosing;
  error_code ignored;
  socket_.shutdown(tcp::socket::shutdown_send, ignored);
  buffer_.consume(buffer_.size());
  set_deadline(kLinger);
  read();
}

void HttpConnection::stop_exchange(StopReason why) {
  const ExchangePointer exchange = exchange_;
  exchange->stop_for(why);
  if (exchange->answered.exchange(true)) return;  // a stream: its work reports the reason
  respond(exchange, stop_problem(why));
}

HttpResponse HttpConnection::stop_problem(StopReason why) const {
  const auto [kind, message] = stop_words(why);
  return hub_->problem(503, kind, message);
}

void HttpConnection::release_body() {
  hub_->body_bytes -= promised_;
  promised_ = 0;
}

void HttpConnection::unanswered(const ExchangePointer& exchange) {
  const StopReason why = exchange->reason;
  respond(exchange, why == StopReason::kNone
                        ? hub_->problem(500, "internal", "the analysis ended without a result; this is a bug")
                        : stop_problem(why));
}

void HttpConnection::hand_over() {
  state_ = State::kWork;
  release_body();
  // The work has its own limit; data being written keeps its deadline.
  if (!writing_) deadline_.expires_at(asio::steady_timer::time_point::max());
  exchange_ = std::make_shared<Exchange>();
  exchange_->keep_alive = parser_->get().keep_alive();
  exchange_->chunks = parser_->get().version() >= 11;
  exchange_->request = std::move(request_);
  exchange_->request.body = std::move(parser_->get().body());
  request_ = HttpRequest{};
  hub_->handler.handle(std::make_shared<Handle>(shared_from_this(), exchange_));
}

}  // namespace attnflow
