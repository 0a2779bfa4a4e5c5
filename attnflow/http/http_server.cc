#include "attnflow/http/http_server.h"

#include <fmt/format.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "attnflow/base/fail.h"
#include "attnflow/http/http_connection.h"

namespace attnflow {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using std::chrono::milliseconds;

constexpr milliseconds kLastWords{2'000};  // after the grace period
constexpr milliseconds kAcceptPause{100};  // when there are no file descriptors left

tcp::endpoint resolve(const std::string& host, std::uint16_t port) {
  error_code error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) return {address, port};
  asio::io_context context;
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(host, std::to_string(port), error);
  if (error || found.empty()) {
    fail_with(ErrorKind::kUsage, "--host: expected an address or a name of this machine, found '{}': {}", host,
              error.message());
  }
  // "localhost" is both 127.0.0.1 and ::1; users usually mean the former.
  for (const auto& one : found) {
    if (one.endpoint().address().is_v4()) return one.endpoint();
  }
  return found.begin()->endpoint();
}

}  // namespace

std::string url_address(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped()) {
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6()).to_string();
  }
  return address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
}

// Accepts connections and shuts down. Everything except stop() runs on the server's single thread.
class HttpServer::Impl : public std::enable_shared_from_this<HttpServer::Impl> {
 public:
  Impl(const HttpServerOptions& options, HttpHandler handler)
      : hub_(std::make_shared<HttpHub>()), acceptor_(hub_->io), accept_pause_(hub_->io), end_(hub_->io) {
    hub_->options = options;
    hub_->handler = std::move(handler);
    hub_->emptied = [this] {
      if (hub_->ending) end_.cancel();
    };
    const tcp::endpoint endpoint = resolve(options.host, options.port);
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      fail_with(ErrorKind::kOther, "cannot listen on {}:{}: {}; --port 0 selects any free port",
                url_address(endpoint.address()), endpoint.port(), error.message());
    }
    local_ = acceptor_.local_endpoint();
  }

  ~Impl() { hub_->emptied = nullptr; }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void run() {
    accept();
    for (;;) {
      try {
        hub_->io.run();
        return;
      } catch (const std::bad_alloc&) {
        // One connection needed more memory than is available. Its pending operations are lost with the exception; its
        // deadline closes it, and the others continue.
      }
    }
  }

  void stop() {
    asio::post(hub_->io, [self = shared_from_this()] { self->begin_end(); });
  }

  void drain() {
    hub_->io.restart();
    hub_->io.poll();
  }

  const tcp::endpoint& local() const { return local_; }

 private:
  void accept();
  void add(tcp::socket socket);
  void begin_end();

  std::shared_ptr<HttpHub> hub_;
  tcp::acceptor acceptor_;
  asio::steady_timer accept_pause_;
  asio::steady_timer end_;
  tcp::endpoint local_;
};

void HttpServer::Impl::accept() {
  acceptor_.async_accept([self = shared_from_this()](error_code error, tcp::socket socket) {
    if (self->hub_->ending) return;
    if (!error) {
      self->add(std::move(socket));
      self->accept();
      return;
    }
    self->accept_pause_.expires_after(kAcceptPause);
    self->accept_pause_.async_wait([self](error_code cancelled) {
      if (!cancelled && !self->hub_->ending) self->accept();
    });
  });
}

void HttpServer::Impl::add(tcp::socket socket) {
  // A few connections above the limit get a response that says so; the rest are closed.
  constexpr std::size_t kAnswered = 64;
  const auto connection = std::make_shared<HttpConnection>(hub_, std::move(socket));
  const bool overloaded = !hub_->make_place(connection->client());
  if (overloaded && hub_->connections.size() >= hub_->options.max_connections + kAnswered) return;
  hub_->connections.insert(connection);
  connection->start(overloaded);
}

void HttpServer::Impl::begin_end() {
  if (hub_->ending) return;
  error_code ignored;
  acceptor_.cancel(ignored);
  // Connections that the system has already accepted, which may have sent requests, are not closed without a response.
  acceptor_.non_blocking(true, ignored);
  for (std::size_t i = 0; i < hub_->options.max_connections; ++i) {
    error_code none;
    tcp::socket socket(hub_->io);
    acceptor_.accept(socket, none);
    if (none) break;
    add(std::move(socket));
  }
  acceptor_.close(ignored);
  accept_pause_.cancel();
  hub_->ending = true;
  const auto each = [this](void (HttpConnection::*function)()) {
    const auto connections = hub_->connections;  // a copy, because they remove themselves
    for (const auto& connection : connections) (connection.get()->*function)();
  };
  each(&HttpConnection::begin_end);
  if (hub_->connections.empty()) return;
  end_.expires_after(hub_->options.grace);
  end_.async_wait([this, self = shared_from_this(), each](error_code cancelled) {
    if (cancelled) return;
    each(&HttpConnection::end_work);
    if (hub_->connections.empty()) return;
    end_.expires_after(kLastWords);
    end_.async_wait([self, each](error_code too) {
      if (!too) each(&HttpConnection::close);
    });
  });
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

StopWords stop_words(StopReason reason) {
  if (reason != StopReason::kTimeLimit) return {"shutting_down", "this server is shutting down"};
  return {"time_limit",
          "the analysis exceeded this server's time limit (attnflow serve --timeout); a shorter input or fewer methods "
          "need less time"};
}

bool is_loopback_host(const std::string& host) { return resolve(host, 0).address().is_loopback(); }

}  // namespace attnflow
