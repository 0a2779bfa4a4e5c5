#include "attnflow/report/compact_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <span>

#include "attnflow/attribution/note.h"
#include "attnflow/base/base64.h"
#include "attnflow/base/error.h"
#include "attnflow/base/text_for_test.h"
#include "attnflow/report/compact_rows.h"
#include "attnflow/report/report_for_test.h"
#include "attnflow/report/report_generation_for_test.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/zlib_bytes.h"

namespace attnflow::compact_json_test {
namespace {

using nlohmann::json;

constexpr double kError = 0.0231;  // of a code, and of a 12-bit sum

template <typename T>
Tensor<T> attention_like(Shape shape, std::uint64_t seed, bool causal) {
  Tensor<T> tensor(std::move(shape));
  const std::size_t n = tensor.shape().back();
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0.0, 2.0);
  for (std::size_t row = 0; row < tensor.size() / n; ++row) {
    T* values = tensor.data() + row * n;
    const std::size_t seen = causal ? row % n + 1 : n;
    double sum = 0.0;
    for (std::size_t j = 0; j < seen; ++j)
      sum += static_cast<double>(values[j] = static_cast<T>(std::exp(normal(random))));
    for (std::size_t j = 0; j < seen; ++j) values[j] = static_cast<T>(static_cast<double>(values[j]) / sum);
  }
  return tensor;
}

struct Size {
  std::size_t layers = 4;
  std::size_t n = 128;
  bool causal = false;
  std::size_t heads = 0;
};

Report report_of(const Size& size) {
  Report report;
  report.model = {"model", "bert", size.layers, std::max<std::size_t>(1, size.heads), size.causal};
  for (std::size_t i = 0; i < size.n; ++i) {
    report.input.tokens.push_back({"word", 5 * i, 5 * i + 4, false, i, 0});
    report.input.text += "word ";
    report.output_tokens.push_back(i);
  }
  for (std::size_t l = 1; l <= size.layers; ++l) report.settings.layers.push_back(l);
  report.output_token = size.n / 2;
  report.flow_output_tokens = report.output_tokens;
  const Shape shape = {size.layers, size.n, size.n};
  report.raw = attention_like<double>(shape, 1, size.causal);
  report.rollout = attention_like<double>(shape, 2, size.causal);
  report.flow = attention_like<double>(shape, 3, size.causal);
  report.flow_gap = Tensor<double>(shape);
  report.flow_gap(0, 0, 0) = 1e-7;
  report.flow_degenerate = Tensor<std::uint8_t>(shape);
  report.flow_degenerate(1, 2, 1) = 2;
  report.graph = report.raw;
  if (size.heads > 0) {
    report.attention = attention_like<float>({size.layers, size.heads, size.n, size.n}, 4, size.causal);
  }
  return report;
}

std::string dtype(const json& document, const char* array) {
  const json& arrays = document["arrays"];
  return arrays.contains(array) ? arrays[array]["dtype"].get<std::string>() : "none";
}

std::string notes_of(const json& document) {
  std::string all;
  for (const json& note : document["notes"]) all += note["text"].get<std::string>() + "\n";
  return all;
}

void expect_row_of_floats(const Tensor<double>& exact, const Tensor<double>& found, std::size_t row) {
  ASSERT_EQ(exact.shape(), found.shape());
  for (std::size_t l = 0; l < exact.extent(0); ++l) {
    for (std::size_t j = 0; j < exact.extent(2); ++j) {
      ASSERT_EQ(found(l, row, j), static_cast<double>(static_cast<float>(exact(l, row, j))));
    }
  }
}

TEST(CompactReportJson, SmallReportsKeepFloat32) {
  Report report = test::small_report();
  report.attention = attention_like<float>({2, 3, 4, 4}, 1, false);
  report.notes = {Note("A note.")};
  const std::string text = compact_report_json(report);
  const json document = json::parse(text);
  EXPECT_EQ(document["version"], 3);
  EXPECT_EQ(notes_of(document), "A note.\n");
  const Report back = report_from_json(text);
  for (const auto& [a, b] : {std::pair{&report.raw, &back.raw}, std::pair{&report.rollout, &back.rollout},
                             std::pair{&report.flow, &back.flow}, std::pair{&report.flow_gap, &back.flow_gap}}) {
    ASSERT_EQ(a->shape(), b->shape());
    for (std::size_t i = 0; i < a->size(); ++i) {
      ASSERT_EQ(static_cast<double>(static_cast<float>(a->data()[i])), b->data()[i]);
    }
  }
  EXPECT_EQ(back.attention, report.attention);
  EXPECT_EQ(back.flow_degenerate, report.flow_degenerate);
  EXPECT_EQ(back.input.text, report.input.text);
  EXPECT_FALSE(document["arrays"].contains("raw_exact"));
}

TEST(CompactReportJson, OneByteStandsForAValue) {
  for (const bool causal : {false, true}) {
    const Report report = report_of({.causal = causal});
    const std::string text = compact_report_json(report, {.exact_bytes = 0});
    const json document = json::parse(text);
    for (const char* name : {"raw", "rollout", "flow"}) {
      EXPECT_EQ(dtype(document, name), "log8");
      EXPECT_EQ(document["arrays"][name]["decades"], 5.0);
      EXPECT_EQ(document["arrays"][name]["error"], 0.023);
      EXPECT_EQ(dtype(document, (std::string(name) + "_exact").c_str()), "f32");
    }
    EXPECT_EQ(dtype(document, "graph"), "none");
    EXPECT_EQ(dtype(document, "flow_gap"), "none");
    EXPECT_EQ(document["flow_gap_max"], 1e-7);
    test::expect_parts(notes_of(document), {"gaps of flow"});

    const Report back = report_from_json(text);
    EXPECT_EQ(back.graph, back.raw);
    EXPECT_EQ(back.flow_degenerate, report.flow_degenerate);
    expect_row_of_floats(report.rollout, back.rollout, report.output_token);
    const std::size_t n = report.input.tokens.size();
    for (std::size_t row = 0; row < report.raw.size() / n; ++row) {
      const auto values = report.raw.span().subspan(row * n, n);
      const double smallest = 1e-5 * *std::max_element(values.begin(), values.end());
      for (std::size_t j = 0; j < n; ++j) {
        ASSERT_NEAR(back.raw.data()[row * n + j], values[j], std::max(kError * values[j], smallest / 2.0 * 1.0001));
        const bool zero = back.raw.data()[row * n + j] == 0.0;
        ASSERT_TRUE(values[j] != 0.0 || zero);
      }
    }
  }
}

TEST(CompactReportJson, TheLargestValuesOfEachRowAreKept) {
  for (const bool causal : {false, true}) {
    const Report report = report_of({.layers = 6, .n = 256, .causal = causal});
    constexpr std::size_t kBytes = 450'000;
    const std::string text = compact_report_json(report, {.exact_bytes = 0, .bytes = kBytes});
    EXPECT_LE(text.size(), kBytes);
    EXPECT_GT(text.size(), kBytes * 8 / 10);
    const json document = json::parse(text);
    for (const char* name : {"raw", "rollout", "flow"}) EXPECT_EQ(dtype(document, name), "top");
    test::expect_parts(notes_of(document), {"raw attention", "% of rollout"});

    const Report back = report_from_json(text);
    expect_row_of_floats(report.raw, back.raw, report.output_token);
    expect_row_of_floats(report.flow, back.flow, report.output_token);
    const std::size_t n = report.input.tokens.size();
    for (std::size_t row = 0; row < report.rollout.size() / n; ++row) {
      const double* values = report.rollout.data() + row * n;
      const double* found = back.rollout.data() + row * n;
      EXPECT_NEAR(std::accumulate(found, found + n, 0.0), 1.0, kError);
      std::vector<std::size_t> order(n);
      std::iota(order.begin(), order.end(), 0);
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
      for (std::size_t k = 0; k < 16 && values[order[k]] > 0.0; ++k) {
        ASSERT_NEAR(found[order[k]], values[order[k]], kError * values[order[k]] + 1e-5) << "row " << row;
      }
      for (std::size_t j = row % n + 1; causal && j < n; ++j) ASSERT_EQ(found[j], 0.0);
    }
  }
}

TEST(CompactReportJson, SparseArraysLoseValuesBeforeOthers) {
  const Report report = report_of({.layers = 6, .n = 256});
  const json document = json::parse(compact_report_json(report, {.exact_bytes = 0, .bytes = 1'250'000}));
  EXPECT_EQ(dtype(document, "raw"), "top");
  EXPECT_EQ(dtype(document, "rollout"), "log8");
  EXPECT_EQ(dtype(document, "flow"), "log8");
}

TEST(CompactReportJson, AttentionOfHeadsTakesWhatIsLeft) {
  const Report report = report_of({.layers = 4, .n = 128, .heads = 6});
  const auto document = [&](std::size_t bytes) {
    return json::parse(
        compact_report_json(report, {.exact_bytes = 0, .bytes_with_attention = bytes, .max_bytes = 600'000}));
  };
  const json whole = document(2'000'000);
  EXPECT_EQ(dtype(whole, "attention"), "log8");
  EXPECT_EQ(dtype(whole, "raw"), "f32");
  const json some = document(500'000);
  EXPECT_EQ(dtype(some, "attention"), "top");
  test::expect_parts(notes_of(some), {"the attention of single heads"});
  const Report back = report_from_json(some.dump());
  ASSERT_EQ(back.attention.shape(), report.attention.shape());
  const std::size_t n = report.input.tokens.size();
  for (std::size_t row = 0; row < back.attention.size() / n; ++row) {
    const float* values = back.attention.data() + row * n;
    EXPECT_NEAR(std::accumulate(values, values + n, 0.0), 1.0, kError);
  }
}

TEST(CompactReportJson, AttentionThatDoesNotFitIsLeftOut) {
  const Report report = report_of({.layers = 4, .n = 128, .heads = 24});
  const CompactOptions options{
      .exact_bytes = 0, .bytes = 150'000, .bytes_with_attention = 160'000, .max_bytes = 170'000};
  const std::string text = compact_report_json(report, options);
  EXPECT_LE(text.size(), options.max_bytes);
  const json document = json::parse(text);
  EXPECT_EQ(dtype(document, "attention"), "none");
  test::expect_parts(notes_of(document), {"Left out here to save space: the attention of single heads."});
  EXPECT_EQ(report_from_json(text).raw.shape(), report.raw.shape());
}

TEST(CompactReportJson, LayersThatDoNotFitAreLeftOut) {
  const Report report = report_of({.layers = 61, .n = 128});
  const std::string text = compact_report_json(report, {.exact_bytes = 0, .bytes = 1, .max_bytes = 1});
  const json document = json::parse(text);
  const Report back = report_from_json(text);
  EXPECT_LT(back.settings.layers.size(), 61U);
  EXPECT_EQ(back.settings.layers.back(), 61U);
  EXPECT_TRUE(back.graph.empty());
  test::expect_parts(notes_of(document), {"of the 61 layers"});
  const std::size_t last = back.settings.layers.size() - 1;
  for (std::size_t j = 0; j < 128; ++j) {
    ASSERT_EQ(back.rollout(last, report.output_token, j),
              static_cast<double>(static_cast<float>(report.rollout(60, report.output_token, j))));
  }
}

TEST(CompactReportJson, UndefinedValuesAreNamed) {
  Report report = report_of({});
  report.rollout(0, 3, 5) = std::numeric_limits<double>::quiet_NaN();
  const std::string text = compact_report_json(report, {.exact_bytes = 0});
  test::expect_parts(notes_of(json::parse(text)), {"Undefined values of rollout"});
  EXPECT_EQ(report_from_json(text).rollout(0, 3, 5), 0.0);
}

TEST(CompactReportJson, TheSameReportGivesTheSameBytes) {
  for (const std::size_t bytes : {400'000U, 5'000'000U}) {
    const CompactOptions options{.exact_bytes = 0, .bytes = bytes};
    EXPECT_EQ(compact_report_json(report_of({.n = 200}), options), compact_report_json(report_of({.n = 200}), options));
  }
}

TEST(CompactReportJson, OtherRowsAndGraphs) {
  Report report = report_of({.layers = 4, .n = 160});
  report.graph = attention_like<double>({4, 160, 160}, 9, false);
  report.settings.heads = parse_heads("3");
  report.output_tokens.erase(report.output_tokens.begin() + 80);
  report.flow_output_tokens = {2, 5};
  report.raw = attention_like<double>({4, 159, 160}, 1, false);
  report.rollout = attention_like<double>({4, 159, 160}, 2, false);
  report.flow = attention_like<double>({4, 2, 160}, 3, false);
  report.flow_gap = Tensor<double>({4, 2, 160});
  report.flow_degenerate = Tensor<std::uint8_t>({4, 2, 160});
  const std::string text = compact_report_json(report, {.exact_bytes = 0, .bytes = 250'000});
  const json document = json::parse(text);
  EXPECT_EQ(dtype(document, "graph"), "top");
  EXPECT_EQ(dtype(document, "raw_exact"), "none");
  EXPECT_EQ(dtype(document, "flow"), "f32");  // too small to lose digits
  EXPECT_EQ(dtype(document, "flow_gap"), "f32");
  const Report back = report_from_json(text);
  EXPECT_EQ(back.graph.shape(), report.graph.shape());
  EXPECT_EQ(back.raw.shape(), report.raw.shape());
}

json packed(const json& dtype, std::span<const std::byte> bytes) {
  std::string code;
  base64_append(code, internal::zlib_compress(bytes));
  return {{"dtype", dtype}, {"encoding", "zlib+base64"}, {"data", code}};
}

class HostileCompactDocument : public testing::Test {
 protected:
  explicit HostileCompactDocument(bool top = true) : good_(top ? sample(220'000) : sample(5'000'000)) {}

  static json sample(std::size_t bytes) {
    static std::map<std::size_t, json> made;
    const auto [found, fresh] = made.try_emplace(bytes);
    if (fresh) {
      const Report report = report_of({.layers = 4, .n = 128});
      found->second = json::parse(compact_report_json(report, {.exact_bytes = 0, .bytes = bytes}));
    }
    return found->second;
  }

  static void expect_refused(const json& document, const std::string& part, const ReportReadOptions& options = {}) {
    test::expect_error(ErrorKind::kBadFile, {part}, [&] { report_from_json(document.dump(), options); });
  }
  void expect_refused(const std::string& path, const json& value, const std::string& part) const {
    SCOPED_TRACE(path);
    expect_refused(with(path, value), part);
  }
  json with(const std::string& path, json value) const {
    json document = good_;
    document["arrays"][json::json_pointer(path)] = std::move(value);
    return document;
  }

  json good_;
};

TEST_F(HostileCompactDocument, SoundOnesPass) {
  EXPECT_EQ(dtype(good_, "raw"), "top");
  EXPECT_NO_THROW(report_from_json(good_.dump()));
}

TEST_F(HostileCompactDocument, NewerVersionsAreRefusedByNumber) {
  good_["version"] = 4;
  expect_refused(good_, "found version 4");
  expect_refused(good_, "version 3 or older");
}

TEST_F(HostileCompactDocument, FieldsMustBeWhatTheyAre) {
  expect_refused("/raw/decades", 0.0, "arrays.raw.decades");
  expect_refused("/raw/decades", -5.0, "arrays.raw.decades");
  expect_refused("/raw/decades", 1e9, "arrays.raw.decades");
  expect_refused("/raw/decades", nullptr, "decades");
  expect_refused("/raw/shape", {4, 128, 129}, "arrays.raw.shape");
  expect_refused("/raw/dtype", "log9", "arrays.raw.dtype");
  expect_refused("/raw/counts", nullptr, "counts");
  expect_refused("/raw/counts/dtype", "u8", "arrays.raw.counts.dtype");
  expect_refused("/raw/scales/dtype", "f64", "arrays.raw.scales.dtype");
  expect_refused("/raw/codes/encoding", "gzip", "arrays.raw.codes.encoding");
  expect_refused("/raw_exact/shape", {4, 127}, "arrays.raw_exact.shape");
  expect_refused("/flow_degenerate/dtype", "top", "arrays.flow_degenerate.dtype");
}

TEST_F(HostileCompactDocument, PartsMustFitTogether) {
  for (const char* part : {"counts", "columns", "codes", "scales", "rest"}) {
    const std::string path = std::string("/raw/") + part;
    const std::string place = std::string("arrays.raw.") + part;
    json document = good_;
    json& data = document["arrays"][json::json_pointer(path + "/data")];
    data = data.get<std::string>().substr(4);
    expect_refused(document, place);
    for (const char* bad : {"", "AAA", "!!!!"}) expect_refused(path + "/data", bad, place);
    const bool plain = good_["arrays"]["raw"][part]["encoding"] == "base64";
    expect_refused(path + "/encoding", plain ? "zlib+base64" : "base64", place);
  }
  for (const auto& [count, place] : {std::pair{128, "arrays.raw.codes"}, {129, "arrays.raw.counts"}}) {
    const std::vector<std::uint16_t> counts(std::size_t{4} * 128, static_cast<std::uint16_t>(count));
    expect_refused("/raw/counts", packed("u16", std::as_bytes(std::span(counts))), place);
  }
}

TEST_F(HostileCompactDocument, BombsAreNotInflated) {
  const std::vector<std::byte> bomb(30'000'000);
  for (const char* part : {"counts", "columns", "codes", "scales", "rest"}) {
    expect_refused(std::string("/raw/") + part, packed(good_["arrays"]["raw"][part]["dtype"], bomb),
                   std::string("arrays.raw.") + part);
  }
  json whole = packed("f32", bomb);
  whole["shape"] = {4, 128, 128};
  expect_refused("/raw", whole, "arrays.raw.data");
  json huge = good_;
  huge["model"]["layers"] = std::uint64_t{1} << 40U;
  whole["shape"] = {std::uint64_t{1} << 40U, 128, 128};
  huge["arrays"]["graph"] = whole;
  expect_refused(huge, "arrays.graph");
  huge["arrays"]["graph"]["dtype"] = "log8";
  huge["arrays"]["graph"]["decades"] = 5.0;
  expect_refused(huge, "uncompressed");
}

TEST_F(HostileCompactDocument, ArraysTakeNoMoreThanAllowed) {
  // raw, rollout, flow: 4 x 128 x 128 values of 9 bytes while they are read.
  EXPECT_NO_THROW(report_from_json(good_.dump(), {.max_array_bytes = 3'000'000}));
  expect_refused(good_, "at most 1000000 bytes", {.max_array_bytes = 1'000'000});
}

class HostileLog8Document : public HostileCompactDocument {
 protected:
  HostileLog8Document() : HostileCompactDocument(false) {}
};

TEST_F(HostileLog8Document, IsRefused) {
  EXPECT_EQ(dtype(good_, "raw"), "log8");
  EXPECT_NO_THROW(report_from_json(good_.dump()));
  expect_refused("/raw/data", "AAAA", "arrays.raw.data");
  expect_refused("/raw/scales/data", "AAAA", "arrays.raw.scales");
  expect_refused("/raw/scales", nullptr, "scales");
  const std::vector<float> scales(std::size_t{4} * 128, std::numeric_limits<float>::quiet_NaN());
  expect_refused("/raw/scales", packed("f32", std::as_bytes(std::span(scales))), "arrays.raw.scales");
}

std::vector<std::byte> bytes_of(const json& part) {
  const std::string code = part["data"];
  const std::size_t padding = code.ends_with("==") ? 2 : code.ends_with('=') ? 1 : 0;
  std::vector<std::byte> bytes(code.size() / 4 * 3 - padding);
  EXPECT_TRUE(base64_decode(code, bytes));
  if (part["encoding"] == "base64") return bytes;
  auto plain = internal::zlib_uncompress(bytes, 0, std::size_t{1} << 30U);
  EXPECT_TRUE(plain);
  return plain.value_or(std::vector<std::byte>());
}

// A larger small_generation(), with n tokens from a prompt of m.
Report generation_of(std::size_t n, std::size_t m, std::size_t layers) {
  Report report = test::small_generation();
  report.input.tokens.assign(m, report.input.tokens[1]);
  report.generation->tokens.assign(n, report.generation->tokens[0]);
  report.model.layers = layers;
  report.settings.layers.clear();
  for (std::size_t l = 1; l <= layers; ++l) report.settings.layers.push_back(l);
  report.output_token = m - 1;
  report.output_tokens.clear();
  for (std::size_t t = 0; t < n; ++t) report.output_tokens.push_back(m - 1 + t);
  report.flow = report.flow_gap = {};
  report.flow_degenerate = {};
  report.flow_output_tokens.clear();
  report.flow_layers.clear();
  report.generation->excluded.clear();
  report.raw = report.rollout = attention_like<double>({layers, n, m}, 5, false);
  report.rollout_beside.generated = Tensor<double>({layers, n, n});
  report.generation->sink_share = Tensor<double>({layers, n});
  return report;
}

TEST(CompactGenerationJson, ReadsBack) {
  Report report = generation_of(20, 300, 8);
  for (std::size_t l = 0; l < 8; ++l) {
    for (std::size_t t = 1; t < 20; ++t) report.rollout_beside.generated(l, t, t - 1) = 0.25;
  }
  const std::string text = compact_report_json(report, {.exact_bytes = 0});
  const json document = json::parse(text);
  EXPECT_EQ(document["version"], 3);
  EXPECT_EQ(dtype(document, "raw"), "log8");
  EXPECT_EQ(dtype(document, "raw_exact"), "none");  // no generated token is shown first
  const Report read = report_from_json(text);
  ASSERT_EQ(read.raw.shape(), report.raw.shape());
  for (std::size_t i = 0; i < report.raw.size(); ++i) {
    ASSERT_NEAR(read.raw.data()[i], report.raw.data()[i], kError * report.raw.data()[i] + 1e-5);
  }
  EXPECT_EQ(read.rollout_beside.generated, report.rollout_beside.generated);
}

TEST(CompactGenerationJson, LargeOnesKeepTheLargest) {
  const Report report = generation_of(40, 500, 8);
  const std::string text = compact_report_json(report, {.exact_bytes = 0, .bytes = 150'000});
  EXPECT_LE(text.size(), 150'000U);
  const json document = json::parse(text);
  EXPECT_EQ(dtype(document, "raw"), "top");
  EXPECT_EQ(bytes_of(document["arrays"]["raw"]["counts"]).size(), 2U * 40 * 8);
  test::expect_parts(notes_of(document), {"the largest in each row"});
  EXPECT_EQ(text, compact_report_json(report, {.exact_bytes = 0, .bytes = 150'000}));
  const Report read = report_from_json(text);
  for (std::size_t row = 0; row < 40 * 8; ++row) {
    const auto sum = [&](const Tensor<double>& values) {
      return std::accumulate(values.data() + row * 500, values.data() + (row + 1) * 500, 0.0);
    };
    ASSERT_NEAR(sum(read.raw), sum(report.raw), 0.03 * sum(report.raw)) << row;
  }
}

TEST(CompactGenerationJson, GeneratedColumnsAndSharesOfTheFirstTokenSurviveTheLargestCut) {
  Report report = generation_of(200, 60, 40);
  for (std::size_t l = 0; l < 40; ++l) {
    for (std::size_t t = 0; t < 200; ++t) {
      for (std::size_t s = 0; s < t; ++s) {
        report.rollout_beside.generated(l, t, s) = 1.0 / static_cast<double>((t - s) * (t - s));
      }
      report.generation->sink_share(l, t) = 0.4 + 0.001 * static_cast<double>((l * 7 + t * 3) % 400);
    }
  }
  const std::string text = compact_report_json(report, {.exact_bytes = 0, .bytes = 300'000, .max_bytes = 3'000'000});
  const json document = json::parse(text);
  ASSERT_EQ(dtype(document, "rollout_generated"), "top");
  const Report read = report_from_json(text);
  const auto sum = [](const Tensor<double>& values, std::size_t l, std::size_t t) {
    return std::accumulate(values[l][t].data(), values[l][t].data() + values.extent(2), 0.0);
  };
  for (std::size_t l = 0; l < 40; ++l) {
    for (std::size_t t = 0; t < 200; ++t) {
      ASSERT_NEAR(sum(read.rollout_beside.generated, l, t), sum(report.rollout_beside.generated, l, t), 0.04 * 2) << t;
      for (std::size_t s = t; s < 200; ++s) ASSERT_EQ(read.rollout_beside.generated(l, t, s), 0.0);
      const double share = report.generation->sink_share(l, t);
      ASSERT_NEAR(read.generation->sink_share(l, t), share, 0.5 * share) << l << " " << t;
    }
  }
}

TEST(CompactGenerationJson, ExactRowsAreReadForMethodsOnly) {
  json document = json::parse(compact_report_json(generation_of(2, 300, 2), {.exact_bytes = 0}));
  const std::vector<float> values(std::size_t{2} * 300, 1.0F);
  json& arrays = document["arrays"];
  arrays["rollout_generated_exact"] = packed("f32", std::as_bytes(std::span(values)));
  arrays["rollout_generated_exact"]["shape"] = {2, 300};
  const json scales = {{"dtype", "f32"}, {"encoding", "base64"}, {"data", "AAAAAAAAAAAAAAAAAAAAAA=="}};
  arrays["rollout_generated"] = {{"shape", {2, 2, 2}},    {"dtype", "log8"},  {"decades", 5},
                                 {"error", 0.023},        {"scales", scales}, {"encoding", "base64"},
                                 {"data", "AAAAAAAAAAA="}};
  const Report read = report_from_json(document.dump());
  EXPECT_EQ(read.rollout_beside.generated, Tensor<double>({2, 2, 2}));
}

TEST(CompactGenerationJson, WhatIsNeededLeastGoesFirst) {
  Report report = generation_of(60, 200, 40);
  report.rollout_beside.normalized = report.rollout;
  const std::string text = compact_report_json(report, {.exact_bytes = 0, .bytes = 1, .max_bytes = 1});
  const json document = json::parse(text);
  EXPECT_EQ(dtype(document, "rollout_generated"), "none");
  EXPECT_EQ(dtype(document, "rollout_normalized"), "none");
  EXPECT_NE(dtype(document, "rollout"), "none");
  EXPECT_EQ(document["settings"]["layers"].back(), 40);
  EXPECT_EQ(document["arrays"]["rollout"]["shape"][0], document["settings"]["layers"].size());
  const std::string notes = notes_of(document);
  test::expect_parts(notes, {"the columns of generated tokens, normalized values"});
}

TEST(CompactGenerationJson, SmallOnesKeepFloat32) {
  const json document = json::parse(compact_report_json(test::small_generation()));
  EXPECT_EQ(dtype(document, "rollout"), "f32");
  EXPECT_EQ(dtype(document, "flow_gap"), "f32");
  EXPECT_EQ(dtype(document, "flow_degenerate"), "u8");
  EXPECT_EQ(notes_of(document), "A note.\n");
  EXPECT_EQ(document["input"]["kind"], "generation");
}

}  // namespace
}  // namespace attnflow::compact_json_test
