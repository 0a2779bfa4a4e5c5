#include "attnflow/analysis/settings.h"

#include <gtest/gtest.h>

#include <cmath>

#include "attnflow/analysis/explain.h"
#include "attnflow/base/error.h"

namespace attnflow::settings_test {
namespace {

std::vector<ReportToken> tokens_of(std::initializer_list<const char*> pieces) {
  std::vector<ReportToken> tokens;
  for (const char* piece : pieces) {
    ReportToken token;
    token.text = piece;
    token.special = token.text.front() == '[' || token.text.front() == '<';
    tokens.push_back(token);
  }
  return tokens;
}

TEST(ParseLayers, RangesAndLists) {
  using Layers = std::vector<std::size_t>;
  EXPECT_EQ(parse_layers(""), Layers{});
  EXPECT_EQ(parse_layers("6"), Layers{6});
  EXPECT_EQ(parse_layers("1-3"), (Layers{1, 2, 3}));
  EXPECT_EQ(parse_layers("5-6,1,3,5"), (Layers{1, 3, 5, 6}));
  for (const char* wrong : {"0", "3-1", "1-", "-2", "a", "1,,2", "1 2", "1-99999999999999999999", "1-1000000"}) {
    EXPECT_THROW(parse_layers(wrong), Error) << wrong;
  }
}

TEST(OutputToken, AutoPrefersMaskThenDirectionThenClass) {
  std::vector<std::string> notes;
  EXPECT_EQ(resolve_output_token("auto", tokens_of({"[CLS]", "a", "[MASK]", "[SEP]"}), false, notes), 2U);
  EXPECT_EQ(resolve_output_token("auto", tokens_of({"[CLS]", "a", "[SEP]"}), false, notes), 0U);
  EXPECT_EQ(resolve_output_token("auto", tokens_of({"<s>", "a", "b"}), true, notes), 2U);
  EXPECT_EQ(resolve_output_token("all", tokens_of({"<s>", "<mask>"}), false, notes), 1U);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(resolve_output_token("auto", tokens_of({"a", "b"}), false, notes), 0U);
  EXPECT_EQ(notes.size(), 1U);
}

TEST(OutputToken, ByNameOrPosition) {
  std::vector<std::string> notes;
  const auto tokens = tokens_of({"[CLS]", "a", "[SEP]"});
  EXPECT_EQ(resolve_output_token("cls", tokens, false, notes), 0U);
  EXPECT_EQ(resolve_output_token("last", tokens, false, notes), 2U);
  EXPECT_EQ(resolve_output_token("1", tokens, false, notes), 1U);
  for (const char* wrong : {"mask", "3", "-1"}) EXPECT_THROW(resolve_output_token(wrong, tokens, false, notes), Error);
}

TEST(MixingOptions, ColumnsByName) {
  const auto tokens = tokens_of({"[CLS]", "a", "[MASK]", "[SEP]"});
  ReportSettings settings;
  settings.set_aside = "special";  // not the mask: it stands for a word
  settings.discard_keep_special = true;
  MixingOptions mixing = mixing_options(settings, tokens, 4);
  EXPECT_EQ(mixing.set_aside, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(mixing.discard_keeps, (std::vector<std::size_t>{0, 3}));
  settings.set_aside = "1,3";
  settings.heads = "3";
  mixing = mixing_options(settings, tokens, 4);
  EXPECT_EQ(mixing.set_aside, (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(mixing.heads, HeadFusion::kSingle);
  EXPECT_EQ(mixing.head, 3U);
  EXPECT_THROW(mixing_options(settings, tokens, 3), Error);
}

TEST(ValidateSettings, RefusesEachWrongValue) {
  EXPECT_NO_THROW(validate_settings({}));
  const auto refuses = [](auto change) {
    ReportSettings settings;
    change(settings);
    EXPECT_THROW(validate_settings(settings), Error);
  };
  refuses([](ReportSettings& s) { s.method = {}; });
  refuses([](ReportSettings& s) { s.method = {"sum"}; });
  refuses([](ReportSettings& s) { s.heads = "-1"; });
  refuses([](ReportSettings& s) { s.residual = std::nan(""); });
  refuses([](ReportSettings& s) { s.discard = 1.0; });
  refuses([](ReportSettings& s) { s.flow_tolerance = 1e-13; });
  refuses([](ReportSettings& s) { s.normalize = "columns"; });
  refuses([](ReportSettings& s) { s.output_token = ""; });
  refuses([](ReportSettings& s) { s.top_k = 0; });
  refuses([](ReportSettings& s) { s.set_aside = "0;1"; });
}

TEST(Certificates, AreAPairOfTokens) {
  EXPECT_EQ(parse_certificate("cls,5").output_token, "cls");
  EXPECT_EQ(parse_certificate("cls,5").input_token, "5");
  EXPECT_EQ(parse_certificate("auto,last").output_token, "auto");
  for (const char* wrong : {"", "5", "5,", ",5", "1,2,3", "1;2", "all,1", "1,auto", "1,all", "-1,2", "a,b", "1, 2"}) {
    EXPECT_THROW(parse_certificate(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace attnflow::settings_test
