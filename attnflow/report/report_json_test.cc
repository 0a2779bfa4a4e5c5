#include "attnflow/report/report_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <tuple>

#include "attnflow/attribution/note.h"
#include "attnflow/base/base64.h"
#include "attnflow/base/error_for_test.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/report/report_array_table.h"
#include "attnflow/report/report_for_test.h"

namespace attnflow::report_json_test {
namespace {

using nlohmann::json;

Tensor<double> random_tensor(Shape shape, std::mt19937_64& random) {
  Tensor<double> tensor(std::move(shape));
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (double& value : tensor.span()) value = uniform(random);
  return tensor;
}

// Uses every field. Three layers of a four-layer model, so `graph` cannot be derived from `raw`.
Report full_report() {
  std::mt19937_64 random(20200705);
  Report report;
  report.settings.methods = {Method::kRaw, Method::kRollout, Method::kFlow};
  report.settings.mixing = Mixing::kGradientRenormalized;
  report.settings.target = "na\xc3\xafve";
  report.settings.heads = parse_heads("max");
  report.settings.residual = 0.1;
  report.settings.discard = 0.9;
  report.settings.discard_keep_special = true;
  report.settings.column_mask = parse_column_mask("special");
  report.settings.layers = {1, 2, 4};
  report.settings.output_token = parse_output_token("cls");
  report.settings.normalization = Normalization::kRow;
  report.settings.words = true;
  report.settings.flow_tolerance = 1e-9;
  report.settings.top_k = 3;
  report.model = {"a </script> model", "bert", 4, 2, true};
  report.input.text = "na\xc3\xafve \xf0\x9f\x98\x80 \"q\" <b> \xe2\x80\xa8";
  report.input.text_pair = "\xd8\xb3\xd9\x84\xd8\xa7\xd9\x85";
  report.input.tokens = {
      {.text = "[CLS]", .begin = {}, .end = {}, .special = true, .word = {}},
      {.text = "naive", .begin = 0, .end = 6, .word = 0},
      {.text = "x", .begin = 2, .end = 8, .word = 1, .segment = 1, .unknown = true},
  };
  report.predictions = {{"classification", std::nullopt, {{"positive", 0.75}, {"negative", 0.25}}, {}},
                        {"masked", 1, {{"his", 0.1}}, {{"her", 1.0 / 3.0}}}};
  report.target = {"class", "na\xc3\xafve", 3, -1.0 / 3.0};
  report.output_token = 2;
  report.all_output_tokens = true;
  report.output_tokens = {0, 1, 2};
  report.flow_output_tokens = {2};
  report.raw = random_tensor({3, 3, 3}, random);
  report.rollout = random_tensor({3, 3, 3}, random);
  report.flow = random_tensor({3, 1, 3}, random);
  report.flow_gap = random_tensor({3, 1, 3}, random);
  report.flow_degenerate = Tensor<std::uint8_t>({3, 1, 3}, {0, 1, 2, 0, 1, 2, 0, 0, 1});
  report.attention = Tensor<float>({4, 2, 3, 3});
  for (std::size_t i = 0; i < report.attention.size(); ++i) {
    report.attention.data()[i] = static_cast<float>(i) / 71.0F;
  }
  report.graph = random_tensor({4, 3, 3}, random);
  report.referents = {{"na\xc3\xafve", {1}}, {"\xd8\xb3\xd9\x84", {0, 2}}};
  report.notes = {Note(NoteCode::kWideGap, {{"widest", 3e-4}, {"tolerance", 1e-6}}), Note("Zweite \xc3\x9c"
                                                                                          "bersicht.")};
  return report;
}

template <typename T>
void expect_same_bits(const Tensor<T>& a, const Tensor<T>& b, const char* name) {
  ASSERT_EQ(a.shape(), b.shape()) << name;
  if (a.empty()) return;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(T)), 0) << name;
}

void expect_same(const Report& a, const Report& b) {
  const auto settings = [](const Settings& s) {
    return std::tie(s.methods, s.mixing, s.target, s.heads, s.residual, s.discard, s.discard_keep_special,
                    s.column_mask, s.layers, s.start_layer, s.output_token, s.normalization, s.words, s.flow_tolerance,
                    s.top_k);
  };
  EXPECT_EQ(settings(a.settings), settings(b.settings));
  ASSERT_EQ(a.target.has_value(), b.target.has_value());
  const auto target = [](const ReportTarget& t) { return std::tie(t.kind, t.label, t.index, t.logit); };
  if (a.target) {
    EXPECT_EQ(target(*a.target), target(*b.target));
  }
  const auto model = [](const ReportModel& m) { return std::tie(m.name, m.architecture, m.layers, m.heads, m.causal); };
  EXPECT_EQ(model(a.model), model(b.model));
  const auto input = [](const ReportInput& i) { return std::tie(i.kind, i.text, i.text_pair); };
  EXPECT_EQ(input(a.input), input(b.input));
  const auto same_list = [](const auto& c, const auto& d, const auto& fields) {
    ASSERT_EQ(c.size(), d.size());
    for (std::size_t i = 0; i < c.size(); ++i) EXPECT_EQ(fields(c[i]), fields(d[i])) << i;
  };
  same_list(a.input.tokens, b.input.tokens, [](const InputToken& t) {
    return std::tie(t.text, t.begin, t.end, t.special, t.word, t.segment, t.unknown, t.role);
  });
  same_list(a.predictions, b.predictions, [](const ReportPrediction& p) { return std::tie(p.kind, p.position); });
  for (std::size_t i = 0; i < a.predictions.size(); ++i) {
    const auto choice = [](const ReportChoice& c) { return std::tie(c.label, c.probability); };
    same_list(a.predictions[i].choices, b.predictions[i].choices, choice);
    same_list(a.predictions[i].candidates, b.predictions[i].candidates, choice);
  }
  const auto rows = [](const Report& r) {
    return std::tie(r.output_token, r.all_output_tokens, r.output_tokens, r.flow_output_tokens, r.notes);
  };
  EXPECT_EQ(rows(a), rows(b));
  expect_same_bits(a.raw, b.raw, "raw");
  expect_same_bits(a.rollout, b.rollout, "rollout");
  expect_same_bits(a.flow, b.flow, "flow");
  expect_same_bits(a.flow_gap, b.flow_gap, "flow_gap");
  expect_same_bits(a.flow_degenerate, b.flow_degenerate, "flow_degenerate");
  expect_same_bits(a.attention, b.attention, "attention");
  expect_same_bits(a.graph, b.graph, "graph");
  same_list(a.referents, b.referents, [](const ReportReferent& r) { return std::tie(r.text, r.tokens); });
}

std::string refusal(std::string_view text) {
  SCOPED_TRACE(text.substr(0, 200));
  return test::refusal(ErrorKind::kBadFile, [&] { report_from_json(text); });
}

struct Refusals {
  json good;
  void operator()(const std::string& pointer, const json& value, const std::string& place) const {
    json document = good;
    document[json::json_pointer(pointer)] = value;
    test::expect_parts(refusal(document.dump()), {place});
  }
};

Refusals refused_of(const Report& report) { return {json::parse(report_to_json(report))}; }

TEST(ReportJson, RoundTripKeepsEveryBit) {
  Report report = full_report();
  report.raw(0, 0, 0) = std::numeric_limits<double>::denorm_min();
  report.raw(0, 0, 1) = std::nextafter(1.0, 0.0);
  report.rollout(0, 0, 0) = -0.0;
  report.rollout(0, 0, 1) = std::numeric_limits<double>::quiet_NaN();
  const std::string text = report_to_json(report);
  expect_same(report, report_from_json(text));
  EXPECT_EQ(text, report_to_json(report_from_json(text)));
}

Report picture_report() {
  Report report = full_report();
  report.input.kind = "image";
  for (std::size_t i = 0; i < report.input.tokens.size(); ++i) report.input.tokens[i].role = i == 0 ? "class" : "patch";
  report.input.image = {.name = "caf\xc3\xa9.png",
                        .width = 640,
                        .height = 480,
                        .rows = 1,
                        .columns = report.input.tokens.size() - 1,
                        .first_patch = 1,
                        .left = -8.5,
                        .top = 1.0 / 3.0,
                        .right = 648.5,
                        .bottom = 480.0,
                        .input_width = 28,
                        .input_height = 21,
                        .input_channels = 1,
                        .png = std::string("\x89PNG\0\xff", 6),
                        .png_width = 320,
                        .png_height = 240};
  report.curve = {.order = Method::kFlow,
                  .steps = {0.0, 1.0 / 3.0, 1.0},
                  .insertion = {0.1, 0.75, 0.9},
                  .deletion = {0.9, 0.2, 0.1}};
  return report;
}

TEST(ReportJson, KeepsThePicture) {
  const Report report = picture_report();
  const Report back = report_from_json(report_to_json(report));
  expect_same(report, back);
  ASSERT_TRUE(back.input.image);
  const auto fields = [](const ReportImage& i) {
    return std::tie(i.name, i.width, i.height, i.rows, i.columns, i.first_patch, i.left, i.top, i.right, i.bottom,
                    i.input_width, i.input_height, i.input_channels, i.png, i.png_width, i.png_height);
  };
  EXPECT_EQ(fields(*report.input.image), fields(*back.input.image));
  ASSERT_TRUE(back.curve);
  const auto curve = [](const ReportCurve& c) { return std::tie(c.order, c.steps, c.insertion, c.deletion); };
  EXPECT_EQ(curve(*report.curve), curve(*back.curve));
  json old = json::parse(report_to_json(report));
  old.erase("curve");
  EXPECT_FALSE(report_from_json(old.dump()).curve);
  old["input"]["image"].erase("model_input");
  EXPECT_EQ(report_from_json(old.dump()).input.image->input_channels, 0U);
  EXPECT_FALSE(report_from_json(report_to_json(full_report())).input.image);
}

TEST(ReportJson, WrongPicturesAreRefused) {
  const Refusals refused = refused_of(picture_report());
  refused("/input/image/rows", 2, "input.image");
  refused("/input/image/rows", 0, "input.image");
  refused("/input/image/columns", std::uint64_t{1} << 63U, "input.image");
  refused("/input/image/first_patch", 2, "input.image");
  refused("/input/image/first_patch", ~std::uint64_t{0}, "input.image");
  refused("/input/image/seen", {0, 0, 1}, "input.image.seen");
  refused("/input/image/seen", {0, 0, 0, 1}, "input.image.seen");
  refused("/input/image/model_input/width", 0, "input.image.model_input");
  refused("/input/image/model_input/channels", "one", "input.image.model_input.channels");
  refused("/input/image/model_input", "28", "input.image.model_input");
  refused("/input/image/picture/encoding", "jpeg", "input.image.picture.encoding");
  refused("/input/image/picture/data", "AAA", "input.image.picture.data");
  refused("/input/image/picture/data", "A===", "input.image.picture.data");
  refused("/input/image/picture", nullptr, "input.image");
  refused("/curve/order", "magic", "curve");
  refused("/curve/steps", {0.0, 0.5, 0.5}, "curve.steps");
  refused("/curve/steps", {0.0, 1.0, 0.5}, "curve.steps");
  refused("/curve/steps", {0.25, 0.5, 1.0}, "curve.steps");
  refused("/curve/insertion", {0.1, 0.9}, "curve.insertion");
  refused("/curve/deletion", {0.9, 1.5, 0.1}, "curve.deletion");
  refused("/curve/deletion", nullptr, "curve");
}

TEST(ReportJson, OnlyAPictureHasACurve) {
  json document = json::parse(report_to_json(full_report()));
  document["curve"] = {{"order", "flow"}, {"steps", {0.0, 1.0}}, {"insertion", {0.0, 1.0}}, {"deletion", {1.0, 0.0}}};
  test::expect_error(ErrorKind::kBadFile, {"curve", "picture"}, [&] { report_from_json(document.dump()); });
}

// The page shows the same names and computes them nowhere else.
TEST(ReportJson, PartsOfACharacterHaveTheirName) {
  Report report = test::small_report();
  report.input.text = "The é";
  report.input.tokens[2] = {.text = "Ã", .begin = 4, .end = 6, .word = 1};
  report.input.tokens[3] = {.text = "©", .begin = 4, .end = 6, .word = 1};
  const std::string text = report_to_json(report);
  const json tokens = json::parse(text).at("input").at("tokens");
  EXPECT_FALSE(tokens.at(1).contains("shown"));
  EXPECT_EQ(tokens.at(2).at("shown"), "é (1/2)");
  EXPECT_EQ(tokens.at(2).at("text"), "Ã");
  EXPECT_EQ(tokens.at(3).at("shown"), "é (2/2)");
  EXPECT_EQ(tokens.at(3).at("begin"), 4);
  EXPECT_EQ(report_to_json(report_from_json(text)), text);
}

TEST(ReportJson, IsJsonWithTheDocumentedFields) {
  const json document = json::parse(report_to_json(full_report()));
  EXPECT_EQ(document.at("format"), "attnflow-report");
  EXPECT_EQ(document.at("version"), 3);
  EXPECT_EQ(document.at("settings").at("residual"), 0.1);
  EXPECT_EQ(document.at("settings").at("layers"), json({1, 2, 4}));
  EXPECT_EQ(document.at("input").at("tokens").at(0), json({{"text", "[CLS]"}, {"special", true}, {"segment", 0}}));
  EXPECT_EQ(document.at("input").at("tokens").at(1).at("end"), 6);
  EXPECT_EQ(document.at("predictions").at(1).at("candidates").at(0).at("label"), "her");
  const json& flow = document.at("arrays").at("flow");
  EXPECT_EQ(flow.at("shape"), json({3, 1, 3}));
  EXPECT_EQ(flow.at("dtype"), "f64");
  EXPECT_EQ(flow.at("encoding"), "base64");
  EXPECT_EQ(flow.at("data").get<std::string>().size(), base64_size(9 * 8));
  EXPECT_EQ(document.at("arrays").at("flow_degenerate").at("dtype"), "u8");
  EXPECT_EQ(document.at("arrays").at("attention").at("dtype"), "f32");
  const Report report = full_report();
  EXPECT_EQ(document.at("flow_gap_max").get<double>(),
            *std::max_element(report.flow_gap.span().begin(), report.flow_gap.span().end()));
}

TEST(ReportJson, MayStandInsideAScriptElement) {
  const std::string text = report_to_json(full_report());
  test::expect_no_parts(text, {"<", "\xe2\x80\xa8"});
  EXPECT_EQ(json::parse(text).at("model").at("name"), "a </script> model");
}

TEST(ReportJson, InvalidUtf8BecomesQuestionMarksOfTheSameLength) {
  Report report = full_report();
  report.model.name =
      "a\xff"
      "b\xc3";
  report.input.text = "\xed\xa0\x80 \xc0\xaf \xf5\x80\x80\x80 ok";  // a surrogate, an overlong form, above U+10FFFF
  report.input.tokens.resize(1);
  Report small;
  small.model.name = report.model.name;
  small.input = report.input;
  const Report read = report_from_json(report_to_json(small));
  EXPECT_EQ(read.model.name, "a?b?");
  EXPECT_EQ(read.input.text, "??? ?? ???? ok");
}

TEST(ReportJson, NarrowTypesRoundToNearest) {
  const Report report = full_report();
  const Report f32 = report_from_json(report_to_json(report, {.array_type = ReportArrayType::kF32}));
  const Report f16 = report_from_json(report_to_json(report, {.array_type = ReportArrayType::kF16}));
  for (std::size_t i = 0; i < report.raw.size(); ++i) {
    const double value = report.raw.data()[i];
    EXPECT_EQ(f32.raw.data()[i], static_cast<double>(static_cast<float>(value)));
    EXPECT_NEAR(f16.raw.data()[i], value, value * 0x1p-11 + 0x1p-25);
  }
  expect_same_bits(f32.attention, report.attention, "attention");
  EXPECT_NE(f16.attention, report.attention);
  EXPECT_EQ(f16.flow_degenerate, report.flow_degenerate);
}

TEST(ReportJson, LeavesOutWhatIsNotWanted) {
  const Report report = full_report();
  const json document =
      json::parse(report_to_json(report, {.attention = false, .omit = {"flow_gap", "graph"}})).at("arrays");
  EXPECT_FALSE(document.contains("attention"));
  EXPECT_FALSE(document.contains("flow_gap"));
  EXPECT_FALSE(document.contains("graph"));
  EXPECT_TRUE(document.contains("flow"));
}

TEST(ReportJson, DerivesTheGraphFromRawWhereItMay) {
  Report report = full_report();
  report.settings.layers = {1, 2, 3, 4};
  report.flow = {};
  report.flow_gap = {};
  report.flow_degenerate = {};
  report.rollout = {};
  report.raw = report.graph;
  EXPECT_FALSE(json::parse(report_to_json(report)).at("arrays").contains("graph"));
  expect_same(report, report_from_json(report_to_json(report)));

  EXPECT_TRUE(json::parse(report_to_json(report, {.omit = {"raw"}})).at("arrays").contains("graph"));
  report.settings.heads = parse_heads("1");
  EXPECT_TRUE(json::parse(report_to_json(report)).at("arrays").contains("graph"));
  report.settings.heads = parse_heads("mean");
  report.graph(0, 0, 0) += 1.0;
  EXPECT_TRUE(json::parse(report_to_json(report)).at("arrays").contains("graph"));
  expect_same(report, report_from_json(report_to_json(report)));
}

TEST(ReportJson, UnknownFieldsAreIgnoredAndMissingOnesHaveDefaults) {
  json document = json::parse(report_to_json(full_report()));
  document["extra"] = {{"nested", {1, 2, 3}}};
  document["settings"]["future"] = "x";
  document["input"]["tokens"][0]["colour"] = "red";
  document["arrays"]["future"] = {{"dtype", "q4"}};
  expect_same(full_report(), report_from_json(document.dump()));

  const Report small = report_from_json(
      R"({"format": "attnflow-report", "version": 1, "input": {"tokens": [{"text": "a", "begin": null}]}})");
  EXPECT_EQ(small.settings.residual, 0.5);
  EXPECT_EQ(small.input.tokens.at(0).begin, std::nullopt);
  EXPECT_TRUE(small.raw.empty());
}

TEST(ReportJson, NewerVersionsAreRefusedByName) {
  const Refusals refused = refused_of(full_report());
  refused("/version", 4, "found version 4");
  refused("/version", 4, "attnflow-report version 3");
  refused("/version", 0, "version");
  refused("/version", "1", "version");
  refused("/format", "something-else", "something-else");
}

TEST(ReportJson, MalformedDocumentsAreRefused) {
  for (const char* text :
       {"", "{", "[]", "null", "3", "\"x\"", "{}", "{\"format\": \"attnflow-report\"}", "\xff\xfe",
        "{\"format\": \"attnflow-report\", \"version\": 1}", "{\"format\": \"attnflow-report\", \"version\": 1e999}"}) {
    refusal(text);
  }
  refusal(std::string(1 << 20, '['));
  std::string nested;
  for (int i = 0; i < 200000; ++i) nested += "{\"a\":";
  test::expect_parts(refusal(nested), {"nesting"});
  const std::string whole = report_to_json(full_report());
  for (std::size_t length = 0; length + 3 < whole.size(); length += 97) refusal(whole.substr(0, length));
}

TEST(ReportJson, WrongFieldsAreRefusedByTheirPlace) {
  const Refusals refused = refused_of(full_report());
  const json& good = refused.good;
  refused("/settings", 3, "settings");
  refused("/settings/residual", "half", "settings.residual");
  refused("/settings/words", 1, "settings.words");
  refused("/settings/top_k", -1, "settings.top_k");
  refused("/settings/top_k", 1.5, "settings.top_k");
  refused("/settings/method", {"flaw"}, "settings.method");
  refused("/settings/mixing", "sum", "settings.mixing");
  refused("/settings/layers", {1, 1, 2}, "settings.layers[1]");
  refused("/settings/layers", {0, 1, 2}, "settings.layers[0]");
  refused("/settings/layers", {1, 2, 5}, "settings.layers[2]");
  refused("/input/kind", "generation", "generation");
  refused("/input/tokens", json::array(), "input.tokens");
  refused("/input/tokens/1/text", 1, "input.tokens[1].text");
  refused("/input/tokens/1/end", 4000, "input.tokens[1]");
  refused("/input/tokens/1/end", 3, "input.tokens[1]");  // inside a character
  refused("/input/tokens/1/end", nullptr, "input.tokens[1]");
  refused("/input/tokens/1/begin", 7, "input.tokens[1]");
  refused("/input/tokens/1/segment", 2, "input.tokens[1].segment");
  refused("/predictions/1/position", 3, "predictions[1].position");
  refused("/predictions/0/choices/0/probability", nullptr, "predictions[0].choices[0]");
  refused("/target", "x", "target");
  refused("/target/index", -1, "target.index");
  refused("/settings/mixing", 1, "settings.mixing");
  refused("/output_token", 3, "output_token");
  refused("/output_tokens", {0, 1, 3}, "output_tokens[2]");
  refused("/output_tokens", {0, 2, 1}, "output_tokens[2]");
  refused("/flow_output_tokens", {7}, "flow_output_tokens[0]");
  refused("/notes", {1}, "notes[0]");
  refused("/notes/0/text", nullptr, "notes[0]");
  refused("/notes/0/values", 1, "notes[0].values");
  json document = good;
  document["notes"][0]["values"]["widest"] = json::object();
  EXPECT_EQ(report_from_json(document.dump()).notes[0].find("widest"), nullptr);
  refused("/arrays", "x", "arrays");
}

TEST(ReportJson, NotesAreObjectsWithCodes) {
  Report report = full_report();
  report.notes = {Note(NoteCode::kOutputTokenOfWord, {{"word", "cabinets"}, {"tokens", 2UL}, {"position", 6UL}}),
                  Note(NoteCode::kLeftOut, {{"arrays", std::vector<std::string>{"graph"}}}), Note("Mine.")};
  json document = json::parse(report_to_json(report));
  EXPECT_EQ(report_from_json(document.dump()).notes, report.notes);
  const json& first = document["notes"][0];
  EXPECT_EQ(first["code"], "output-token-of-word");
  EXPECT_EQ(first["values"], (json{{"word", "cabinets"}, {"tokens", 2}, {"position", 6}}));
  EXPECT_EQ(first["text"].get<std::string>() + " " + first["advice"].get<std::string>(), note_text(report.notes[0]));
  EXPECT_FALSE(document["notes"][2].contains("advice"));

  document["notes"] = {{{"code", "made-up"}, {"values", {{"share", 0.5}, {"none", nullptr}}}, {"text", "Words."}}};
  const Report newer = report_from_json(document.dump());
  ASSERT_EQ(newer.notes.size(), 1U);
  EXPECT_EQ(newer.notes[0].code, NoteCode::kText);
  EXPECT_EQ(note_text(newer.notes[0]), "Words.");
  EXPECT_EQ(newer.notes[0].values, (NoteValues{{"share", 0.5}}));

  document["version"] = 1;
  document["notes"] = {"A sentence."};
  EXPECT_EQ(report_from_json(document.dump()).notes, std::vector{Note("A sentence.")});
}

TEST(ReportJson, WrongArraysAreRefused) {
  const Refusals refused = refused_of(full_report());
  const json& good = refused.good;
  const std::string data = good["arrays"]["raw"]["data"];
  refused("/arrays/raw/shape", {3, 3, 4}, "arrays.raw.shape");
  refused("/arrays/raw/shape", {3, 9}, "arrays.raw.shape");
  refused("/arrays/raw/shape", {3, 3, 9223372036854775807U}, "arrays.raw.shape");
  refused("/arrays/raw/dtype", "f8", "arrays.raw.dtype");
  refused("/arrays/attention/dtype", "f64", "arrays.attention.dtype");
  refused("/arrays/flow_degenerate/dtype", "f32", "arrays.flow_degenerate.dtype");
  refused("/arrays/raw/dtype", "f32", "arrays.raw.data");  // twice the bytes
  refused("/arrays/raw/encoding", "hex", "arrays.raw.encoding");
  refused("/arrays/raw/data", data.substr(4), "arrays.raw.data");
  refused("/arrays/raw/data", data + "AAAA", "arrays.raw.data");
  refused("/arrays/raw/data", " " + data.substr(1), "arrays.raw.data");
  refused("/arrays/raw/data", json::array(), "arrays.raw.data");
  json document = good;
  document["arrays"]["raw"].erase("data");
  test::expect_parts(refusal(document.dump()), {"arrays.raw"});
  document = good;
  document["model"]["heads"] = 9223372036854775807U;
  document["arrays"]["attention"]["shape"][1] = 9223372036854775807U;
  test::expect_parts(refusal(document.dump()), {"arrays.attention.shape"});
  document["model"]["heads"] = std::size_t{1} << 40;
  document["arrays"]["attention"]["shape"][1] = std::size_t{1} << 40;
  test::expect_parts(refusal(document.dump()), {"arrays.attention.data"});
}

// Damaged documents are read or refused; the sanitizers watch.
TEST(ReportJson, DamagedDocumentsNeverDoHarm) {
  const std::string good = report_to_json(full_report());
  std::mt19937_64 random(7);
  std::size_t refused = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string bad = good;
    const std::size_t changes = 1 + random() % 4;
    for (std::size_t c = 0; c < changes; ++c) {
      const std::size_t at = random() % bad.size();
      switch (random() % 3) {
        case 0:
          bad[at] = static_cast<char>(random());
          break;
        case 1:
          bad.erase(at, 1 + random() % 5);
          break;
        default:
          bad.insert(at, bad, random() % bad.size(), 1 + random() % 20);
      }
    }
    try {
      report_from_json(bad);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kBadFile);
      ++refused;
    }
  }
  EXPECT_GT(refused, 500U);
}

TEST(ReportJson, FilesAreReadBackAndNamedInErrors) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "attnflow_report_json_test.json";
  write_report_json(path, full_report());
  expect_same(full_report(), read_report_json(path));
  write_file(path, "{\"format\": 1}");
  test::expect_error(ErrorKind::kBadFile, {path.string()}, [&] { read_report_json(path); });
  std::filesystem::remove(path);
}

TEST(ReportJson, TheExampleOfTheDocumentationReads) {
  const std::string page = read_file(std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "docs" / "report-format.md");
  const std::string open = "```json\n";
  const std::size_t begin = page.find(open) + open.size();
  const std::string example = page.substr(begin, page.find("```", begin) - begin);
  const Report report = report_from_json(example);
  EXPECT_EQ(report.rollout, Tensor<double>({1, 2, 2}, {0.75, 0.25, 0.25, 0.75}));
  EXPECT_EQ(report_to_json(report), example);
}

TEST(Base64, MatchesTheTestVectorsOfTheRfc) {
  const std::pair<std::string, std::string> vectors[] = {{"", ""},
                                                         {"f", "Zg=="},
                                                         {"fo", "Zm8="},
                                                         {"foo", "Zm9v"},
                                                         {"foob", "Zm9vYg=="},
                                                         {"fooba", "Zm9vYmE="},
                                                         {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, code] : vectors) {
    std::string encoded;
    base64_append(encoded, std::as_bytes(std::span(plain)));
    EXPECT_EQ(encoded, code);
    std::vector<std::byte> decoded(plain.size());
    EXPECT_TRUE(base64_decode(code, decoded));
    EXPECT_TRUE(std::ranges::equal(decoded, std::as_bytes(std::span(plain))));
  }
}

TEST(Base64, RefusesOtherSpellings) {
  std::vector<std::byte> one(1), two(2), three(3);
  EXPECT_FALSE(base64_decode("Zh==", one));  // unused bits set
  EXPECT_FALSE(base64_decode("Zm9=", two));  // unused bits set
  EXPECT_FALSE(base64_decode("Zg=A", one));
  EXPECT_FALSE(base64_decode("ZgA=", one));  // two bytes
  EXPECT_FALSE(base64_decode("Zg", one));    // no padding
  EXPECT_FALSE(base64_decode("Zm9v", two));
  EXPECT_FALSE(base64_decode("Zm9_", three));
  EXPECT_FALSE(base64_decode("Zm\n9", three));
  EXPECT_FALSE(base64_decode("Zm9\xff", three));
  EXPECT_TRUE(base64_decode("Zm9v", three));
}

}  // namespace
}  // namespace attnflow::report_json_test
