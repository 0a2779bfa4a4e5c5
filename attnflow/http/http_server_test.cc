#include "attnflow/http/http_server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "attnflow/base/error_for_test.h"

namespace attnflow::http_server_test {
namespace {

using std::chrono::milliseconds;

class Client {
 public:
  explicit Client(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval wait{20, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  ~Client() { leave(); }

  bool connected() const { return connected_; }
  void say(const std::string& text) const {
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t n = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<std::size_t>(n);
    }
  }
  std::string hear(const std::string& end = "\x01") {
    std::size_t at = heard_.find(end);
    while (at == std::string::npos) {
      std::array<char, 4096> piece{};
      const ssize_t n = ::recv(socket_, piece.data(), piece.size(), 0);
      if (n <= 0) break;
      const std::size_t from = heard_.size() - std::min(heard_.size(), end.size() - 1);
      heard_.append(piece.data(), static_cast<std::size_t>(n));
      at = heard_.find(end, from);
    }
    const std::size_t size = at == std::string::npos ? heard_.size() : at + end.size();
    std::string result = heard_.substr(0, size);
    heard_.erase(0, size);
    return result;
  }
  std::size_t take(std::size_t most) const {
    std::string piece(most, '\0');
    const ssize_t n = ::recv(socket_, piece.data(), piece.size(), 0);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  void close_sending() const { ::shutdown(socket_, SHUT_WR); }
  void leave() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  int socket_;
  bool connected_ = false;
  std::string heard_;
};

HttpResponse text(const std::string& body, unsigned status = 200) {
  HttpResponse response{.status = status, .content_type = "text/plain", .body = body};
  return response;
}

class ServerTest : public testing::Test {
 protected:
  void start(std::function<void(std::shared_ptr<HttpExchange>)> handle, const HttpServerOptions& options = {}) {
    HttpHandler handler;
    handler.admit = [this](const HttpRequest& request, std::size_t& most) -> std::optional<HttpResponse> {
      most = max_body_;
      if (request.path == "/refused") return text("refused", 403);
      return std::nullopt;
    };
    handler.handle = std::move(handle);
    handler.problem = [](unsigned status, const std::string& kind, const std::string&) { return text(kind, status); };
    server_ = std::make_unique<HttpServer>(options, std::move(handler));
    thread_ = std::jthread([this] {
      server_->run();
      ended_.release();
    });
  }
  void TearDown() override {
    if (!server_) return;
    server_->stop();
    thread_.join();
    held_.clear();
    server_.reset();
  }
  std::uint16_t port() const { return server_->port(); }
  std::string ask(const std::string& request, const std::string& end = "\x01") const {
    Client client(port());
    client.say(request);
    return client.hear(end);
  }
  void hold(std::shared_ptr<HttpExchange> exchange) {
    held_.push_back(std::move(exchange));
    came_.release();
  }

  std::size_t max_body_ = 1000;
  std::unique_ptr<HttpServer> server_;
  std::jthread thread_;
  std::vector<std::shared_ptr<HttpExchange>> held_;
  std::counting_semaphore<> came_{0};
  std::counting_semaphore<> ended_{0};
};

const std::string kGet = "GET /a?b=c HTTP/1.1\r\nHost: x\r\nX-Name: value\r\n\r\n";

TEST_F(ServerTest, AnswersAndStaysOpen) {
  start([](const auto& exchange) {
    const HttpRequest& request = exchange->request();
    exchange->respond(text(request.method + " " + request.path + " " + request.query + " " +
                           request.header("x-name").value_or("-") + " " + request.server_address));
  });
  Client client(port());
  for (int i = 0; i < 3; ++i) {
    client.say(kGet);
    const std::string answer = client.hear("127.0.0.1");
    EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
    EXPECT_NE(answer.find("Connection: keep-alive\r\n"), std::string::npos);
    EXPECT_TRUE(answer.ends_with("\r\n\r\nGET /a b=c value 127.0.0.1")) << answer;
  }
}

TEST_F(ServerTest, RequestsAheadAreAnsweredInOrder) {
  int number = 0;
  start([&number](const auto& exchange) { exchange->respond(text("<" + std::to_string(++number) + ">")); });
  Client client(port());
  client.say(kGet + kGet + kGet);
  EXPECT_NE(client.hear("<1>").find("200"), std::string::npos);
  EXPECT_NE(client.hear("<2>").find("200"), std::string::npos);
  EXPECT_NE(client.hear("<3>").find("200"), std::string::npos);
}

// Bodies that arrive with their headers, and the requests after them, are not extensions of a chunk.
TEST_F(ServerTest, BodiesAheadAreAnsweredInOrder) {
  max_body_ = 60'000;
  start([](const auto& exchange) { exchange->respond(text(std::to_string(exchange->take_body().size()) + ";")); });
  Client client(port());
  std::string all;
  std::string sizes;
  for (const std::size_t size : {std::size_t{2}, std::size_t{30'000}, std::size_t{1}, std::size_t{20'000}}) {
    all +=
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: " + std::to_string(size) + "\r\n\r\n" + std::string(size, 'x');
    sizes += std::to_string(size) + ";";
  }
  client.say(all + "GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  sizes += "0;";
  const std::string heard = client.hear();
  std::string answers;
  for (std::size_t at = heard.find("\r\n\r\n"); at != std::string::npos; at = heard.find("\r\n\r\n", at + 4)) {
    answers += heard.substr(at + 4, heard.find(';', at) - at - 3);
  }
  EXPECT_EQ(answers, sizes) << heard;
}

TEST_F(ServerTest, HeadHasNoBody) {
  start([](const auto& exchange) { exchange->respond(text("body")); });
  const std::string answer = ask("HEAD / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_NE(answer.find("Content-Length: 4\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
}

TEST_F(ServerTest, BodiesOfBothKinds) {
  start([](const auto& exchange) { exchange->respond(text("<" + exchange->take_body() + ">")); });
  Client client(port());
  client.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello");
  EXPECT_NE(client.hear(">").find("<hello>"), std::string::npos);
  client.say("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n");
  EXPECT_NE(client.hear(">").find("<hello>"), std::string::npos);
  client.say("POST / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n");
  EXPECT_EQ(client.hear("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.say("hello");
  EXPECT_NE(client.hear(">").find("<hello>"), std::string::npos);
}

TEST_F(ServerTest, LimitsOfBodyAndHeader) {
  start([](const auto& exchange) { exchange->respond(text("taken")); });
  const std::string too_long =
      ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n" + std::string(1001, 'x'));
  EXPECT_TRUE(too_long.starts_with("HTTP/1.1 413 ")) << too_long;
  EXPECT_TRUE(too_long.ends_with("body_too_large"));
  EXPECT_TRUE(
      ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfff\r\n" + std::string(0xfff, 'x'))
                  .starts_with("HTTP/1.1 413 "));
  EXPECT_TRUE(ask("GET / HTTP/1.1\r\nX: " + std::string(40'000, 'x') + "\r\n\r\n").starts_with("HTTP/1.1 431 "));
  EXPECT_TRUE(ask("nonsense\r\n\r\n").starts_with("HTTP/1.1 400 "));
  EXPECT_TRUE(ask("GET / HTTP/3.7\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 "));
  EXPECT_TRUE(ask("GET /refused HTTP/1.1\r\nHost: x\r\n\r\n").starts_with("HTTP/1.1 403 "));
}

TEST_F(ServerTest, StreamsInChunks) {
  start([](const auto& exchange) {
    exchange->begin_stream(text("a"));
    exchange->send("bc");
    exchange->end_stream();
  });
  Client client(port());
  client.say(kGet);
  const std::string answer = client.hear("0\r\n\r\n");
  EXPECT_NE(answer.find("Transfer-Encoding: chunked\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("1\r\na\r\n2\r\nbc\r\n0\r\n\r\n")) << answer;
  client.say("GET / HTTP/1.0\r\nHost: x\r\n\r\n");
  const std::string old = client.hear();
  EXPECT_EQ(old.find("chunked"), std::string::npos);
  EXPECT_TRUE(old.ends_with("\r\n\r\nabc")) << old;
}

TEST_F(ServerTest, PartsOfSeveralThreadsKeepTheirOrder) {
  start([](const auto& exchange) {
    exchange->begin_stream(text("<begin>"));
    // A worker that finishes before this thread processes the posted calls.
    std::jthread([exchange] {
      exchange->send("<error>");
      exchange->end_stream();
    }).join();
    exchange->send("<late>");
  });
  Client client(port());
  for (int i = 0; i < 20; ++i) {
    client.say(kGet);
    const std::string answer = client.hear("0\r\n\r\n");
    const std::size_t begin = answer.find("<begin>");
    EXPECT_LT(begin, answer.find("<error>")) << answer;
    EXPECT_NE(answer.find("<error>"), std::string::npos) << answer;
    EXPECT_EQ(answer.find("<late>"), std::string::npos) << answer;
  }
}

TEST_F(ServerTest, LongAnswersArriveWhole) {
  const std::string body(3'000'000, 'z');
  start([&](const auto& exchange) { exchange->respond(text(body)); });
  const std::string answer = ask("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(answer.size() - answer.find("\r\n\r\n") - 4, body.size());
}

TEST_F(ServerTest, AnswersTakenDropByDropAreGivenUp) {
  const std::size_t size = std::size_t{256} << 20U;
  start([&](const auto& exchange) { exchange->respond(text(std::string(size, 'x'))); },
        {.slowest_bytes_per_second = std::size_t{1} << 30U, .write_timeout = milliseconds(300)});
  Client client(port());
  client.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  std::size_t taken = 0;
  for (int i = 0; i < 40; ++i) {  // twice the time allowed for the whole, at 26 MB/s
    taken += client.take(std::size_t{1} << 20U);
    std::this_thread::sleep_for(milliseconds(40));
  }
  for (std::size_t more = 1; more > 0; taken += more) more = client.take(std::size_t{1} << 20U);
  EXPECT_GT(taken, std::size_t{1} << 20U);
  EXPECT_LT(taken, size);
}

TEST_F(ServerTest, AnswersThatWaitHaveALimitTogether) {
  start([&](const auto& exchange) { exchange->respond(text(std::string(std::size_t{40} << 20U, 'x'))); },
        {.max_answer_bytes_at_once = std::size_t{60} << 20U});
  Client slow(port());
  slow.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(slow.hear("\r\n"), "HTTP/1.1 200 OK\r\n");
  // There is no room in addition to the slow response, which has not waited long.
  Client second(port());
  second.say("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  EXPECT_EQ(second.hear("\r\n"), "HTTP/1.1 503 Service Unavailable\r\n");
  // Now it has, and makes room.
  std::this_thread::sleep_for(milliseconds(2'100));
  Client third(port());
  third.say("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
  EXPECT_EQ(third.hear("\r\n"), "HTTP/1.1 200 OK\r\n");
  EXPECT_GE(third.hear().size(), std::size_t{40} << 20U);
  EXPECT_LT(slow.hear().size(), std::size_t{40} << 20U);
}

TEST_F(ServerTest, NoticesClientsThatLeave) {
  start([this](std::shared_ptr<HttpExchange> exchange) { hold(std::move(exchange)); });
  auto client = std::make_unique<Client>(port());
  client->say(kGet);
  came_.acquire();
  EXPECT_FALSE(held_[0]->stop_token().stop_requested());
  client.reset();
  for (int i = 0; i < 2000 && !held_[0]->stop_token().stop_requested(); ++i)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(held_[0]->stop_token().stop_requested());
  EXPECT_EQ(held_[0]->stop_reason(), StopReason::kClientLeft);
  held_[0]->respond(text("nobody hears this"));
}

TEST_F(ServerTest, AnUnansweredExchangeIsAnError) {
  start([](const std::shared_ptr<HttpExchange>&) {});
  const std::string answer = ask(kGet, "internal");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 500 ")) << answer;
}

TEST_F(ServerTest, OnlyTheFirstAnswerCounts) {
  start([](const auto& exchange) {
    exchange->respond(text("<first>"));
    exchange->respond(text("<second>"));
    exchange->send("x");
    exchange->end_stream();
  });
  const std::string answer = ask("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("<first>")) << answer;
}

TEST_F(ServerTest, TimeLimitAnswersAndStops) {
  start([this](std::shared_ptr<HttpExchange> exchange) {
    exchange->limit_time(milliseconds(50));
    hold(std::move(exchange));
  });
  Client client(port());
  client.say(kGet);
  const std::string answer = client.hear("time_limit");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_TRUE(held_[0]->stop_token().stop_requested());
  EXPECT_EQ(held_[0]->stop_reason(), StopReason::kTimeLimit);
  client.say(kGet);  // the connection is still usable
  EXPECT_TRUE(client.hear("time_limit").starts_with("HTTP/1.1 503 "));
}

TEST_F(ServerTest, SlowClientsAreAnswered408) {
  start([](const auto& exchange) { exchange->respond(text("taken")); },
        {.header_timeout = milliseconds(100), .body_timeout = milliseconds(100), .idle_timeout = milliseconds(100)});
  Client header(port());
  header.say("GET / HTTP/1.1\r\nHo");
  EXPECT_TRUE(header.hear().starts_with("HTTP/1.1 408 "));
  Client body(port());
  body.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
  EXPECT_TRUE(body.hear().starts_with("HTTP/1.1 408 "));
  Client idle(port());
  EXPECT_EQ(idle.hear(), "");
}

TEST_F(ServerTest, TooManyConnections) {
  start([this](std::shared_ptr<HttpExchange> exchange) { hold(std::move(exchange)); }, {.max_connections = 2});
  Client first(port());
  first.say(kGet);
  came_.acquire();
  auto second = std::make_unique<Client>(port());
  second->say(kGet);
  came_.acquire();
  Client third(port());
  EXPECT_TRUE(third.hear().starts_with("HTTP/1.1 503 "));
  second.reset();
  for (int i = 0; i < 200; ++i) {
    Client later(port());
    later.say(kGet);
    if (came_.try_acquire_for(milliseconds(20))) return;
  }
  FAIL() << "no connection was taken after another had gone";
}

TEST_F(ServerTest, WhoHasAskedNothingGivesWay) {
  for (const bool of_one_address : {true, false}) {
    HttpServerOptions options;
    (of_one_address ? options.max_connections_per_address : options.max_connections) = 2;
    start([](const auto& exchange) { exchange->respond(text("<taken>")); }, options);
    Client kept(port());
    kept.say(kGet);
    kept.hear("<taken>");
    Client half(port());
    half.say("GET / HTTP/1.1\r\nHo");
    // The first has waited longest, then the second; neither gets a response.
    Client next(port());
    next.say(kGet);
    EXPECT_TRUE(next.hear("<taken>").starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(kept.hear(), "");
    Client last(port());
    last.say(kGet);
    EXPECT_TRUE(last.hear("<taken>").starts_with("HTTP/1.1 200 "));
    EXPECT_EQ(half.hear(), "");
    TearDown();
  }
}

TEST_F(ServerTest, TheEndWaitsForAnswers) {
  start([this](std::shared_ptr<HttpExchange> exchange) { hold(std::move(exchange)); });
  Client idle(port());
  Client client(port());
  client.say(kGet);
  came_.acquire();
  server_->stop();
  EXPECT_EQ(idle.hear(), "");
  EXPECT_FALSE(ended_.try_acquire_for(milliseconds(100)));
  EXPECT_FALSE(held_[0]->stop_token().stop_requested());
  held_[0]->respond(text("<answer>"));
  const std::string answer = client.hear();
  EXPECT_TRUE(answer.ends_with("<answer>")) << answer;
  EXPECT_NE(answer.find("Connection: close\r\n"), std::string::npos);
  client.leave();
  ended_.acquire();
}

TEST_F(ServerTest, TheEndDoesNotWaitForEver) {
  start([this](std::shared_ptr<HttpExchange> exchange) { hold(std::move(exchange)); }, {.grace = milliseconds(50)});
  Client client(port());
  client.say(kGet);
  Client half(port());
  half.say("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhel");
  came_.acquire();
  std::this_thread::sleep_for(milliseconds(50));
  server_->stop();
  EXPECT_TRUE(client.hear().ends_with("shutting_down"));
  EXPECT_TRUE(half.hear().ends_with("shutting_down"));
  EXPECT_EQ(held_[0]->stop_reason(), StopReason::kShutdown);
  client.leave();
  half.leave();
  ended_.acquire();
}

TEST_F(ServerTest, ManyThreadsAnswer) {
  std::vector<std::jthread> workers;
  std::mutex mutex;
  start([&](const auto& exchange) {
    const std::scoped_lock lock(mutex);
    workers.emplace_back([exchange] { exchange->respond(text("<" + exchange->request().path + ">")); });
  });
  std::vector<std::jthread> clients;
  std::atomic<int> right = 0;
  for (int c = 0; c < 20; ++c) {
    clients.emplace_back([&, c] {
      Client client(port());
      for (int i = 0; i < 5; ++i) {
        const std::string path = "/" + std::to_string(c) + "." + std::to_string(i);
        client.say("GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
        if (client.hear("<" + path + ">").find("200 OK") != std::string::npos) ++right;
      }
    });
  }
  clients.clear();
  EXPECT_EQ(right, 100);
}

TEST(HttpServer, AddressThatIsTaken) {
  HttpHandler handler;
  const HttpServer first({}, handler);
  test::expect_error(ErrorKind::kOther, {"cannot listen on 127.0.0.1:"},
                     [&] { HttpServer({.port = first.port()}, handler); });
  EXPECT_EQ(first.url(), "http://127.0.0.1:" + std::to_string(first.port()) + "/");
}

TEST(HttpServer, Loopback) {
  EXPECT_TRUE(is_loopback_host("127.0.0.1"));
  EXPECT_TRUE(is_loopback_host("127.1.2.3"));
  EXPECT_TRUE(is_loopback_host("::1"));
  EXPECT_TRUE(is_loopback_host("localhost"));
  EXPECT_FALSE(is_loopback_host("0.0.0.0"));
  EXPECT_FALSE(is_loopback_host("::"));
  EXPECT_FALSE(is_loopback_host("192.0.2.1"));
}

}  // namespace
}  // namespace attnflow::http_server_test
