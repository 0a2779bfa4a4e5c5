#include "attnflow/files/json_text.h"

#include <gtest/gtest.h>

#include "attnflow/files/files_for_test.h"

namespace attnflow::json_text_test {
namespace {

using internal::parse_json_object;

void refused(std::string_view text, const std::vector<std::string>& parts) {
  SCOPED_TRACE(text);
  test::expect_error(ErrorKind::kBadFile, parts, [&] { parse_json_object(text, "here/config.json"); });
}

TEST(JsonText, ReadsAnObject) {
  const nlohmann::json json = parse_json_object(R"( {"a": {"k": 1}, "b": [{"k": 2}, {"k": 3}], "k": 4} )"
                                                "\n",
                                                "f");
  EXPECT_EQ(json.at("a").at("k"), 1);  // the same key in another object
  EXPECT_EQ(json.at("b")[1].at("k"), 3);
  EXPECT_EQ(json.at("k"), 4);
}

TEST(JsonText, RefusesAKeyThatStandsTwice) {
  refused(R"({"num_hidden_layers": 6, "num_hidden_layers": 1})",
          {"here/config.json", "expected each key once in a JSON object, found \"num_hidden_layers\" twice"});
  refused(R"({"a": {"k": 1, "k": 1}})", {"\"k\" twice"});
  refused(R"({"a": [{"k": 1}, {"k": 1, "\u006b": 2}]})", {"\"k\" twice"});  // the same key, spelled differently
}

TEST(JsonText, RefusesWhatStandsBehind) {
  using std::string_view_literals::operator""sv;
  refused("{\"a\": 1}\0"sv, {"here/config.json", "zero byte at offset 8 of 9"});
  refused("{\"a\": 1}\0{\"a\": 2}"sv, {"zero byte"});
  refused("{\"a\": 1} x", {"does not parse: \"parse error at line 1"});
  refused("{\"a\": 1}{\"a\": 2}", {"does not parse"});
}

TEST(JsonText, RefusesOtherThings) {
  refused("", {"expected JSON"});
  refused("[1]", {"expected a JSON object", "[1]"});
  refused("{\"a\": \"\xff\"}", {"does not parse"});
  refused("{\"a\": " + std::string(1000, '[') + std::string(1000, ']') + "}", {"at most 64 deep"});
}

}  // namespace
}  // namespace attnflow::json_text_test
