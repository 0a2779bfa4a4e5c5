#include "attnflow/http/request_guard.h"

#include <gtest/gtest.h>

#include <string>

namespace attnflow::request_guard_test {
namespace {

const GuardSettings kHere{.host = "127.0.0.1", .port = 8080, .allowed_hosts = {}, .token = {}};

HttpRequest request(NamedTexts headers, const std::string& address = "127.0.0.1") {
  HttpRequest result;
  result.method = "POST";
  result.path = "/api/v1/explain";
  result.headers = std::move(headers);
  result.server_address = address;
  return result;
}

bool taken(const std::string& host, const GuardSettings& settings = kHere, const std::string& address = "127.0.0.1") {
  return !check_host(request({{"host", host}}, address), settings).has_value();
}

TEST(Host, PartsOfNamesAndAddresses) {
  EXPECT_EQ(parse_host("Example.org:80")->name, "example.org");
  EXPECT_EQ(parse_host("example.org:80")->port, 80);
  EXPECT_EQ(parse_host("[::1]:8080")->name, "[::1]");
  EXPECT_EQ(parse_host("[::1]:8080")->port, 8080);
  EXPECT_FALSE(parse_host("example.org")->port.has_value());
  for (const char* wrong : {"", ":80", "[]", "[::1", "[::1]x", "a b", "a/b", "a@b", "a:", "a:x", "a:99999", "a:1:2",
                            "a:-1", "[::1]:", "<script>", "\xff"}) {
    EXPECT_FALSE(parse_host(wrong).has_value()) << wrong;
  }
}

TEST(Host, IsThisServer) {
  for (const char* host : {"127.0.0.1:8080", "localhost:8080", "LocalHost:8080", "[::1]:8080"}) {
    EXPECT_TRUE(taken(host)) << host;
  }
  for (const char* host : {"attacker.example:8080", "127.0.0.1:8081", "127.0.0.1", "localhost",
                           "127.0.0.1.example:8080", "127.0.0.1:8080@attacker.example", "", "localhost:8080:8080"}) {
    const auto refusal = check_host(request({{"host", host}}), kHere);
    ASSERT_TRUE(refusal.has_value()) << host;
    EXPECT_EQ(refusal->status(), 421U);
    EXPECT_NE(std::string(refusal->what()).find("expected this server's address as Host, found"), std::string::npos);
  }
}

TEST(Host, ThereMustBeOne) {
  EXPECT_EQ(check_host(request({}), kHere)->status(), 400U);
  EXPECT_EQ(check_host(request({{"host", "localhost:8080"}, {"host", "localhost:8080"}}), kHere)->status(), 400U);
}

TEST(Host, Port80NeedsNoName) {
  GuardSettings settings = kHere;
  settings.port = 80;
  EXPECT_TRUE(taken("localhost", settings));
  EXPECT_TRUE(taken("localhost:80", settings));
  EXPECT_FALSE(taken("localhost:8080", settings));
}

TEST(Host, TheAddressThatTheConnectionCameInAt) {
  GuardSettings settings = kHere;
  settings.host = "0.0.0.0";
  EXPECT_TRUE(taken("192.0.2.7:8080", settings, "192.0.2.7"));
  EXPECT_FALSE(taken("192.0.2.8:8080", settings, "192.0.2.7"));
  EXPECT_TRUE(taken("[2001:db8::1]:8080", settings, "[2001:db8::1]"));
}

TEST(Host, AllowedNames) {
  GuardSettings settings = kHere;
  settings.allowed_hosts = {"demo.example", "other.example:444"};
  EXPECT_TRUE(taken("demo.example", settings));
  EXPECT_TRUE(taken("Demo.Example:8080", settings));
  EXPECT_TRUE(taken("other.example:444", settings));
  EXPECT_FALSE(taken("other.example", settings));
  EXPECT_FALSE(taken("sub.demo.example", settings));
}

TEST(Origin, MustBeTheHost) {
  const auto ask = [](const std::string& origin) {
    return check_origin(request({{"host", "localhost:8080"}, {"origin", origin}}));
  };
  EXPECT_FALSE(check_origin(request({{"host", "localhost:8080"}})).has_value());
  EXPECT_FALSE(ask("http://localhost:8080").has_value());
  EXPECT_FALSE(ask("https://LOCALHOST:8080").has_value());
  for (const char* other : {"http://localhost", "http://localhost:8081", "http://127.0.0.1:8080", "null", "", "file://",
                            "http://localhost:8080.attacker.example", "ftp://localhost:8080"}) {
    ASSERT_TRUE(ask(other).has_value()) << other;
    EXPECT_EQ(ask(other)->status(), 403U);
  }
}

TEST(Origin, SecFetchSite) {
  const auto ask = [](const std::string& site) {
    return check_origin(request({{"host", "localhost:8080"}, {"sec-fetch-site", site}}));
  };
  EXPECT_FALSE(ask("same-origin").has_value());
  EXPECT_FALSE(ask("none").has_value());
  for (const char* site : {"cross-site", "same-site", "", "x"}) EXPECT_EQ(ask(site)->status(), 403U) << site;
}

TEST(Token, OnlyWhereThereIsOne) { EXPECT_FALSE(check_token(request({}), kHere).has_value()); }

TEST(Token, Bearer) {
  GuardSettings settings = kHere;
  settings.token = "s3cret";
  const auto ask = [&](const std::string& value) { return check_token(request({{"authorization", value}}), settings); };
  EXPECT_FALSE(ask("Bearer s3cret").has_value());
  EXPECT_FALSE(ask("bearer  s3cret ").has_value());
  for (const char* wrong : {"", "Bearer", "Bearer ", "Bearer s3cre", "Bearer s3crets", "Basic s3cret", "s3cret",
                            "Bearer S3cret", "Bearers3cret"}) {
    ASSERT_TRUE(ask(wrong).has_value()) << wrong;
    EXPECT_EQ(ask(wrong)->status(), 401U);
    EXPECT_EQ(std::string(ask(wrong)->what()).find("s3cret"), std::string::npos);
  }
  EXPECT_TRUE(check_token(request({}), settings).has_value());
  EXPECT_TRUE(check_token(request({{"authorization", "Bearer s3cret"}, {"authorization", "Bearer s3cret"}}), settings)
                  .has_value());
}

TEST(Token, Comparison) {
  EXPECT_TRUE(equal_in_constant_time("", ""));
  EXPECT_TRUE(equal_in_constant_time("abc", "abc"));
  EXPECT_FALSE(equal_in_constant_time("abc", "abd"));
  EXPECT_FALSE(equal_in_constant_time("abc", "ab"));
  EXPECT_FALSE(equal_in_constant_time("", "ab"));
}

TEST(ContentType, WithoutItsParameters) {
  const auto ask = [](const std::string& type) {
    return check_content_type(request({{"content-type", type}}), {"application/json"});
  };
  EXPECT_FALSE(ask("application/json").has_value());
  EXPECT_FALSE(ask("Application/JSON ; charset=utf-8").has_value());
  for (const char* type : {"", "text/plain", "application/jsonx", "application/x-www-form-urlencoded", ";"}) {
    EXPECT_EQ(ask(type)->status(), 415U) << type;
  }
  EXPECT_TRUE(check_content_type(request({}), {"application/json"}).has_value());
}

}  // namespace
}  // namespace attnflow::request_guard_test
