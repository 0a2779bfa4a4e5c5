#include "attnflow/serve/api_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/base/error_for_test.h"

namespace attnflow::api_options_test {
namespace {

std::string message_of(const auto& read) { return test::refusal(ErrorKind::kUsage, read); }

void expect_wrong(const std::string& json, const std::string& words) {
  const std::string message = message_of([&] { read_explain_request(json); });
  EXPECT_NE(message.find(words), std::string::npos) << json << "\n" << message;
}

TEST(ExplainRequest, Defaults) {
  const ExplainRequest request = read_explain_request(R"({"text": "a"})");
  const ExplainOptions defaults;
  EXPECT_EQ(request.text, "a");
  EXPECT_EQ(request.model, "");
  EXPECT_FALSE(request.pair.has_value());
  EXPECT_FALSE(request.compact);
  EXPECT_EQ(request.options.settings.methods, defaults.settings.methods);
  EXPECT_EQ(request.options.settings.residual, defaults.settings.residual);
  EXPECT_EQ(request.options.settings.output_token, defaults.settings.output_token);
}

TEST(ExplainRequest, EveryField) {
  const ExplainRequest request = read_explain_request(R"({
    "model": "m", "text": "a", "pair": "b", "method": ["flow", "raw"], "heads": 3, "residual": 0.25, "layers": "1-3,5",
    "start_layer": 0, "output_token": 7, "normalize": "row", "discard": 0.5, "discard_keep_special": true,
    "mask_columns": [0, 5], "words": false, "mixing": "attention", "target": "auto", "flow_tolerance": 1e-9, "top_k": 3,
    "candidates": ["his", "her"], "referents": "author,Sara", "certificate": ["cls,5", "1,2"],
    "only_output_token": false, "keep_attention": true, "truncate": true, "compact": true, "blank": [4, 2, 4]})");
  const ExplainOptions& options = request.options;
  const Settings& settings = options.settings;
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.pair, "b");
  EXPECT_EQ(settings.methods, (std::vector<Method>{Method::kFlow, Method::kRaw}));
  EXPECT_EQ(to_text(settings.heads), "3");
  EXPECT_EQ(settings.residual, 0.25);
  EXPECT_EQ(settings.layers, (std::vector<std::size_t>{1, 2, 3, 5}));
  EXPECT_EQ(to_text(settings.output_token), "7");
  EXPECT_EQ(settings.normalization, Normalization::kRow);
  EXPECT_EQ(settings.discard, 0.5);
  EXPECT_TRUE(settings.discard_keep_special);
  EXPECT_EQ(to_text(settings.column_mask), "0,5");
  EXPECT_EQ(settings.flow_tolerance, 1e-9);
  EXPECT_EQ(settings.top_k, 3U);
  EXPECT_EQ(options.candidates, (std::vector<std::string>{"his", "her"}));
  EXPECT_EQ(to_value(options.referents), OptionValue(std::vector<std::string>{"author", "Sara"}));
  EXPECT_EQ(to_value(options.certificates), OptionValue(std::vector<std::string>{"cls,5", "1,2"}));
  EXPECT_TRUE(options.keep_attention);
  EXPECT_TRUE(options.truncate);
  EXPECT_EQ(options.blank, (std::vector<std::size_t>{2, 4}));
  EXPECT_TRUE(request.compact);
}

TEST(ExplainRequest, OtherSpellings) {
  const ExplainRequest request = read_explain_request(
      R"({"text": "a", "pair": null, "method": "raw,rollout", "heads": "max", "layers": [3, 1, 3], "top_k": 4.0,
          "certificate": "cls,5", "mask_columns": "special", "blank": "1,0"})");
  EXPECT_EQ(request.options.settings.methods, (std::vector<Method>{Method::kRaw, Method::kRollout}));
  EXPECT_EQ(request.options.settings.layers, (std::vector<std::size_t>{1, 3}));
  EXPECT_EQ(request.options.settings.top_k, 4U);
  EXPECT_EQ(to_value(request.options.certificates), OptionValue(std::vector<std::string>{"cls,5"}));
  EXPECT_EQ(request.options.blank, (std::vector<std::size_t>{0, 1}));
}

TEST(ExplainRequest, ARowOfADecoderLeavesFlowOut) {
  const ExplainRequest request = read_explain_request(R"({"text": "a", "only_output_token": true})");
  EXPECT_EQ(request.options.settings.methods, (std::vector<Method>{Method::kRaw, Method::kRollout}));
}

TEST(ExplainRequest, MessagesNameTheField) {
  expect_wrong("", "expected a JSON object, found text that does not parse: \"parse error at line 1");
  expect_wrong("[]", "expected a JSON object, found a list");
  expect_wrong("{}", "text: expected a text to explain, found none");
  expect_wrong(R"({"text": ""})", "text: expected a text to explain, found none");
  expect_wrong(R"({"text": 3})", "text: expected a text, found 3");
  expect_wrong(R"({"text": null})", "text: expected a text");
  expect_wrong(R"({"text": "a", "text": "b"})", "expected each field once");
  expect_wrong(R"({"text": "a", "residuals": 1})", "found \"residuals\"");
  expect_wrong(R"({"text": "a", "residual": "1"})", "residual: expected a number");
  expect_wrong(R"({"text": "a", "residual": 1e999})", "does not parse");
  expect_wrong(R"({"text": "a", "residual": NaN})", "does not parse");
  expect_wrong(R"({"text": "a", "residual": 2})", "residual: expected a weight from 0 to 1");
  expect_wrong(R"({"text": "a", "top_k": -1})", "top_k: expected a whole number of at least 0");
  expect_wrong(R"({"text": "a", "top_k": 1.5})", "top_k: expected a whole number");
  expect_wrong(R"({"text": "a", "top_k": 100000})", "top_k: expected at most 1000");
  expect_wrong(R"({"text": "a", "top_k": 18446744073709551616})", "top_k: expected a whole number");
  expect_wrong(R"({"text": "a", "words": 1})", "words: expected true or false");
  expect_wrong(R"({"text": "a", "method": {}})", "method: expected a list of strings, found an object");
  expect_wrong(R"({"text": "a", "method": [1]})", "method: expected a list of strings");
  expect_wrong(R"({"text": "a", "method": ["raw", "raw"]})", "method: expected each method once");
  expect_wrong(R"({"text": "a", "layers": [0]})", "layers: expected layers from 1");
  expect_wrong(R"({"text": "a", "layers": "0"})", "layers: expected layers such as");
  expect_wrong(R"({"text": "a", "layers": [1.5]})", "layers: expected a list of whole numbers");
  expect_wrong(R"({"text": "a", "heads": true})", "heads: expected a string or a whole number");
  expect_wrong(R"({"text": "a", "blank": "x"})", "blank: expected positions");
  expect_wrong(R"({"text": "a", "certificate": "5"})", "certificate: expected an output token");
  expect_wrong(R"({"text": "a", "certificate": [[0, 5, 6]]})", "certificate: expected lists of two");
  expect_wrong(R"({"text": "a", "certificate": [0.5, 1]})",
               "certificate: expected strings or whole numbers in the list");
  expect_wrong(R"({"text": "a", "against": ["a,b", "c"]})", "against: expected names without a comma in a list");
  expect_wrong(R"({"text": "a", "against": [true]})", "against: expected strings or whole numbers in the list");
  expect_wrong(R"({"text": "a", "output_token": ""})", "output-token: expected");
  expect_wrong("{\"text\": \"\xff\"}", "does not parse");
}

TEST(ExplainRequest, BoundsWhatIsHostile) {
  expect_wrong(std::string(500'000, '['), "nested at most");
  expect_wrong(R"({"text": "a", "candidates": [[[[[1]]]]]})", "nested at most");
  std::string many = R"({"text": "a", "candidates": [)";
  for (int i = 0; i < 300; ++i) many += "\"x\",";
  expect_wrong(many + "\"x\"]}", "candidates: expected at most 256 entries");
  std::string layers = "1-100000";
  for (int i = 0; i < 1000; ++i) layers += ",1-100000";
  expect_wrong(R"({"text": "a", "layers": ")" + layers + "\"}", "layers: expected at most");
}

TEST(ImageRequest, FromTheQuery) {
  const ImageRequest request = read_image_request({{"model", "m"},
                                                   {"name", "shoe.png"},
                                                   {"method", "raw,flow"},
                                                   {"residual", "0.25"},
                                                   {"top_k", "3"},
                                                   {"output_token", "2,3"},
                                                   {"mask_columns", "registers"},
                                                   {"certificate", "cls,5"},
                                                   {"keep_attention", "1"},
                                                   {"compact", "true"}});
  EXPECT_EQ(request.model, "m");
  EXPECT_EQ(request.name, "shoe.png");
  EXPECT_EQ(request.options.settings.methods, (std::vector<Method>{Method::kRaw, Method::kFlow}));
  EXPECT_EQ(request.options.settings.residual, 0.25);
  EXPECT_EQ(request.options.settings.top_k, 3U);
  EXPECT_EQ(to_text(request.options.settings.output_token), "2,3");
  EXPECT_EQ(to_value(request.options.certificates), OptionValue(std::vector<std::string>{"cls,5"}));
  EXPECT_TRUE(request.options.keep_attention);
  EXPECT_TRUE(request.compact);
  // As on the command line.
  EXPECT_EQ(read_image_request({}).options.settings.mixing, Mixing::kAuto);
  const auto wrong = [](const NamedTexts& query) { return message_of([&] { read_image_request(query); }); };
  EXPECT_NE(wrong({{"compact", "yes"}}).find("compact: expected true or false"), std::string::npos);
  EXPECT_NE(wrong({{"residual", "nan"}}).find("residual: expected a number"), std::string::npos);
  EXPECT_NE(wrong({{"top_k", "-1"}}).find("top_k: expected a"), std::string::npos);
  EXPECT_NE(wrong({{"text", "a"}}).find("found \"text\""), std::string::npos);
  EXPECT_NE(wrong({{"top_k", "1"}, {"top_k", "1"}}).find("once"), std::string::npos);
}

TEST(GenerateRequest, Fields) {
  const GenerateRequest request = read_generate_request(
      R"({"prompt": "a", "tokens": 5, "chat": true, "system": "b", "temperature": 0.5, "top_p": 0.9, "seed": 7,
          "ignore_end": true, "mask_columns": "first", "generated_columns": true, "method": "flow", "flow_tokens": [3, 0], "check_tokens": "2",
          "stop_id": "mine", "flow_layers": "2", "exclude_stop_words": "en,de", "exclude_punctuation": true, "exclude_special": true,
          "exclude_tokens": ["0", "3-7"], "begin_with": [9, 0, 9]})");
  const GenerateOptions& options = request.options;
  EXPECT_EQ(options.tokens, 5U);
  EXPECT_EQ(request.stop_id, "mine");
  EXPECT_TRUE(options.chat);
  EXPECT_EQ(options.system, "b");
  EXPECT_EQ(options.sampling.temperature, 0.5);
  EXPECT_EQ(options.sampling.seed, 7U);
  EXPECT_EQ(to_text(options.settings.column_mask), "first");
  EXPECT_EQ(options.flow_tokens, (std::vector<std::size_t>{0, 3}));
  EXPECT_EQ(options.check_tokens, (std::vector<std::size_t>{2}));
  EXPECT_EQ(options.flow_layers, (std::vector<std::size_t>{2}));
  EXPECT_EQ(options.filter.stop_words, (std::vector<std::string>{"en", "de"}));
  EXPECT_EQ(options.filter.indices, (std::vector<std::string>{"0", "3-7"}));
  const auto wrong = [](const std::string& json) { return message_of([&] { read_generate_request(json); }); };
  EXPECT_NE(wrong("{}").find("prompt: expected"), std::string::npos);
  EXPECT_NE(wrong(R"({"prompt": "a", "tokens": 0})").find("expected at least 1 token to generate"), std::string::npos);
  EXPECT_NE(wrong(R"({"prompt": "a", "tokens": 99999})").find("tokens: expected at most"), std::string::npos);
  EXPECT_NE(wrong(R"({"prompt": "a", "stop_id": ")" + std::string(65, 'x') + "\"}").find("stop_id: expected at most"),
            std::string::npos);
  EXPECT_EQ(options.begin_with, (std::vector<std::size_t>{9, 0, 9}));
  EXPECT_NE(wrong(R"({"prompt": "a", "begin_with": [-1]})").find("begin_with: expected"), std::string::npos);
  EXPECT_NE(wrong(R"({"prompt": "a", "begin_with": "1,2"})").find("a list of token ids"), std::string::npos);
  EXPECT_NE(wrong(R"({"prompt": "a", "tokens": 2, "begin_with": [1, 2, 3]})").find("at most 2"), std::string::npos);
  EXPECT_EQ(read_stop_request(R"({"stop_id": "mine"})"), "mine");
  EXPECT_NE(message_of([] { read_stop_request("{}"); }).find("stop_id: expected"), std::string::npos);
  EXPECT_NE(wrong(R"({"prompt": "a", "flow_tokens": [1]})").find("require method flow"), std::string::npos);
  EXPECT_NE(wrong(R"({"prompt": "a", "exclude_matching": "(a+)+"})").find("found \"exclude_matching\""),
            std::string::npos);
}

TEST(EvaluateRequest, Fields) {
  const EvaluateRequest request =
      read_evaluate_request(R"({"text": "a", "layers": [6], "blank": "mask", "output_token": "cls"})");
  EXPECT_EQ(request.options.blank, "mask");
  EXPECT_EQ(request.options.explain.settings.layers, (std::vector<std::size_t>{6}));
  const auto wrong = [](const std::string& json) { return message_of([&] { read_evaluate_request(json); }); };
  EXPECT_NE(wrong(R"({"text": "a", "blank": "x"})").find("blank: expected auto, unk, mask or pad"), std::string::npos);
  EXPECT_NE(wrong(R"({"text": "a", "words": true})").find("found \"words\""), std::string::npos);
}

}  // namespace
}  // namespace attnflow::api_options_test
