// Tests Decoder's contract, beyond the numbers that decoder_golden_test.cc compares.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/model/decoder_contract_for_test.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/torch/golden_for_test.h"

namespace attnflow::decoder_test {
namespace {

using test::expect_error;
using test::Ids;
using test::KeptRows;
using test::largest_difference;
using test::spread_ids;

// For two float32 passes cut differently: a few units in the last place of 6e-8, amplified by deep random layers. It
// depends on the processor's vector width: below 1e-5 on most, 1.3e-5 observed with AVX-512.
constexpr test::DecoderTolerance kChunkTolerance = {4e-5, 4e-5};

std::unique_ptr<Decoder> load(const std::filesystem::path& folder, std::size_t threads = 0) {
  return ModelFiles(folder).load_decoder({.threads = threads});
}

std::unique_ptr<Decoder> load_golden(const std::string& name) { return load(test::golden_decoders() / name); }

TEST(Decoder, ABaseModelHasAttentionAndNoLogits) {
  const Ids ids = {5, 3, 8, 1, 9, 2, 7};
  const test::ModelCopy copy = test::decoder_copy("llama_grouped");
  copy.edit_config([](nlohmann::json& config) { config["architectures"] = {"LlamaModel"}; });
  copy.edit_weights([](test::WeightsFile& weights) { weights.rename("lm_head.weight", "head.weight"); });
  const std::unique_ptr<Decoder> base = load(copy.path());
  const std::unique_ptr<Decoder> whole = load_golden("llama_grouped");
  KeptRows of_base;
  KeptRows of_whole;
  EXPECT_TRUE(base->run({ids, {}}, &of_base).logits.empty());
  whole->run({ids, {}}, &of_whole);
  ASSERT_EQ(of_base.layers(), whole->info().layers);
  EXPECT_TRUE(of_base == of_whole);
  EXPECT_NE(base->run_for_replay(ids, nullptr), nullptr);
  const std::vector<std::string> words = {"lm_head.weight"};
  expect_error(ErrorKind::kUnsupportedModel, words, [&] { base->append(ids, nullptr); });
  Tensor<float> logits;
  expect_error(ErrorKind::kUnsupportedModel, words, [&] { base->run_for_replay(ids, &logits); });
  expect_error(ErrorKind::kUnsupportedModel, words, [&] { base->run({ids, {}}, nullptr, {{6}}); });
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
  for (const Ids& ids : {Ids{5, 3, 8, kPadding, kPadding}, Ids{5, kPadding, 8}}) {
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
        {.kind = ScoreTarget::Kind::kLogitAgainstRest, .label = 2, .position = kLast}};
    const InputGradient expected = gradients_of(*writer).input_gradients(inputs, of_next).front();
    const InputGradient found = gradients_of(*classifier).input_gradients(inputs, of_class).front();
    EXPECT_EQ(found.value, expected.value);
    EXPECT_EQ(largest_difference(found.gradient.span(), expected.gradient.span()), 0.0);
  }
  const Ids ids = {5, 3};
  expect_error(ErrorKind::kUnsupportedModel, {"predicts a class"}, [&] { classifier->append(ids, nullptr); });
}

// A random copy of the golden decoder `from`, with enough heads that a chunk's attention must be bounded, and wide
// enough that products are cut into several blocks in each dimension.
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

TEST(Decoder, AppendingInPartsIsRunningAtOnce) {
  for (const nlohmann::json& golden : test::decoder_index()) {
    SCOPED_TRACE(golden.at("name").get<std::string>());
    const std::unique_ptr<Decoder> decoder = load_golden(golden.at("name"));
    const std::size_t vocabulary = decoder->info().vocabulary;
    test::expect_parts_agree(*decoder, spread_ids(40, vocabulary), {{1}, {7, 1, 13}}, kChunkTolerance);
    test::expect_parts_agree(*decoder, spread_ids(150, vocabulary), {{65, 64, 1}}, kChunkTolerance);
  }
}

TEST(Decoder, AppendingInPartsIsRunningAtOnceInLongTexts) {
  const WideDecoder wide;
  const std::unique_ptr<Decoder> decoder = load(wide.path());
  test::expect_parts_agree(*decoder, spread_ids(420, decoder->info().vocabulary), {{130, 1, 64, 200}}, kChunkTolerance);
}

// 96 heads over 600 keys: chunks shrink so that none takes more than 32 MiB in a layer.
TEST(Decoder, ChunksKeepWithinTheirMemory) {
  const WideDecoder wide;
  const std::unique_ptr<Decoder> decoder = load(wide.path());
  KeptRows sink;
  decoder->run({spread_ids(600, decoder->info().vocabulary), {}}, &sink);
  ASSERT_GT(sink.chunks.size(), 2U);
  std::size_t queries = 0;
  for (const KeptRows::Chunk& chunk : sink.chunks) {
    EXPECT_LE(WideDecoder::kHeads * chunk.queries * (chunk.begin + chunk.queries) * sizeof(float),
              std::size_t{32} << 20);
    queries += chunk.queries;
  }
  EXPECT_EQ(queries, 600U);
  EXPECT_GT(sink.chunks.front().queries, sink.chunks[1].queries);
}

TEST(Decoder, RowsSumToOneAndSeeNothingBehindThem) {
  for (const std::string name : {"gpt2_tied", "llama_scaled", "qwen2_window"}) {
    const std::unique_ptr<Decoder> decoder = load_golden(name);
    constexpr std::size_t n = 90;
    KeptRows sink;
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
  test::expect_same_bits([&](std::size_t threads) {
    const std::unique_ptr<Decoder> decoder = load(folder, threads);
    const Ids ids = spread_ids(tokens, decoder->info().vocabulary);
    KeptRows sink;
    std::vector<Tensor<float>> found = {decoder->run({ids, {}}, &sink, {{0, tokens - 1}}).logits};
    found.push_back(decoder->append(Ids{3}, &sink));
    const std::vector<TextInput> inputs = {{{ids.begin(), ids.begin() + 20}, {}}, {{5, 2, 7}, {}}};
    const std::vector<ScoreTarget> targets(2, {ScoreTarget::Kind::kLogit, 4, {}});
    for (const InputGradient& one : gradients_of(*decoder).input_gradients(inputs, targets))
      found.push_back(one.gradient);
    return std::pair(sink, found);
  });
}

// Gemma 3 has angles of its own for layers with a window, here all of them.
TEST(Decoder, LayersWithAWindowMayRotateByOtherAngles) {
  const test::ModelCopy copy = test::decoder_copy("mistral_window");
  copy.edit_weights([](test::WeightsFile& weights) {
    for (const char* const layer : {"model.layers.0.", "model.layers.1.", "model.layers.2."}) {
      const std::string prefix = layer;
      weights.rename(prefix + "post_attention_layernorm.weight", prefix + "pre_feedforward_layernorm.weight");
      for (const char* const norm : {"post_attention_layernorm.weight", "post_feedforward_layernorm.weight"})
        weights.add(prefix + norm, std::vector<float>(24, 0.5F));
      for (const char* const norm : {"self_attn.q_norm.weight", "self_attn.k_norm.weight"})
        weights.add(prefix + norm, std::vector<float>(8, 2.0F));
    }
  });
  const auto run = [&](double theta, double local_theta) {
    copy.edit_config([&](nlohmann::json& config) {
      config.update({{"model_type", "gemma3_text"},
                     {"architectures", {"Gemma3ForCausalLM"}},
                     {"layer_types", std::vector<std::string>(3, "sliding_attention")},
                     {"rope_theta", theta},
                     {"rope_local_base_freq", local_theta}});
      config.erase("rope_parameters");
    });
    KeptRows rows;
    load(copy.path())->run({spread_ids(12, 298), {}}, &rows);
    return rows;
  };
  const KeptRows usual = run(1e6, 100.0);
  EXPECT_TRUE(run(50.0, 100.0) == usual);
  EXPECT_FALSE(run(1e6, 50.0) == usual);
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
  test::expect_looking_changes_nothing(*decoder, spread_ids(300, decoder->info().vocabulary));
}

TEST(Decoder, Rewinds) {
  const WideDecoder wide;
  const std::unique_ptr<Decoder> decoder = load(wide.path());
  test::expect_rewinds(*decoder, spread_ids(60, decoder->info().vocabulary), {});
}

TEST(Decoder, LogitsComeInTheOrderAsked) {
  test::expect_logits_where_asked(*load_golden("gpt2_tied"), spread_ids(9, 298), kChunkTolerance.logits);
}

TEST(Decoder, ContextIsRoomAndNothingElse) {
  const ModelFiles files(test::golden_decoders() / "llama_grouped");
  test::expect_room_changes_nothing([&](std::size_t room) { return files.load_decoder({.context = room}); }, 0, 100000,
                                    spread_ids(320, 298), {1});
}

TEST(DecoderReplay, GivesTheRowsThatTheModelUsed) {
  for (const std::string name : {"gpt2_tied", "llama_scaled", "qwen2_window"}) {
    SCOPED_TRACE(name);
    test::expect_replay_agrees(*load_golden(name), spread_ids(130, 298), 1e-6);
  }
  const WideDecoder wide;
  const std::unique_ptr<Decoder> decoder = load(wide.path());
  test::expect_replay_agrees(*decoder, spread_ids(300, decoder->info().vocabulary), 1e-6);
}

TEST(DecoderReplay, RefusesRowsThatAreNotThere) {
  const std::unique_ptr<Decoder> decoder = load_golden("llama_grouped");
  const Ids ids = spread_ids(10, 298);
  const std::unique_ptr<AttentionReplay> replay = decoder->run_for_replay(ids, nullptr);
  KeptRows sink;
  const auto expect = [&](std::size_t layer, std::size_t begin, std::size_t end) {
    expect_error(ErrorKind::kUsage, {"layers 1 to 3 and tokens 0 to 9"},
                 [&] { replay->rows(layer, begin, end, sink); });
  };
  expect(0, 0, 1);
  expect(4, 0, 1);
  expect(1, 0, 11);
  expect(1, 3, 3);
  expect(1, 4, 3);
  decoder->append(Ids{1}, nullptr);
  expect_error(ErrorKind::kUsage, {"was used again"}, [&] { replay->rows(3, 9, 10, sink); });
}

TEST(DecoderReplay, GoesOnWithTheSequence) {
  const std::unique_ptr<Decoder> decoder = load_golden("llama_grouped");
  const Ids ids = spread_ids(30, 298);
  decoder->run_for_replay(ids, nullptr);
  EXPECT_EQ(decoder->length(), 30U);
  const Tensor<float> next = decoder->append(Ids{4}, nullptr);
  decoder->clear();
  decoder->append(ids, nullptr);
  EXPECT_TRUE(decoder->append(Ids{4}, nullptr) == next);
}

TEST(Decoder, RefusesInputThatItCannotRun) {
  const std::unique_ptr<Decoder> decoder = load_golden("gpt2_tied");
  const Ids some = {1, 2, 3};
  decoder->append(some, nullptr);
  KeptRows sink;
  const auto expect = [&](ErrorKind kind, const std::vector<std::string>& words, const Ids& ids) {
    expect_error(kind, words, [&] { decoder->append(ids, &sink); });
  };
  expect(ErrorKind::kUsage, {"at least one token"}, {});
  expect(ErrorKind::kInputTooLong, {"at most 320", "318 after the 3"}, Ids(318, 5));
  expect(ErrorKind::kBadFile, {"found 298 at position 4"}, {5, 298});
  expect(ErrorKind::kBadFile, {"found -1"}, {-1});
  EXPECT_TRUE(sink.chunks.empty());
  EXPECT_EQ(decoder->length(), 3U);
  decoder->append(Ids(317, 5), nullptr);
  expect(ErrorKind::kInputTooLong, {"1 after the 320"}, {5});

  expect_error(ErrorKind::kInputTooLong, {"found 321"}, [&] { decoder->run({Ids(321, 5), {}}, nullptr); });
  expect_error(ErrorKind::kUsage, {"logit positions"}, [&] { decoder->run({{1, 2}, {}}, nullptr, {{2}}); });
  expect_error(ErrorKind::kUsage, {"at least one token"}, [&] { decoder->run({}, nullptr); });
  expect_error(ErrorKind::kInputTooLong, {"found 321"}, [&] { decoder->run_for_replay(Ids(321, 5), nullptr); });
  expect_error(ErrorKind::kBadFile, {"found 400"}, [&] { decoder->run_for_replay(Ids{400}, nullptr); });

  const std::vector<TextInput> inputs = {{{1, 2}, {}}};
  EXPECT_EQ(decoder->encoder(), nullptr);
  expect_error(ErrorKind::kUsage, {"a target for each"}, [&] { gradients_of(*decoder).input_gradients(inputs, {}); });
  const std::vector<ScoreTarget> target = {{ScoreTarget::Kind::kLogit, 298, {}}};
  expect_error(ErrorKind::kUsage, {"labels below 298"},
               [&] { gradients_of(*decoder).input_gradients(inputs, target); });

  expect_error(ErrorKind::kUsage, {"device cuda", "cpu"},
               [] { ModelFiles(test::golden_decoders() / "gpt2_tied").load_decoder({.device = "cuda"}); });
}

TEST(Decoder, ClearsTheSequenceWhenItIsStopped) {
  const std::unique_ptr<Decoder> decoder = load_golden("llama_grouped");
  const Ids ids = spread_ids(20, 298);
  test::expect_stops_and_forgets(*decoder, ids);
  std::stop_source source;
  source.request_stop();
  BatchOptions options;
  options.stop_token = source.get_token();
  const std::vector<TextInput> inputs = {{ids, {}}};
  const std::vector<ScoreTarget> targets = {{ScoreTarget::Kind::kLogit, 1, {}}};
  EXPECT_THROW(gradients_of(*decoder).input_gradients(inputs, targets, options), Cancelled);
}

TEST(DecoderGradients, OfManySequencesAreThoseOfEach) {
  const std::unique_ptr<Decoder> decoder = load_golden("qwen2_window");
  decoder->append(Ids{1, 2, 3}, nullptr);
  std::vector<TextInput> inputs;
  std::vector<ScoreTarget> targets;
  for (std::size_t i = 1; i <= 5; ++i) {
    inputs.push_back({spread_ids(6 * i, 298), {}});
    targets.push_back({ScoreTarget::Kind::kProbabilityDifference, i, {i + 1}});
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
  const Tensor<float> logits = decoder->run(inputs[4], nullptr, {{29}}).logits;
  const std::vector<ScoreTarget> logit = {{ScoreTarget::Kind::kLogit, 17, {}}};
  EXPECT_NEAR(gradients_of(*decoder).input_gradients({&inputs[4], 1}, logit)[0].value,
              static_cast<double>(logits(0, 17)), 1e-5 * std::max(1.0, std::abs(static_cast<double>(logits(0, 17)))));
}

}  // namespace
}  // namespace attnflow::decoder_test
