// Tests that terms of layers read from libllama are complete, regardless of chunks and threads, or else rejected.
// tests/cli/test_gguf_contributions.py compares contributions with those of the converted file's folder.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/model/llama/llama_for_test.h"
#include "attnflow/model/llama/output_projections.h"

namespace attnflow::terms_capture_test {
namespace {

using test::expect_error;
using test::golden_ids;
using test::Ids;
using test::largest_difference;
using test::load_small;

Ids some_ids(std::size_t count) {
  Ids ids = golden_ids("llama");
  ids.resize(count);
  return ids;
}

class LayersSink : public AttentionSink {
 public:
  bool wants_terms() const override { return true; }
  void layer(std::size_t, std::size_t, TensorView<const float>) override { ADD_FAILURE() << "attention alone"; }
  void terms(const LayerTerms& terms) override {
    ++count;
    if (terms.query_begin == 0) error = std::max(error, completeness_error(terms));
    const auto keep = [](std::vector<float>& to, TensorView<const float> rows) {
      to.insert(to.end(), rows.span().begin(), rows.span().end());
    };
    keep(residuals, terms.residual);
    keep(outputs, terms.output);
    keep(values, terms.values);
    heads = terms.attention.extent(0);
    key_value_heads = terms.values.extent(1);
  }

  std::size_t count = 0;
  std::size_t heads = 0;
  std::size_t key_value_heads = 0;
  double error = 0.0;
  std::vector<float> residuals;  // [layer of a chunk, query, hidden]
  std::vector<float> outputs;
  std::vector<float> values;
};

TEST(TermsCapture, TheyAreComplete) {
  const auto decoder = load_small("llama");
  LayersSink sink;
  decoder->append(some_ids(100), &sink);
  EXPECT_EQ(sink.count, decoder->info().layers);
  EXPECT_EQ(sink.heads, decoder->info().heads);
  EXPECT_EQ(sink.key_value_heads, decoder->info().key_value_heads);
  EXPECT_LT(sink.key_value_heads, sink.heads);
  RecordProperty("completeness_error", std::to_string(sink.error));
  EXPECT_LE(sink.error, 1e-5);
  EXPECT_GT(sink.error, 0.0);
}

// The last layer computes only the positions whose logits are requested.
TEST(TermsCapture, AllPositionsComeWhicheverLogitsAreWanted) {
  const auto decoder = load_small("llama");
  const TextInput input = {some_ids(60), {}};
  LayersSink first;
  decoder->run(input, &first);
  for (const std::vector<std::size_t>& wanted : {std::vector<std::size_t>{59}, {3, 7, 50}}) {
    LayersSink sink;
    decoder->run(input, &sink, {wanted});
    EXPECT_LE(sink.error, 1e-5);
    EXPECT_EQ(sink.outputs, first.outputs);
    EXPECT_EQ(sink.residuals, first.residuals);
  }
}

// The input stream of the next layer, for all layers but the last, and the same rows alone or in another order.
TEST(TermsCapture, TheRestOfALayerIsWhatTheModelComputes) {
  class Rests : public AttentionSink {
   public:
    bool wants_terms() const override { return true; }
    void layer(std::size_t, std::size_t, TensorView<const float>) override {}
    void terms(const LayerTerms& terms) override {
      ASSERT_TRUE(terms.rest) << terms.layer;
      if (!expected.empty()) {
        largest = std::max(largest, largest_difference(expected.span(), terms.residual.span()));
        ++compared;
      }
      expected = terms.rest(terms.output);
      const Tensor<float> one =
          terms.rest(TensorView<const float>(terms.output[3].data(), {1, terms.output.extent(1)}));
      largest_alone = std::max(largest_alone, largest_difference(one.span(), expected[3].span()));
    }
    Tensor<float> expected;
    double largest = 0.0;
    double largest_alone = 0.0;
    std::size_t compared = 0;
  };
  for (const std::size_t threads : {1U, 2U}) {
    const auto decoder = load_small("llama", {.threads = threads});
    Rests rests;
    decoder->append(some_ids(40), &rests);
    EXPECT_EQ(rests.compared, decoder->info().layers - 1);
    EXPECT_LE(rests.largest, 1e-6);
    EXPECT_LE(rests.largest_alone, 1e-5);
  }
}

AttentionGraph graph_of(Decoder& decoder, const Ids& ids, const std::vector<std::size_t>& parts, Contribution method) {
  ContributionGraphSink sink(decoder.info().layers, {.contribution = method, .threads = 1}, ids.size());
  test::append_in_parts(decoder, ids, parts, &sink);
  return sink.take();
}

TEST(TermsCapture, ChunksChangeRoundingOnly) {
  const auto decoder = load_small("llama");
  const Ids ids = some_ids(200);  // the library processes 128 of them at a time
  for (const Contribution method :
       {Contribution::kNorm, Contribution::kAlti, Contribution::kIfr, Contribution::kValueZeroing}) {
    const AttentionGraph whole = graph_of(*decoder, ids, {ids.size()}, method);
    for (const std::vector<std::size_t>& parts : {std::vector<std::size_t>{1, 1, 1, 147, 1, 49}, {127, 1, 1, 71}}) {
      const AttentionGraph cut = graph_of(*decoder, ids, parts, method);
      EXPECT_LE(largest_difference<double>(whole.weights.span(), cut.weights.span()), 2e-5)
          << contribution_name(method);  // as for attention
      EXPECT_GT(*std::max_element(whole.weights.span().begin(), whole.weights.span().end()), 0.1);
    }
  }
}

TEST(TermsCapture, ThreadsAndLookingChangeNothing) {
  const Ids ids = some_ids(150);
  const auto pass = [&](std::size_t threads) {
    const auto decoder = load_small("llama", {.threads = threads});
    LayersSink sink;
    const Tensor<float> seen = decoder->append(ids, &sink);
    decoder->clear();
    EXPECT_TRUE(decoder->append(ids, nullptr) == seen);
    return std::pair(sink.outputs, sink.values);
  };
  test::expect_same_bits(pass, {2});
}

// Norms between the output projection and the residual stream: sum_j T_ij is not the term added.
TEST(TermsCapture, OtherLayersAreRefusedBeforeAnythingIsComputed) {
  for (const char* name : {"gemma2", "olmo3"}) {
    const auto decoder = load_small(name);
    const Ids ids = {1, 2, 3};
    decoder->append(ids, nullptr);
    LayersSink sink;
    expect_error(ErrorKind::kUnsupportedModel,
                 {"RMS_NORM after the output projection in layer 1", "--mixing attention works",
                  "attnflow model FILE.gguf -o FOLDER"},
                 [&] { decoder->append(ids, &sink); });
    EXPECT_EQ(sink.count, 0U);
    EXPECT_EQ(decoder->length(), ids.size());
    test::KeptRows rows;
    decoder->clear();
    decoder->append(ids, &rows);
    EXPECT_EQ(rows.tokens(), ids.size());
  }
}

TEST(TermsCapture, WhatASinkThrowsArrives) {
  class Throwing : public LayersSink {
   public:
    void terms(const LayerTerms& terms) override {
      if (terms.layer == 2) throw Error(ErrorKind::kOther, "no room for layer 2");
    }
  } throwing;
  const auto decoder = load_small("llama");
  expect_error(ErrorKind::kOther, {"no room for layer 2"}, [&] { decoder->append(some_ids(9), &throwing); });
  EXPECT_EQ(decoder->length(), 0U);
  LayersSink sink;
  decoder->append(some_ids(9), &sink);
  EXPECT_LE(sink.error, 1e-5);
}

TEST(OutputProjections, AreThoseOfTheFile) {
  const test::TempFolder scratch;
  const std::filesystem::path file = scratch / "llama.gguf";
  std::filesystem::copy_file(test::golden_gguf() / "llama.gguf", file);
  const internal::GgufHeader header = internal::read_gguf(file);
  StoredMatrices matrices;
  add_matrices(file, header, matrices);
  OutputProjections projections(matrices);
  const StoredMatrix& stored = matrices.at("blk.1.attn_output.weight");
  OutputProjections::Wanted wanted{.name = "blk.1.attn_output.weight", .heads = 4, .width = stored.columns / 4};
  wanted.hidden = stored.rows;
  EXPECT_EQ(projections.problem(wanted), "");
  const std::string bytes = test::get(file);
  const TensorView<const float> found = projections.get(wanted);
  ASSERT_EQ(found.shape(), (Shape{4, stored.columns / 4, stored.rows}));
  for (std::size_t row = 0; row < stored.rows; ++row) {
    for (std::size_t column = 0; column < stored.columns; ++column) {
      float expected = 0.0F;
      std::memcpy(&expected, bytes.data() + stored.offset + (row * stored.columns + column) * sizeof(float),
                  sizeof(float));
      EXPECT_EQ(found(column / wanted.width, column % wanted.width, row), expected);
    }
  }
  EXPECT_EQ(projections.get(wanted).data(), found.data());  // read only once
  OutputProjections::Wanted other = wanted;
  other.heads = 3;
  EXPECT_NE(projections.problem(other).find("for 3 heads"), std::string::npos);
  other.name = "blk.9.attn_output.weight";
  EXPECT_NE(projections.problem(other).find("no matrix"), std::string::npos);
  wanted.name = "blk.0.attn_output.weight";
  std::filesystem::resize_file(file, matrices.at(wanted.name).offset);
  expect_error(ErrorKind::kBadFile, {"another program has changed it"}, [&] { projections.get(wanted); });
}

// With 4-bit weights products are rounded, so the terms are complete only to within that rounding.
TEST(SmolLM2Terms, AreCompleteWithinItsArithmetic) {
  const char* const file = std::getenv("ATTNFLOW_SMOLLM2");
  if (file == nullptr || *file == '\0') GTEST_SKIP() << "ATTNFLOW_SMOLLM2 does not name the model's file";
  const auto decoder = ModelFiles::gguf(file).load_decoder({.threads = 1});
  const Ids ids = test::ids_of(decoder->codec()->encode("The key to the cabinets is on the table."));
  LayersSink sink;
  const Tensor<float> seen = decoder->append(ids, &sink);
  EXPECT_EQ(sink.count, 30U);
  RecordProperty("completeness_error", std::to_string(sink.error));
  EXPECT_LE(sink.error, 5e-3);
  decoder->clear();
  EXPECT_TRUE(decoder->append(ids, nullptr) == seen);
}

}  // namespace
}  // namespace attnflow::terms_capture_test
