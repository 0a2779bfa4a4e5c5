// Tests Decoder's contract, beyond the numbers that decoder_golden_test.cc compares.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/progress.h"
#include "attnflow/model/decoder_for_test.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/torch/decoder_sinks_for_test.h"
#include "attnflow/model/torch/golden_for_test.h"

namespace attnflow::decoder_test {
namespace {

using test::expect_error;
using test::largest_difference;
using test::StackedRows;

// For two float32 passes over the same numbers, cut differently: a few units in the last place of 6e-8, amplified by
// deep random layers. The amount depends on the processor, whose vector width determines the order of sums in matrix
// products: below 1e-5 on most, 1.3e-5 observed on one with AVX-512.
constexpr double kChunkTolerance = 4e-5;

std::unique_ptr<Decoder> load(const std::filesystem::path& folder, std::size_t threads = 0) {
  LoadOptions options;
  options.threads = threads;
  return ModelFiles(folder).load_decoder(options);
}

std::unique_ptr<Decoder> load_golden(const std::string& name) { return load(test::golden_decoders() / name); }

TEST(Decoder, ABaseModelHasAttentionAndNoLogits) {
  const std::vector<std::int64_t> ids = {5, 3, 8, 1, 9, 2, 7};
  const test::ModelCopy copy = test::decoder_copy("llama_grouped");
  copy.edit_config([](nlohmann::json& config) { config["architectures"] = {"LlamaModel"}; });
  copy.edit_weights([](test::WeightsFile& weights) { weights.rename("lm_head.weight", "head.weight"); });
  const std::unique_ptr<Decoder> base = load(copy.path());
  const std::unique_ptr<Decoder> whole = load_golden("llama_grouped");
  StackedRows of_base;
  StackedRows of_whole;
  EXPECT_TRUE(base->run({ids, {}}, &of_base).logits.empty());
  whole->run({ids, {}}, &of_whole);
  ASSERT_EQ(of_base.layers(), whole->info().layers);
  for (std::size_t layer = 1; layer <= of_base.layers(); ++layer) {
    for (std::size_t head = 0; head < whole->info().heads; ++head) {
      for (std::size_t query = 0; query < ids.size(); ++query) {
        EXPECT_EQ(of_base.row(layer, head, query, ids.size()), of_whole.row(layer, head, query, ids.size()));
      }
    }
  }
  EXPECT_NE(base->run_for_replay(ids, nullptr), nullptr);
  const std::vector<std::string> words = {"lm_head.weight"};
  expect_error(ErrorKind::kUnsupportedModel, words, [&] { base->append(ids, nullptr); });
  Tensor<float> logits;
  expect_error(ErrorKind::kUnsupportedModel, words, [&] { base->run_for_replay(ids, &logits); });
  RunOptions last;
  last.logit_positions = {6};
  expect_error(ErrorKind::kUnsupportedModel, words, [&] { base->run({ids, {}}, nullptr, last); });
  const std::vector<TextInput> inputs = {{ids, {}}};
  const std::vector<ScoreTarget> targets(1);
  expect_error(ErrorKind::kUnsupportedModel, words, [&] { gradients_of(*base).input_gradients(inputs, targets); });
}

// Uses the map to the next token as a map to classes: the logits are the same, at the last token that is not padding.
TEST(Decoder, AClassifierReadsTheLastTokenThatIsNoPadding) {
  constexpr std::int64_t kPadding = 7;
  const test::ModelCopy copy = test::decoder_copy("llama_grouped");
  copy.edit_config([&](nlohmann::json& config) {
    config["architectures"] = {"LlamaForSequenceClassification"};
    config["pad_token_id"] = kPadding;
  });
  copy.edit_weights([](test::WeightsFile& weights) { weights.rename("lm_head.weight", "score.weight"); });
  const std::unique_ptr<Decoder> classifier = load(copy.path());
  const std::unique_ptr<Decoder> writer = load_golden("llama_grouped");
  constexpr std::size_t kLast = 2;
  for (const std::vector<std::int64_t>& ids :
       {std::vector<std::int64_t>{5, 3, 8, kPadding, kPadding}, std::vector<std::int64_t>{5, kPadding, 8}}) {
    const Tensor<float> classes = classifier->run({ids, {}}, nullptr).logits;
    const Tensor<float> next = writer->run({ids, {}}, nullptr, {{kLast}}).logits;
    ASSERT_EQ(classes.shape(), Shape{classifier->info().labels.size()});
    ASSERT_EQ(classes.size(), next.size());
    EXPECT_TRUE(std::equal(classes.span().begin(), classes.span().end(), next.span().begin()));
    EXPECT_EQ(classifier->run({ids, {}}, nullptr, {{1}}).logits.span().front(),
              writer->run({ids, {}}, nullptr, {{1}}).logits.span().front());
    Tensor<float> of_replay;
    classifier->run_for_replay(ids, &of_replay);
    EXPECT_TRUE(std::equal(classes.span().begin(), classes.span().end(), of_replay.span().begin()));

    const std::vector<TextInput> inputs = {{ids, {}}};
    const std::vector<ScoreTarget> of_class = {{.kind = ScoreTarget::Kind::kLogitAgainstRest, .label = 2}};
    const std::vector<ScoreTarget> of_next = {
        {.kind = ScoreTarget::Kind::kLogitAgainstRest, .label = 2, .other = 0, .position = kLast}};
    const InputGradient expected = gradients_of(*writer).input_gradients(inputs, of_next).front();
    const InputGradient found = gradients_of(*classifier).input_gradients(inputs, of_class).front();
    EXPECT_EQ(found.value, expected.value);
    EXPECT_EQ(largest_difference<float>(found.gradient.span(), expected.gradient.span()), 0.0);
  }
  const std::vector<std::int64_t> ids = {5, 3};
  expect_error(ErrorKind::kUnsupportedModel, {"predicts a class"}, [&] { classifier->append(ids, nullptr); });
}

// A decoder with random weights, with enough heads that a chunk's attention must be bounded, and wide enough that
// products are cut into several blocks in each dimension. `from` is the golden decoder of which it is a wide copy.
class WideDecoder {
 public:
  static constexpr std::size_t kHidden = 384;
  static constexpr std::size_t kHeads = 96;

  explicit WideDecoder(const std::string& from = "qwen2_window") : copy_(test::decoder_copy(from)) {
    constexpr std::size_t kPositions = 1024;
    // Sizes of llama_grouped and of qwen2_window: hidden, keys, inside, vocabulary (kept).
    const std::map<std::size_t, std::size_t> wider = {{24, kHidden}, {8, 48}, {40, 1536}};
    copy_.edit_config([&](nlohmann::json& config) {
      config["hidden_size"] = kHidden;
      config["intermediate_size"] = 1536;
      config["max_position_embeddings"] = kPositions;
      config["num_attention_heads"] = kHeads;
      config["num_key_value_heads"] = 12;
      config["num_hidden_layers"] = 2;
      if (config.contains("layer_types")) config["layer_types"] = {"full_attention", "sliding_attention"};
      if (config.contains("sliding_window")) config["sliding_window"] = 70;
    });
    test::widen(copy_, wider, "layers.2.", "norm");
  }

  const std::filesystem::path& path() const { return copy_.path(); }

 private:
  test::ModelCopy copy_;
};

// Returns `tokens` ids below `vocabulary`, using all of them before one repeats.
std::vector<std::int64_t> spread_ids(std::size_t tokens, std::size_t vocabulary) {
  constexpr std::size_t kStride = 7919;
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < tokens; ++i) ids.push_back(static_cast<std::int64_t>((i + 1) * kStride % vocabulary));
  return ids;
}

std::vector<float> all_rows(const StackedRows& sink, std::size_t heads, std::size_t tokens) {
  std::vector<float> rows;
  for (std::size_t layer = 1; layer <= sink.layers(); ++layer) {
    for (std::size_t head = 0; head < heads; ++head) {
      for (std::size_t query = 0; query < tokens; ++query) {
        const std::vector<float> row = sink.row(layer, head, query, tokens);
        EXPECT_EQ(row.size(), tokens) << "query " << query;
        rows.insert(rows.end(), row.begin(), row.end());
      }
    }
  }
  return rows;
}

double relative_difference(std::span<const float> found, std::span<const float> expected) {
  double largest = 1.0;
  for (const float value : expected) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return largest_difference<float>(found, expected) / largest;
}

void expect_chunks_agree(const std::filesystem::path& folder, std::size_t tokens,
                         const std::vector<std::size_t>& parts) {
  const std::unique_ptr<Decoder> decoder = load(folder);
  const std::vector<std::int64_t> ids = spread_ids(tokens, decoder->info().vocabulary);
  StackedRows whole;
  const Tensor<float> expected = decoder->run({ids, {}}, &whole, {{tokens - 1}}).logits;
  decoder->clear();
  EXPECT_EQ(decoder->length(), 0U);
  StackedRows chunked;
  Tensor<float> logits;
  std::size_t done = 0;
  for (std::size_t i = 0; done < tokens; ++i) {
    const std::size_t part = std::min(parts[i % parts.size()], tokens - done);
    logits = decoder->append(std::span(ids).subspan(done, part), &chunked);
    done += part;
    EXPECT_EQ(decoder->length(), done);
  }
  ASSERT_EQ(logits.shape(), (Shape{decoder->info().vocabulary}));
  EXPECT_LE(relative_difference(logits.span(), expected.span()), kChunkTolerance);
  const std::size_t heads = decoder->info().heads;
  EXPECT_LE(largest_difference<float>(all_rows(chunked, heads, tokens), all_rows(whole, heads, tokens)),
            kChunkTolerance);
}

TEST(Decoder, AppendingInPartsIsRunningAtOnce) {
  for (const nlohmann::json& golden : test::decoder_index()) {
    SCOPED_TRACE(golden.at("name").get<std::string>());
    const std::filesystem::path folder = test::golden_decoders() / golden.at("name").get<std::string>();
    expect_chunks_agree(folder, 40, {1});
    expect_chunks_agree(folder, 40, {7, 1, 13});
    expect_chunks_agree(folder, 150, {65, 64, 1});
  }
}

TEST(Decoder, AppendingInPartsIsRunningAtOnceInLongTexts) {
  const WideDecoder wide;
  expect_chunks_agree(wide.path(), 420, {130, 1, 64, 200});
}

// The attention of 96 heads over 600 keys: chunks shrink so that no layer of one takes more than 32 MiB.
TEST(Decoder, ChunksKeepWithinTheirMemory) {
  const WideDecoder wide;
  const std::unique_ptr<Decoder> decoder = load(wide.path());
  StackedRows sink;
  decoder->run({spread_ids(600, decoder->info().vocabulary), {}}, &sink);
  ASSERT_GT(sink.chunks.size(), 2U);
  std::size_t queries = 0;
  for (const StackedRows::Chunk& chunk : sink.chunks) {
    EXPECT_LE(chunk.layers.at(0).size() * sizeof(float), std::size_t{32} << 20);
    queries += chunk.queries;
  }
  EXPECT_EQ(queries, 600U);
  EXPECT_GT(sink.chunks.front().queries, sink.chunks[1].queries);
}

TEST(Decoder, RowsSumToOneAndSeeNothingBehindThem) {
  for (const std::string name : {"gpt2_tied", "llama_scaled", "qwen2_window"}) {
    const std::unique_ptr<Decoder> decoder = load_golden(name);
    constexpr std::size_t n = 90;
    StackedRows sink;
    decoder->run({spread_ids(n, decoder->info().vocabulary), {}}, &sink);
    for (std::size_t layer = 1; layer <= sink.layers(); ++layer) {
      for (std::size_t query = 0; query < n; ++query) {
        const std::vector<float> row = sink.row(layer, 1, query, n);
        double sum = 0.0;
        std::size_t seen = 0;
        for (std::size_t key = 0; key < n; ++key) {
          sum += static_cast<double>(row[key]);
          EXPECT_TRUE(key <= query || row[key] == 0.0F);
          seen += row[key] != 0.0F ? 1 : 0;
        }
        EXPECT_NEAR(sum, 1.0, 1e-6);
        const bool window = name == "qwen2_window" && layer > 1;
        EXPECT_LE(seen, window ? 5U : query + 1);
      }
    }
  }
}

void expect_same_bits(const std::filesystem::path& folder, std::size_t tokens) {
  std::vector<float> attention;
  Tensor<float> logits;
  Tensor<float> next;
  std::vector<float> gradient;
  for (const std::size_t threads : {1U, 2U, 3U, 1U}) {
    const std::unique_ptr<Decoder> decoder = load(folder, threads);
    const std::vector<std::int64_t> ids = spread_ids(tokens, decoder->info().vocabulary);
    StackedRows sink;
    const ModelOutput output = decoder->run({ids, {}}, &sink, {{0, tokens - 1}});
    const Tensor<float> appended = decoder->append(std::vector<std::int64_t>{3}, &sink);
    const std::vector<float> rows = all_rows(sink, decoder->info().heads, tokens + 1);
    const std::vector<TextInput> inputs = {{{ids.begin(), ids.begin() + 20}, {}}, {{5, 2, 7}, {}}};
    const std::vector<InputGradient> gradients =
        gradients_of(*decoder).input_gradients(inputs, std::vector<ScoreTarget>(2, {ScoreTarget::Kind::kLogit, 4, 0}));
    std::vector<float> all(gradients[0].gradient.span().begin(), gradients[0].gradient.span().end());
    all.insert(all.end(), gradients[1].gradient.span().begin(), gradients[1].gradient.span().end());
    if (attention.empty()) {
      attention = rows;
      logits = output.logits;
      next = appended;
      gradient = all;
    }
    // Not EXPECT_EQ, which would print them.
    EXPECT_TRUE(rows == attention) << threads << " threads";
    EXPECT_TRUE(output.logits == logits) << threads << " threads";
    EXPECT_TRUE(appended == next) << threads << " threads";
    EXPECT_TRUE(all == gradient) << threads << " threads";
  }
}

TEST(Decoder, SameInputSameBits) {
  expect_same_bits(test::golden_decoders() / "gpt2_untied", 33);
  expect_same_bits(test::golden_decoders() / "mistral_window", 200);
  const WideDecoder wide;
  for (const std::size_t tokens : {65U, 382U}) expect_same_bits(wide.path(), tokens);
}

TEST(Decoder, SinkMayBeNullAndChangesNothing) {
  const WideDecoder wide;
  const std::unique_ptr<Decoder> decoder = load(wide.path());
  const TextInput input = {spread_ids(300, decoder->info().vocabulary), {}};
  StackedRows sink;
  EXPECT_TRUE(decoder->run(input, nullptr, {{299}}).logits == decoder->run(input, &sink, {{299}}).logits);
}

TEST(Decoder, LogitsComeInTheOrderAsked) {
  const std::unique_ptr<Decoder> decoder = load_golden("gpt2_tied");
  const TextInput input = {spread_ids(9, 298), {}};
  const Tensor<float> one = decoder->run(input, nullptr, {{1}}).logits;
  const Tensor<float> three = decoder->run(input, nullptr, {{8, 1, 8}}).logits;
  ASSERT_EQ(three.shape(), (Shape{3, 298}));
  EXPECT_LE(relative_difference(three[1].span(), one.span()), kChunkTolerance);
  // The same row in another block of the product: not bitwise the same with every BLAS.
  EXPECT_LE(relative_difference(three[2].span(), three[0].span()), kChunkTolerance);
  EXPECT_EQ(decoder->run(input, nullptr).logits.shape(), (Shape{0, 298}));
  EXPECT_LE(relative_difference(decoder->append(std::vector<std::int64_t>{7}, nullptr).span(),
                                [&] {
                                  TextInput longer = input;
                                  longer.ids.push_back(7);
                                  return load_golden("gpt2_tied")->run(longer, nullptr, {{9}}).logits;
                                }()
                                    .span()),
            kChunkTolerance);
}

// Room grows as tokens arrive, or exists from the start: the numbers are the same.
TEST(Decoder, ContextIsRoomAndNothingElse) {
  LoadOptions options;
  options.context = 100000;  // more than the number of positions
  const std::unique_ptr<Decoder> roomy = ModelFiles(test::golden_decoders() / "llama_grouped").load_decoder(options);
  const std::unique_ptr<Decoder> growing = load_golden("llama_grouped");
  const std::unique_ptr<Decoder> asked = load_golden("llama_grouped");
  for (const std::int64_t id : spread_ids(320, 298)) {
    const std::vector<std::int64_t> one = {id};
    const Tensor<float> logits = growing->append(one, nullptr);
    ASSERT_TRUE(roomy->append(one, nullptr) == logits);
    ASSERT_TRUE(asked->append(one, nullptr) == logits);
    if (asked->length() == 100) asked->reserve(250);
    if (asked->length() == 260) asked->reserve(100000);
  }
  EXPECT_EQ(roomy->length(), 320U);
}

// Keeps the rows that a replay passes on in one call.
class RowsSink : public AttentionSink {
 public:
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    ++calls;
    number = layer;
    begin = query_begin;
    rows = Tensor<float>(attention.shape(), {attention.span().begin(), attention.span().end()});
  }
  std::size_t calls = 0;
  std::size_t number = 0;
  std::size_t begin = 0;
  Tensor<float> rows;
};

void expect_replay_agrees(const std::filesystem::path& folder, std::size_t tokens) {
  const std::unique_ptr<Decoder> decoder = load(folder);
  const std::vector<std::int64_t> ids = spread_ids(tokens, decoder->info().vocabulary);
  StackedRows expected;
  const Tensor<float> logits = decoder->run({ids, {}}, &expected, {{tokens - 1}}).logits;
  Tensor<float> found_logits;
  const std::unique_ptr<AttentionReplay> replay = decoder->run_for_replay(ids, &found_logits);
  ASSERT_EQ(found_logits.shape(), (Shape{decoder->info().vocabulary}));
  EXPECT_LE(largest_difference<float>(found_logits.span(), logits.span()), 0.0);
  ASSERT_EQ(replay->layers(), decoder->info().layers);
  ASSERT_EQ(replay->heads(), decoder->info().heads);
  ASSERT_EQ(replay->tokens(), tokens);
  for (std::size_t layer = replay->layers(); layer > 0; --layer) {
    for (const std::size_t step : {std::size_t{1}, std::size_t{50}, tokens}) {
      for (std::size_t begin = 0; begin < tokens; begin += step == 1 ? 37 : step) {
        const std::size_t end = std::min(tokens, begin + step);
        RowsSink sink;
        replay->rows(layer, begin, end, sink);
        ASSERT_EQ(sink.calls, 1U);
        EXPECT_EQ(sink.number, layer);
        EXPECT_EQ(sink.begin, begin);
        ASSERT_EQ(sink.rows.extent(0), replay->heads());
        ASSERT_EQ(sink.rows.extent(1), end - begin);
        ASSERT_LE(sink.rows.extent(2), tokens);
        for (std::size_t head = 0; head < replay->heads(); ++head) {
          for (std::size_t query = begin; query < end; ++query) {
            const auto row = sink.rows[head][query - begin];
            std::vector<float> values(row.span().begin(), row.span().end());
            values.resize(tokens, 0.0F);
            ASSERT_LE(largest_difference<float>(values, expected.row(layer, head, query, tokens)), 1e-6)
                << "layer " << layer << ", head " << head << ", query " << query;
          }
        }
      }
    }
  }
}

TEST(DecoderReplay, GivesTheRowsThatTheModelUsed) {
  for (const std::string name : {"gpt2_tied", "llama_scaled", "qwen2_window"}) {
    SCOPED_TRACE(name);
    expect_replay_agrees(test::golden_decoders() / name, 130);
  }
  const WideDecoder wide;
  expect_replay_agrees(wide.path(), 300);
}

TEST(DecoderReplay, RefusesRowsThatAreNotThere) {
  const std::unique_ptr<Decoder> decoder = load_golden("llama_grouped");
  const std::vector<std::int64_t> ids = spread_ids(10, 298);
  const std::unique_ptr<AttentionReplay> replay = decoder->run_for_replay(ids, nullptr);
  RowsSink sink;
  const auto expect = [&](std::size_t layer, std::size_t begin, std::size_t end) {
    expect_error(ErrorKind::kUsage, {"layers 1 to 3 and tokens 0 to 9"},
                 [&] { replay->rows(layer, begin, end, sink); });
  };
  expect(0, 0, 1);
  expect(4, 0, 1);
  expect(1, 0, 11);
  expect(1, 3, 3);
  expect(1, 4, 3);
  replay->rows(3, 9, 10, sink);
  EXPECT_EQ(sink.calls, 1U);
  decoder->append(std::vector<std::int64_t>{1}, nullptr);
  expect_error(ErrorKind::kUsage, {"was used again"}, [&] { replay->rows(3, 9, 10, sink); });
}

TEST(DecoderReplay, GoesOnWithTheSequence) {
  const std::unique_ptr<Decoder> decoder = load_golden("llama_grouped");
  const std::vector<std::int64_t> ids = spread_ids(30, 298);
  decoder->run_for_replay(ids, nullptr);
  EXPECT_EQ(decoder->length(), 30U);
  const Tensor<float> next = decoder->append(std::vector<std::int64_t>{4}, nullptr);
  decoder->clear();
  decoder->append(ids, nullptr);
  EXPECT_TRUE(decoder->append(std::vector<std::int64_t>{4}, nullptr) == next);
}

TEST(Decoder, RefusesInputThatItCannotRun) {
  const std::unique_ptr<Decoder> decoder = load_golden("gpt2_tied");
  const std::vector<std::int64_t> some = {1, 2, 3};
  decoder->append(some, nullptr);
  StackedRows sink;
  const auto expect = [&](ErrorKind kind, const std::vector<std::string>& words, const std::vector<std::int64_t>& ids) {
    expect_error(kind, words, [&] { decoder->append(ids, &sink); });
  };
  expect(ErrorKind::kUsage, {"at least one token"}, {});
  expect(ErrorKind::kInputTooLong, {"at most 320", "318 after the 3"}, std::vector<std::int64_t>(318, 5));
  expect(ErrorKind::kBadFile, {"found 298 at position 4"}, {5, 298});
  expect(ErrorKind::kBadFile, {"found -1"}, {-1});
  EXPECT_TRUE(sink.chunks.empty());
  // Rejected tokens leave the sequence unchanged.
  EXPECT_EQ(decoder->length(), 3U);
  decoder->append(std::vector<std::int64_t>(317, 5), nullptr);
  expect(ErrorKind::kInputTooLong, {"1 after the 320"}, {5});

  expect_error(ErrorKind::kInputTooLong, {"found 321"}, [&] {
    decoder->run({std::vector<std::int64_t>(321, 5), {}}, nullptr);
  });
  expect_error(ErrorKind::kUsage, {"logit positions"}, [&] { decoder->run({{1, 2}, {}}, nullptr, {{2}}); });
  expect_error(ErrorKind::kUsage, {"at least one token"}, [&] { decoder->run({}, nullptr); });
  expect_error(ErrorKind::kInputTooLong, {"found 321"},
               [&] { decoder->run_for_replay(std::vector<std::int64_t>(321, 5), nullptr); });
  expect_error(ErrorKind::kBadFile, {"found 400"},
               [&] { decoder->run_for_replay(std::vector<std::int64_t>{400}, nullptr); });

  const std::vector<TextInput> inputs = {{{1, 2}, {}}};
  EXPECT_EQ(decoder->encoder(), nullptr);
  expect_error(ErrorKind::kUsage, {"a target for each"}, [&] { gradients_of(*decoder).input_gradients(inputs, {}); });
  const std::vector<ScoreTarget> target = {{ScoreTarget::Kind::kLogit, 298, 0}};
  expect_error(ErrorKind::kUsage, {"labels below 298"},
               [&] { gradients_of(*decoder).input_gradients(inputs, target); });

  LoadOptions options;
  options.device = "cuda";
  expect_error(ErrorKind::kUsage, {"device cuda", "cpu"},
               [&] { ModelFiles(test::golden_decoders() / "gpt2_tied").load_decoder(options); });
}

// Stops in the middle of a pass.
class StoppingSink : public AttentionSink {
 public:
  explicit StoppingSink(std::stop_source& source) : source_(source) {}
  void layer(std::size_t layer, std::size_t, TensorView<const float>) override {
    if (layer == 2) source_.request_stop();
    last = layer;
  }
  std::size_t last = 0;

 private:
  std::stop_source& source_;
};

class FailingSink : public AttentionSink {
 public:
  void layer(std::size_t, std::size_t, TensorView<const float>) override { throw std::runtime_error("full"); }
};

TEST(Decoder, ClearsTheSequenceWhenItIsStopped) {
  const std::unique_ptr<Decoder> decoder = load_golden("llama_grouped");
  const std::vector<std::int64_t> ids = spread_ids(20, 298);
  const Tensor<float> expected = decoder->append(ids, nullptr);
  std::stop_source source;
  StoppingSink sink(source);
  EXPECT_THROW(decoder->append(ids, &sink, source.get_token()), Cancelled);
  EXPECT_EQ(sink.last, 2U);
  EXPECT_EQ(decoder->length(), 0U);
  EXPECT_TRUE(decoder->append(ids, nullptr) == expected);

  FailingSink failing;
  EXPECT_THROW(decoder->append(ids, &failing), std::runtime_error);
  EXPECT_EQ(decoder->length(), 0U);
  EXPECT_TRUE(decoder->append(ids, nullptr) == expected);

  EXPECT_THROW(decoder->run_for_replay(ids, nullptr, source.get_token()), Cancelled);
  BatchOptions options;
  options.stop_token = source.get_token();
  const std::vector<TextInput> inputs = {{ids, {}}};
  const std::vector<ScoreTarget> targets = {{ScoreTarget::Kind::kLogit, 1, 0}};
  EXPECT_THROW(gradients_of(*decoder).input_gradients(inputs, targets, options), Cancelled);
}

// Gradients describe the effect of a small step of the input; computing them leaves the sequence unchanged.
TEST(DecoderGradients, OfManySequencesAreThoseOfEach) {
  const std::unique_ptr<Decoder> decoder = load_golden("qwen2_window");
  decoder->append(std::vector<std::int64_t>{1, 2, 3}, nullptr);
  std::vector<TextInput> inputs;
  std::vector<ScoreTarget> targets;
  for (std::size_t i = 1; i <= 5; ++i) {
    inputs.push_back({spread_ids(6 * i, 298), {}});
    targets.push_back({ScoreTarget::Kind::kProbabilityDifference, i, i + 1});
  }
  std::vector<std::size_t> seen;
  BatchOptions options;
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 5U);
    seen.push_back(done);
  };
  const std::vector<InputGradient> all = gradients_of(*decoder).input_gradients(inputs, targets, options);
  EXPECT_EQ(seen, (std::vector<std::size_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(decoder->length(), 3U);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(all[i].gradient.shape(), (Shape{inputs[i].ids.size(), decoder->info().hidden}));
    const std::vector<InputGradient> alone = gradients_of(*decoder).input_gradients({&inputs[i], 1}, {&targets[i], 1});
    EXPECT_TRUE(alone[0].gradient == all[i].gradient);
    EXPECT_EQ(alone[0].value, all[i].value);
  }
  // The value is computed from the logits that a run gives.
  const Tensor<float> logits = decoder->run(inputs[4], nullptr, {{29}}).logits;
  const std::vector<ScoreTarget> logit = {{ScoreTarget::Kind::kLogit, 17, 0}};
  EXPECT_NEAR(gradients_of(*decoder).input_gradients({&inputs[4], 1}, logit)[0].value,
              static_cast<double>(logits(0, 17)), 1e-5 * std::max(1.0, std::abs(static_cast<double>(logits(0, 17)))));
}

}  // namespace
}  // namespace attnflow::decoder_test
