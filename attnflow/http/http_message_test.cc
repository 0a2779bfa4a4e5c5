#include "attnflow/http/http_message.h"

#include <gtest/gtest.h>

#include "attnflow/http/api_error.h"

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

}  // namespace
}  // namespace attnflow::http_message_test
