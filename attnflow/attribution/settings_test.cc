#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/note_for_test.h"
#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/setting_options.h"
#include "attnflow/base/error_for_test.h"

namespace attnflow::settings_test {
namespace {

using test::expect_error;

std::vector<InputToken> tokens_of(std::initializer_list<const char*> pieces) {
  std::vector<InputToken> tokens;
  for (const char* piece : pieces) {
    InputToken token;
    token.text = piece;
    token.special = token.text.front() == '[' || token.text.front() == '<';
    tokens.push_back(token);
  }
  return tokens;
}

std::size_t find_token(const std::string& asked, const std::vector<InputToken>& tokens, bool causal,
                       std::vector<Note>& notes) {
  return resolve_token(parse_output_token(asked), "output-token", tokens, causal, notes);
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
  std::vector<Note> notes;
  EXPECT_EQ(find_token("auto", tokens_of({"[CLS]", "a", "[MASK]", "[SEP]"}), false, notes), 2U);
  EXPECT_EQ(find_token("auto", tokens_of({"[CLS]", "a", "[SEP]"}), false, notes), 0U);
  EXPECT_EQ(find_token("auto", tokens_of({"<s>", "a", "b"}), true, notes), 2U);
  EXPECT_EQ(find_token("all", tokens_of({"<s>", "<mask>"}), false, notes), 1U);
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(find_token("auto", tokens_of({"a", "b"}), false, notes), 0U);
  EXPECT_EQ(test::codes_of(notes), (std::vector{NoteCode::kOutputTokenGuessed}));
}

TEST(OutputToken, ByNameOrPosition) {
  std::vector<Note> notes;
  const auto tokens = tokens_of({"[CLS]", "a", "[SEP]"});
  EXPECT_EQ(find_token("cls", tokens, false, notes), 0U);
  EXPECT_EQ(find_token("last", tokens, false, notes), 2U);
  EXPECT_EQ(find_token("1", tokens, false, notes), 1U);
  for (const char* wrong : {"mask", "3", "-1"}) EXPECT_THROW(find_token(wrong, tokens, false, notes), Error);
}

TEST(MixingOptions, ColumnsByName) {
  const auto tokens = tokens_of({"[CLS]", "a", "[MASK]", "[SEP]"});
  Settings settings;
  settings.column_mask = parse_column_mask("special");  // but the mask token stands for a word
  settings.discard_keep_special = true;
  MixingOptions mixing = mixing_options(settings, tokens, 4);
  EXPECT_EQ(mixing.mask_columns, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(mixing.discard_keeps, (std::vector<std::size_t>{0, 3}));
  settings.column_mask = parse_column_mask("1,3");
  settings.heads = parse_heads("3");
  mixing = mixing_options(settings, tokens, 4);
  EXPECT_EQ(mixing.mask_columns, (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(mixing.heads, HeadFusion::kSingle);
  EXPECT_EQ(mixing.head, 3U);
  EXPECT_THROW(mixing_options(settings, tokens, 3), Error);
}

TEST(ValidateSettings, RefusesEachWrongValue) {
  EXPECT_NO_THROW(validate({}));
  const auto refuses = [](auto change) {
    Settings settings;
    const auto validated = [&] {
      change(settings);
      validate(settings);
    };
    EXPECT_THROW(validated(), Error);
  };
  refuses([](Settings& s) { s.methods = {}; });
  refuses([](Settings& s) { s.methods = parse_methods({"sum"}); });
  refuses([](Settings& s) { s.heads = parse_heads("-1"); });
  refuses([](Settings& s) { s.residual = std::nan(""); });
  refuses([](Settings& s) { s.flow_tolerance = 1e-13; });
  refuses([](Settings& s) { s.normalization = parse_normalization("columns"); });
  refuses([](Settings& s) { s.output_token = parse_output_token(""); });
  refuses([](Settings& s) { s.column_mask = parse_column_mask("0;1"); });
}

TEST(Methods, StandInTheOrderOfTheEnumerationAndSayWhatTheyAre) {
  EXPECT_EQ(to_texts({Method::kRaw, Method::kRollout, Method::kFlow, Method::kLogit, Method::kAltiLogit,
                      Method::kAttnLrp, Method::kGradientTimesInput, Method::kIntegratedGradients, Method::kBlankOut}),
            (std::vector<std::string>{"raw", "rollout", "flow", "logit", "alti-logit", "attnlrp", "gradient-x-input",
                                      "integrated-gradients", "blank-out"}));
  for (std::size_t m = 0; m < all_methods().size(); ++m) {
    EXPECT_EQ(all_methods()[m].aggregates(), m < kAggregations.size());
  }
  EXPECT_NO_THROW(require_aggregations({Method::kRaw, Method::kFlow}, "--attention"));
  expect_error(ErrorKind::kUsage, {"with --attention, found attnlrp"}, [] {
    require_aggregations({Method::kRaw, Method::kAttnLrp}, "--attention");
  });
}

TEST(ValidateSettings, ATargetIsOfAMixingOrOfAMethodThatExplainsOnePrediction) {
  Settings settings;
  settings.mixing = Mixing::kAttention;
  settings.target = "his";
  EXPECT_THROW(validate(settings), Error);
  settings.methods = {Method::kRollout, Method::kBlankOut};
  EXPECT_NO_THROW(validate(settings));
  settings.methods = {Method::kRollout};
  settings.mixing = Mixing::kGradient;
  EXPECT_NO_THROW(validate(settings));
}

TEST(Settings, EveryTextComesBack) {
  for (const MethodInfo& info : all_methods()) EXPECT_EQ(parse_method(info.name), info.method);
  for (const char* text : {"attention", "gradient", "gradient-renormalized"}) {
    EXPECT_EQ(to_text(parse_mixing(text)), text);
  }
  for (const char* text : {"mean", "max", "min", "0", "11"}) EXPECT_EQ(to_text(parse_heads(text)), text);
  for (const char* text : {"none", "first", "special", "registers", "0,5"}) {
    EXPECT_EQ(to_text(parse_column_mask(text)), text);
  }
  for (const char* text : {"auto", "cls", "mask", "last", "all", "7", "cabinets", "2,3"}) {
    EXPECT_EQ(to_text(parse_output_token(text)), text);
  }
  for (const char* text : {"none", "row", "receptive-field"}) EXPECT_EQ(to_text(parse_normalization(text)), text);
}

TEST(Settings, AMethodIsNoMixing) {
  expect_error(ErrorKind::kUsage, {"--method", "found 'relevance'; relevance is a mixing: --mixing relevance"},
               [] { parse_method("relevance"); });
  expect_error(ErrorKind::kUsage, {"--mixing", "found 'rollout'; rollout is a method: --method rollout"},
               [] { parse_mixing("rollout"); });
}

TEST(SettingOptions, EachSetsWhatItGets) {
  Settings settings;
  settings.methods = {Method::kFlow};
  settings.mixing = Mixing::kGradient;
  settings.target = "id:3";
  settings.against = "id:4";
  settings.heads = {.fusion = HeadFusion::kSingle, .head = 4};
  settings.residual = 0.25;
  settings.discard = 0.75;
  settings.discard_keep_special = true;
  settings.column_mask = parse_column_mask("0,5");
  settings.layers = {2, 3};
  settings.start_layer = 1;
  settings.output_token = parse_output_token("cabinets");
  settings.normalization = Normalization::kReceptiveField;
  settings.words = true;
  settings.flow_tolerance = 1e-9;
  settings.top_k = 3;
  std::set<std::string> names;
  for (const SettingOption& option : setting_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_NE(option.get(settings), option.get({})) << option.name << " keeps its default: this test forgot it";
    Settings one;
    option.set(one, option.get(settings));
    for (const SettingOption& other : setting_options()) {
      EXPECT_EQ(other.get(one), other.get(&other == &option ? settings : Settings{})) << option.name << other.name;
    }
    EXPECT_NE(option.uses, 0U) << option.name;
  }
  EXPECT_EQ(names.size(), 16U);
}

TEST(Mixings, ContributionsHaveTheNamesAndRulesOfTheirFormulas) {
  std::size_t contributions = 0;
  for (const MixingInfo& info : all_mixings()) {
    if (info.needs != MixingNeeds::kTerms) continue;
    ++contributions;
    EXPECT_STREQ(info.name, contribution_name(info.contribution));
    EXPECT_EQ(info.rule, residual_rule(info.contribution)) << info.name;
  }
  EXPECT_EQ(contributions, static_cast<std::size_t>(Contribution::kValueZeroing) + 1);
}

}  // namespace
}  // namespace attnflow::settings_test
