#include "attnflow/serve/http_message.h"

#include <gtest/gtest.h>

#include "attnflow/serve/api_error.h"
#include "attnflow/serve/start_page.h"

namespace attnflow::http_message_test {
namespace {

TEST(Query, NamesAndValues) {
  EXPECT_EQ(parse_query("")->size(), 0U);
  const NamedTexts expected = {{"a", "1"}, {"b", "x y"}, {"c", ""}, {"d", "1=2"}, {"e f", "\xc3\xa9&"}};
  EXPECT_EQ(*parse_query("a=1&b=x+y&c&&d=1=2&e%20f=%c3%A9%26"), expected);
}

TEST(Query, BadEscapes) {
  for (const char* wrong : {"a=%", "a=%1", "a=%zz", "%", "a%2=1"})
    EXPECT_FALSE(parse_query(wrong).has_value()) << wrong;
}

TEST(Request, Headers) {
  HttpRequest request;
  request.headers = {{"a", "1"}, {"b", "2"}, {"a", "3"}};
  EXPECT_EQ(request.count("a"), 2U);
  EXPECT_EQ(request.header("a"), "1");
  EXPECT_FALSE(request.header("c").has_value());
}

TEST(ApiError, IsJsonWhateverTheMessage) {
  EXPECT_EQ(error_json("kind", "a \"b\"\n\xff\x07"),
            "{\"error\":{\"kind\":\"kind\",\"message\":\"a \\\"b\\\"\\n\\\\xff\\\\x07\"}}\n");
  EXPECT_EQ(error_response(503, "x", "y").headers.back().first, "Retry-After");
  EXPECT_EQ(error_response(401, "x", "y").headers.back().first, "WWW-Authenticate");
}

TEST(StartPage, PolicyIsThatOfThePage) {
  const std::string policy = content_security_policy(start_page());
  EXPECT_NE(policy.find("default-src 'none'"), std::string::npos);
  EXPECT_NE(policy.find("script-src 'sha256-"), std::string::npos);
  EXPECT_NE(policy.find("style-src 'sha256-"), std::string::npos);
  EXPECT_TRUE(policy.ends_with("; frame-ancestors 'none'"));
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(start_page().find('@' + std::string("SCRIPT@")), std::string::npos);
}

TEST(StartPage, PolicyOfOtherPages) {
  EXPECT_EQ(content_security_policy("<html>"), "default-src 'none'; frame-ancestors 'none'");
  EXPECT_EQ(content_security_policy("<meta http-equiv=\"Content-Security-Policy\" content=\"a 'b';\n  c;\">"),
            "a 'b'; c; frame-ancestors 'none'");
  EXPECT_EQ(content_security_policy("<meta http-equiv=\"Content-Security-Policy\">content=\"x\""),
            "default-src 'none'; frame-ancestors 'none'");
}

}  // namespace
}  // namespace attnflow::http_message_test
