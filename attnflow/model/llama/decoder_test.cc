// Tests the llama backend on small random models, against transformers (tests/golden/gguf) and against itself.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <stop_token>

#include "attnflow/base/error.h"
#include "attnflow/base/progress.h"
#include "attnflow/model/llama/llama_for_test.h"

namespace attnflow::decoder_test {
namespace {

using Ids = std::vector<std::int64_t>;
using test::expect_error;
using test::gguf_tolerance;
using test::golden_gguf;
using test::golden_ids;
using test::largest_difference;
using test::load_small;
using test::RowsSink;

bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

std::span<const std::int64_t> part(const Ids& ids, std::size_t begin, std::size_t end) {
  return std::span(ids).subspan(begin, end - begin);
}

Tensor<float> golden_array(const std::string& model, const std::string& name) {
  return read_npz(golden_gguf() / (model + ".npz"), name).to_float(name);
}

class SmallModel : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Llama, SmallModel, testing::Values("llama", "olmo3", "gemma2"),
                         [](const auto& model) { return std::string(model.param); });

TEST_P(SmallModel, SaysWhatItIs) {
  const auto decoder = load_small(GetParam());
  std::size_t found = 0;
  const nlohmann::json index = test::gguf_index();
  for (const nlohmann::json& golden : index.at("models")) {
    if (golden.at("name") != GetParam()) continue;
    ++found;
    const ModelInfo& info = decoder->info();
    EXPECT_EQ(info.layers, golden.at("layers"));
    EXPECT_EQ(info.heads, golden.at("heads"));
    EXPECT_EQ(info.key_value_heads, golden.at("key_value_heads"));
    EXPECT_EQ(info.hidden, golden.at("hidden"));
    EXPECT_EQ(info.vocabulary, golden.at("vocabulary"));
    EXPECT_EQ(info.parameters, golden.at("parameters"));
    EXPECT_EQ(info.max_tokens, 512U);
    EXPECT_TRUE(info.causal);
    EXPECT_EQ(info.head, ModelHead::kCausalLm);
    EXPECT_EQ(info.name, GetParam());
  }
  EXPECT_EQ(found, 1U);
  EXPECT_EQ(decoder->length(), 0U);
}

TEST_P(SmallModel, AttentionAndLogitsAreThoseOfTransformers) {
  const auto decoder = load_small(GetParam());
  const Tensor<float> attention = golden_array(GetParam(), "attention");
  const Tensor<float> logits = golden_array(GetParam(), "logits");
  const std::size_t tokens = attention.extent(2);
  TextInput input;
  input.ids = golden_ids(GetParam());
  input.ids.resize(tokens);
  RunOptions options;
  for (std::size_t i = 0; i < tokens; ++i) options.logit_positions.push_back(i);
  RowsSink sink;
  const ModelOutput output = decoder->run(input, &sink, options);
  ASSERT_EQ(sink.layers(), attention.extent(0));
  ASSERT_EQ(sink.heads(), attention.extent(1));
  ASSERT_EQ(sink.tokens(), tokens);
  double largest = 0.0;
  for (std::size_t layer = 1; layer <= sink.layers(); ++layer) {
    for (std::size_t head = 0; head < sink.heads(); ++head) {
      for (std::size_t query = 0; query < tokens; ++query) {
        const auto expected = attention[layer - 1][head][query].span();
        largest = std::max(largest, largest_difference(sink.row(layer, head, query), expected.subspan(0, query + 1)));
      }
    }
  }
  RecordProperty("largest_attention_difference", std::to_string(largest));
  EXPECT_LE(largest, gguf_tolerance(GetParam()).attention);
  ASSERT_EQ(output.logits.shape(), logits.shape());
  const double logit_difference = largest_difference(output.logits.span(), logits.span());
  RecordProperty("largest_logit_difference", std::to_string(logit_difference));
  EXPECT_LE(logit_difference, gguf_tolerance(GetParam()).logits);
}

// Several chunks; the first tokens are far outside the window of layers with a sliding window.
TEST_P(SmallModel, RowsOfALongTextAreThoseOfTransformers) {
  const auto decoder = load_small(GetParam());
  const Tensor<float> expected = golden_array(GetParam(), "row_attention");  // [layer, head, row, key]
  const Tensor<float> logits = golden_array(GetParam(), "row_logits");
  const Tensor<std::int64_t> rows =
      read_npz(golden_gguf() / (std::string(GetParam()) + ".npz"), "rows").to_int64("rows");
  const Tensor<std::int64_t> logit_rows =
      read_npz(golden_gguf() / (std::string(GetParam()) + ".npz"), "logit_rows").to_int64("logit_rows");
  TextInput input;
  input.ids = golden_ids(GetParam());
  ASSERT_GT(input.ids.size(), 256U);
  RunOptions options;
  for (const std::int64_t row : logit_rows.span()) options.logit_positions.push_back(static_cast<std::size_t>(row));
  RowsSink sink;
  const ModelOutput output = decoder->run(input, &sink, options);
  ASSERT_EQ(sink.tokens(), input.ids.size());
  ASSERT_EQ(sink.layers(), expected.extent(0));
  double largest = 0.0;
  for (std::size_t layer = 1; layer <= sink.layers(); ++layer) {
    for (std::size_t head = 0; head < sink.heads(); ++head) {
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const auto query = static_cast<std::size_t>(rows.span()[i]);
        const auto row = expected[layer - 1][head][i].span();
        largest = std::max(largest, largest_difference(sink.row(layer, head, query), row.subspan(0, query + 1)));
      }
    }
  }
  RecordProperty("largest_attention_difference", std::to_string(largest));
  EXPECT_LE(largest, gguf_tolerance(GetParam()).attention);
  EXPECT_LE(largest_difference(output.logits.span(), logits.span()), gguf_tolerance(GetParam()).logits);
}

TEST_P(SmallModel, ChunksChangeRoundingOnly) {
  const auto decoder = load_small(GetParam());
  const Ids ids = golden_ids(GetParam());
  RowsSink whole;
  const Tensor<float> logits = decoder->append(ids, &whole);
  EXPECT_EQ(decoder->length(), ids.size());
  for (const std::vector<std::size_t>& cuts : {std::vector<std::size_t>{1, 2, 3, 200, 201}, {150}, {127, 128, 129}}) {
    decoder->clear();
    EXPECT_EQ(decoder->length(), 0U);
    RowsSink parts;
    Tensor<float> last;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
      const std::size_t end = i < cuts.size() ? cuts[i] : ids.size();
      last = decoder->append(part(ids, begin, end), &parts);
      begin = end;
      EXPECT_EQ(decoder->length(), end);
    }
    EXPECT_LE(largest_difference(whole, parts), gguf_tolerance(GetParam()).attention);
    EXPECT_LE(largest_difference(last.span(), logits.span()), gguf_tolerance(GetParam()).logits);
  }
}

TEST_P(SmallModel, OneTokenAtATime) {
  const auto decoder = load_small(GetParam());
  Ids ids = golden_ids(GetParam());
  ids.resize(40);
  RowsSink whole;
  const Tensor<float> logits = decoder->append(ids, &whole);
  decoder->clear();
  RowsSink parts;
  Tensor<float> last;
  for (const std::int64_t id : ids) last = decoder->append(Ids{id}, &parts);
  EXPECT_LE(largest_difference(whole, parts), gguf_tolerance(GetParam()).attention);
  EXPECT_LE(largest_difference(last.span(), logits.span()), gguf_tolerance(GetParam()).logits);
}

TEST_P(SmallModel, ThreadsChangeNothing) {
  Ids ids = golden_ids(GetParam());
  ids.resize(150);  // two chunks; threads that share a core wait long for each other
  std::unique_ptr<RowsSink> first;
  Tensor<float> first_logits;
  const std::size_t most = std::string(GetParam()) == "llama" ? 3 : 2;
  for (std::size_t threads = 1; threads <= most; ++threads) {
    LoadOptions options;
    options.threads = threads;
    const auto decoder = load_small(GetParam(), options);
    auto sink = std::make_unique<RowsSink>();
    decoder->append(part(ids, 0, 140), sink.get());
    decoder->append(part(ids, 140, 141), sink.get());
    const Tensor<float> logits = decoder->append(part(ids, 141, ids.size()), sink.get());
    if (!first) {
      first = std::move(sink);
      first_logits = logits;
      continue;
    }
    EXPECT_TRUE(*sink == *first) << threads << " threads";
    EXPECT_TRUE(same_bits(logits.span(), first_logits.span())) << threads << " threads";
  }
}

TEST_P(SmallModel, LookingChangesNothing) {
  const auto decoder = load_small(GetParam());
  const Ids ids = golden_ids(GetParam());
  RowsSink sink;
  const Tensor<float> seen = decoder->append(ids, &sink);
  decoder->clear();
  const Tensor<float> unseen = decoder->append(ids, nullptr);
  EXPECT_TRUE(same_bits(seen.span(), unseen.span()));
  const Tensor<float> seen_next = [&] {
    decoder->clear();
    decoder->append(ids, nullptr);
    RowsSink rest;
    return decoder->append(Ids{5}, nullptr);
  }();
  decoder->clear();
  RowsSink all;
  decoder->append(ids, &all);
  EXPECT_TRUE(same_bits(decoder->append(Ids{5}, &all).span(), seen_next.span()));
}

TEST_P(SmallModel, RoomThatGrowsChangesNothing) {
  const Ids ids = golden_ids(GetParam());
  LoadOptions little;
  little.context = 1;  // 256 in libllama, which rounds up
  LoadOptions enough;
  enough.context = 512;
  const auto grown = load_small(GetParam(), little);
  const auto roomy = load_small(GetParam(), enough);
  const auto asked = load_small(GetParam(), little);
  asked->reserve(100000);  // more than the number of positions
  EXPECT_TRUE(same_bits(asked->append(part(ids, 0, 250), nullptr).span(),
                        load_small(GetParam(), enough)->append(part(ids, 0, 250), nullptr).span()));
  RowsSink a;
  RowsSink b;
  for (const auto& [begin, end] : std::vector<std::pair<std::size_t, std::size_t>>{{0, 250}, {250, 255}, {255, 256}}) {
    grown->append(part(ids, begin, end), &a);
    roomy->append(part(ids, begin, end), &b);
  }
  for (std::size_t i = 256; i < 270; ++i) {
    const Tensor<float> grown_logits = grown->append(part(ids, i, i + 1), &a);
    EXPECT_TRUE(same_bits(grown_logits.span(), roomy->append(part(ids, i, i + 1), &b).span())) << i;
  }
  EXPECT_TRUE(a == b);
}

TEST_P(SmallModel, RunGivesTheLogitsThatAreAskedFor) {
  const auto decoder = load_small(GetParam());
  TextInput input;
  input.ids = golden_ids(GetParam());
  RunOptions options;
  options.logit_positions = {299, 3, 130, 3};
  const ModelOutput some = decoder->run(input, nullptr, options);
  ASSERT_EQ(some.logits.shape(), (Shape{4, decoder->info().vocabulary}));
  EXPECT_TRUE(same_bits(some.logits[1].span(), some.logits[3].span()));
  EXPECT_EQ(decoder->length(), input.ids.size());
  options.logit_positions.clear();
  EXPECT_EQ(decoder->run(input, nullptr, options).logits.size(), 0U);
  decoder->clear();
  const Tensor<float> last = decoder->append(input.ids, nullptr);
  EXPECT_LE(largest_difference(some.logits[0].span(), last.span()), gguf_tolerance(GetParam()).logits);
  for (const auto& [index, position] : std::vector<std::pair<std::size_t, std::size_t>>{{1, 3}, {2, 130}}) {
    decoder->clear();
    const Tensor<float> there = decoder->append(part(input.ids, 0, position + 1), nullptr);
    EXPECT_LE(largest_difference(some.logits[index].span(), there.span()), gguf_tolerance(GetParam()).logits);
  }
}

TEST_P(SmallModel, ReplaysItsRows) {
  const auto decoder = load_small(GetParam());
  const Ids ids = golden_ids(GetParam());
  RowsSink seen;
  const Tensor<float> expected = decoder->append(ids, &seen);
  Tensor<float> logits;
  const auto replay = decoder->run_for_replay(ids, &logits);
  EXPECT_TRUE(same_bits(logits.span(), expected.span()));
  ASSERT_EQ(replay->layers(), seen.layers());
  ASSERT_EQ(replay->heads(), seen.heads());
  ASSERT_EQ(replay->tokens(), ids.size());

  class Compare : public AttentionSink {
   public:
    explicit Compare(const RowsSink& rows) : rows_(rows) {}
    void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
      for (std::size_t head = 0; head < attention.extent(0); ++head) {
        for (std::size_t i = 0; i < attention.extent(1); ++i) {
          const std::size_t query = query_begin + i;
          const auto row = attention[head][i].span();
          largest = std::max(largest, largest_difference(rows_.row(layer, head, query), row.subspan(0, query + 1)));
          for (const float behind : row.subspan(query + 1)) EXPECT_EQ(behind, 0.0F);
          ++compared;
        }
      }
    }
    std::size_t compared = 0;
    double largest = 0.0;

   private:
    const RowsSink& rows_;
  } compare(seen);
  // From the top down, in tiles and in single rows.
  for (std::size_t layer = replay->layers(); layer >= 1; --layer) {
    replay->rows(layer, 290, 300, compare);
    replay->rows(layer, 0, 1, compare);
    replay->rows(layer, 299, 300, compare);
    replay->rows(layer, 1, 290, compare);
  }
  EXPECT_EQ(compare.compared, replay->layers() * replay->heads() * (ids.size() + 1));
  EXPECT_LE(compare.largest, 2e-6);

  expect_error(ErrorKind::kUsage, {"layer 0"}, [&] { replay->rows(0, 0, 1, compare); });
  expect_error(ErrorKind::kUsage, {"rows 0 to 301"}, [&] { replay->rows(1, 0, 301, compare); });
  expect_error(ErrorKind::kUsage, {"rows 5 to 5"}, [&] { replay->rows(1, 5, 5, compare); });
  decoder->append(Ids{3}, nullptr);
  expect_error(ErrorKind::kUsage, {"used since"}, [&] { replay->rows(1, 0, 1, compare); });
}

TEST(LlamaDecoder, AReplayKnowsThatItsDecoderIsGone) {
  auto decoder = load_small("llama");
  const auto replay = decoder->run_for_replay(Ids{1, 2, 3}, nullptr);
  decoder.reset();
  RowsSink sink;
  expect_error(ErrorKind::kUsage, {"used since"}, [&] { replay->rows(1, 0, 1, sink); });
}

TEST(LlamaDecoder, InputThatCannotBe) {
  const auto decoder = load_small("llama");
  expect_error(ErrorKind::kUsage, {}, [&] { decoder->append(Ids{}, nullptr); });
  expect_error(ErrorKind::kBadFile, {"298", "5000"}, [&] { decoder->append(Ids{1, 5000}, nullptr); });
  expect_error(ErrorKind::kBadFile, {"-1"}, [&] { decoder->append(Ids{-1}, nullptr); });
  expect_error(ErrorKind::kInputTooLong, {"512"}, [&] { decoder->append(Ids(513, 1), nullptr); });
  decoder->append(Ids(510, 1), nullptr);
  expect_error(ErrorKind::kInputTooLong, {"512"}, [&] { decoder->append(Ids(3, 1), nullptr); });
  EXPECT_EQ(decoder->length(), 510U);  // a rejected call changes nothing
  decoder->append(Ids(2, 1), nullptr);
  EXPECT_EQ(decoder->length(), 512U);
  TextInput input;
  expect_error(ErrorKind::kUsage, {}, [&] { decoder->run(input, nullptr); });
  input.ids = {1, 2};
  RunOptions options;
  options.logit_positions = {2};
  expect_error(ErrorKind::kUsage, {}, [&] { decoder->run(input, nullptr, options); });
}

// Gradients are those of the model's dequantized weights (tests/cli/test_gradient_mixing.py).
TEST(LlamaDecoder, GradientsAreThereAndClassesAreNot) {
  const auto decoder = load_small("llama");
  EXPECT_EQ(decoder->encoder(), nullptr);
  EXPECT_NE(decoder->gradients(), nullptr);
  EXPECT_EQ(&gradients_of(*decoder), decoder->gradients());
}

class ActingSink : public AttentionSink {
 public:
  explicit ActingSink(std::function<void(std::size_t)> action) : action_(std::move(action)) {}
  void layer(std::size_t layer, std::size_t /*query_begin*/, TensorView<const float> /*attention*/) override {
    action_(layer);
  }

 private:
  std::function<void(std::size_t)> action_;
};

TEST(LlamaDecoder, StopsAndForgets) {
  const auto decoder = load_small("llama");
  const Ids ids = golden_ids("llama");
  const Tensor<float> expected = decoder->append(ids, nullptr);
  decoder->clear();
  std::stop_source source;
  ActingSink stopping([&](std::size_t layer) {
    if (layer == 2) source.request_stop();
  });
  decoder->append(part(ids, 0, 10), nullptr);
  EXPECT_THROW(decoder->append(part(ids, 10, ids.size()), &stopping, source.get_token()), Cancelled);
  EXPECT_EQ(decoder->length(), 0U);
  EXPECT_THROW(decoder->append(ids, nullptr, source.get_token()), Cancelled);
  // It then works as before.
  EXPECT_TRUE(same_bits(decoder->append(ids, nullptr).span(), expected.span()));
}

TEST(LlamaDecoder, WhatASinkThrowsArrives) {
  const auto decoder = load_small("llama");
  const Ids ids = golden_ids("llama");
  const Tensor<float> expected = decoder->append(ids, nullptr);
  decoder->clear();
  ActingSink throwing([](std::size_t layer) {
    if (layer == 3) throw Error(ErrorKind::kOther, "no room for layer 3");
  });
  expect_error(ErrorKind::kOther, {"no room for layer 3"}, [&] { decoder->append(ids, &throwing); });
  EXPECT_EQ(decoder->length(), 0U);
  EXPECT_TRUE(same_bits(decoder->append(ids, nullptr).span(), expected.span()));
}

TEST(LlamaDecoder, TheDeviceMustBeOneThatIsThere) {
  LoadOptions options;
  options.device = "cuda";
  expect_error(ErrorKind::kUsage, {"cpu", "cuda"}, [&] { load_small("llama", options); });
}

}  // namespace
}  // namespace attnflow::decoder_test
