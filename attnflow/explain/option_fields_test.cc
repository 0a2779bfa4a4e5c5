#include "attnflow/explain/option_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "attnflow/attribution/setting_options.h"
#include "attnflow/base/error.h"

namespace attnflow::option_fields_test {
namespace {

std::string refusal(const std::string& json) {
  try {
    OptionFields fields = OptionFields::parse(json, {.listed = 3});
    Settings settings;
    fields.read(setting_options(), settings, kExplainRequest);
    fields.finish();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The server's tests cover what each type accepts (serve/api_options_test.cc).
TEST(OptionFields, SettingsComeFromTheTable) {
  OptionFields fields = OptionFields::parse(
      R"({"method": ["flow"], "layers": "2-3,1", "heads": 3, "mask_columns": [0, 2], "residual": 0.25})", {});
  Settings settings;
  fields.read(setting_options(), settings, kExplainRequest);
  EXPECT_EQ(settings.methods, std::vector<Method>{Method::kFlow});
  EXPECT_EQ(settings.layers, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_EQ(to_text(settings.heads), "3");
  EXPECT_EQ(to_text(settings.column_mask), "0,2");
  EXPECT_EQ(settings.residual, 0.25);
  EXPECT_TRUE(fields.has("method"));
  fields.finish();
}

TEST(OptionFields, Refuses) {
  EXPECT_NE(refusal(R"({"layers": [1, 2, 3, 4]})").find("layers: expected at most 3 entries"), std::string::npos);
  EXPECT_NE(refusal(R"({"residual": "much"})").find("residual: expected a number, found \"much\""), std::string::npos);
  EXPECT_NE(refusal(R"({"residuum": 0.5})").find("found \"residuum\""), std::string::npos);
  EXPECT_EQ(refusal(R"({"layers": [1, 2, 3], "residual": 0.5})"), "");
}

}  // namespace
}  // namespace attnflow::option_fields_test
