// Tests encoder-decoders against output of transformers (tests/golden/encoder_decoders).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/model/decoder_contract_for_test.h"
#include "attnflow/model/model_files.h"
#include "attnflow/model/model_input.h"
#include "attnflow/model/torch/golden_for_test.h"

namespace attnflow::encoder_decoder_test {
namespace {

using Json = nlohmann::json;
using test::expect_error;
using test::Ids;
using test::KeptRows;

// Relative to the largest logit if that is above 1, as for decoders.
constexpr double kLogitTolerance = 2e-5;

const std::filesystem::path kGolden = test::golden_folder("encoder_decoders");

struct GoldenPair {
  Json model;
  std::string name;
  Ids source;
  Ids target;         // including those that it begins with
  std::size_t begin;  // number of ids that it begins with
  Tensor<float> attention;
  Tensor<float> logits;

  // Source and target as one input.
  TextInput whole() const {
    TextInput input{source, {}, source.size()};
    input.ids.insert(input.ids.end(), target.begin(), target.end());
    return input;
  }
  Ids first() const {
    Ids ids = source;
    ids.insert(ids.end(), target.begin(), target.begin() + static_cast<std::ptrdiff_t>(begin));
    return ids;
  }
  std::size_t encoder_layers() const { return model.at("encoder_layers").get<std::size_t>(); }
  Ids rest() const { return {target.begin() + static_cast<std::ptrdiff_t>(begin), target.end()}; }
};

std::vector<GoldenPair> pairs() {
  std::vector<GoldenPair> all;
  for (const Json& model : test::models_of(kGolden)) {
    const auto name = model.at("name").get<std::string>();
    std::size_t number = 0;
    for (const Json& one : model.at("cases")) {
      const auto array = [&](const std::string& what) {
        return test::case_array(kGolden / (name + ".npz"), number, what).to_float(what);
      };
      all.push_back({model, name, one.at("source").get<Ids>(), one.at("target").get<Ids>(), model.at("begin").size(),
                     array("attention"), array("logits")});
      ++number;
    }
  }
  return all;
}

std::unique_ptr<Decoder> load(const std::string& name, std::size_t threads = 0) {
  return ModelFiles(kGolden / name).load_decoder({.threads = threads});
}

// Ids that a model bans have no logit.
void expect_logits(const Tensor<float>& found, TensorView<const float> expected) {
  double largest = 1.0;
  double difference = 0.0;
  ASSERT_EQ(found.size(), expected.extent(0));
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::isinf(found.span()[i])) continue;
    largest = std::max(largest, std::abs(static_cast<double>(expected(i))));
    difference = std::max(difference, std::abs(static_cast<double>(found.span()[i]) - expected(i)));
  }
  EXPECT_LE(difference, kLogitTolerance * largest);
}

void expect_attention(const KeptRows& found, const Tensor<float>& expected) {
  std::vector<std::size_t> all(expected.extent(2));
  std::iota(all.begin(), all.end(), std::size_t{0});
  test::expect_rows(found, expected, all, test::kAttentionTolerance);
}

TEST(EncoderDecoder, AttentionOfAllThreeKindsAndLogits) {
  std::size_t cases = 0;
  for (const GoldenPair& golden : pairs()) {
    SCOPED_TRACE(golden.name + ", case " + std::to_string(cases));
    const std::unique_ptr<Decoder> decoder = load(golden.name);
    KeptRows sink;
    expect_logits(decoder->append(golden.first(), &sink), std::as_const(golden.logits)[golden.begin - 1]);
    for (std::size_t t = golden.begin; t < golden.target.size(); ++t) {
      expect_logits(decoder->append(Ids{golden.target[t]}, &sink), std::as_const(golden.logits)[t]);
    }
    EXPECT_EQ(decoder->length(), golden.source.size() + golden.target.size());
    expect_attention(sink, golden.attention);
    ++cases;
  }
  EXPECT_EQ(cases, 20U);
}

TEST(EncoderDecoder, ManyTokensAtOnceAreThoseOneByOne) {
  for (const GoldenPair& golden : pairs()) {
    if (golden.rest().empty()) continue;
    SCOPED_TRACE(golden.name);
    const std::unique_ptr<Decoder> decoder = load(golden.name);
    for (int again = 0; again < 2; ++again) {  // a cleared sequence leaves nothing behind
      KeptRows sink;
      decoder->clear();
      decoder->append(golden.first(), &sink);
      expect_logits(decoder->append(golden.rest(), &sink), std::as_const(golden.logits)[golden.target.size() - 1]);
      expect_attention(sink, golden.attention);
    }
  }
}

TEST(EncoderDecoder, AGivenTargetRunsAtOnce) {
  for (const GoldenPair& golden : pairs()) {
    SCOPED_TRACE(golden.name);
    const std::unique_ptr<Decoder> decoder = load(golden.name);
    const TextInput input = golden.whole();
    RunOptions options;
    for (std::size_t t = golden.begin; t <= golden.target.size(); ++t)
      options.logit_positions.push_back(input.source + t - 1);
    KeptRows sink;
    const ModelOutput output = decoder->run(input, &sink, options);
    ASSERT_EQ(output.logits.extent(0), options.logit_positions.size());
    for (std::size_t row = 0; row < options.logit_positions.size(); ++row) {
      const std::span<const float> logits = output.logits[row].span();
      // A model's own logits, also those of tokens that it never writes.
      EXPECT_TRUE(std::all_of(logits.begin(), logits.end(), [](float x) { return std::isfinite(x); }));
      expect_logits({{logits.size()}, {logits.begin(), logits.end()}},
                    std::as_const(golden.logits)[golden.begin - 1 + row]);
    }
    expect_attention(sink, golden.attention);
  }
}

TEST(EncoderDecoder, ManyInputsGiveWhatEachGivesAlone) {
  for (const GoldenPair& golden : pairs()) {
    SCOPED_TRACE(golden.name);
    const std::unique_ptr<Decoder> decoder = load(golden.name);
    std::vector<TextInput> inputs(5, golden.whole());
    inputs[1].ids.front() = 6;                     // another source
    inputs[2].ids.back() = 7;                      // another end of the target
    inputs[3].ids[golden.source.size()] = 8;       // another beginning
    inputs[4].ids[golden.source.size() - 1] = 10;  // another source, of the same target
    for (const std::optional<std::size_t> position : {std::optional<std::size_t>(), {golden.source.size()}}) {
      std::vector<Tensor<float>> found(inputs.size());
      decoder->logits_of_each(inputs, position, {}, [&](std::size_t i, std::span<const float> logits) {
        found[i] = Tensor<float>({1, logits.size()}, {logits.begin(), logits.end()});
      });
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const Tensor<float> alone =
            decoder->run(inputs[i], nullptr, {.logit_positions = {position.value_or(inputs[i].ids.size() - 1)}}).logits;
        ASSERT_EQ(found[i].size(), alone.size());
        for (std::size_t id = 0; id < alone.size(); ++id) EXPECT_NEAR(found[i](0, id), alone(0, id), 1e-4) << i;
      }
    }
  }
}

// To first order, a step along the gradient changes the target's value by the gradient's squared length.
TEST(EncoderDecoder, GradientsOfBothEmbeddings) {
  for (const GoldenPair& golden : pairs()) {
    SCOPED_TRACE(golden.name);
    const std::unique_ptr<Decoder> decoder = load(golden.name);
    const std::vector<TextInput> inputs = {golden.whole()};
    const std::vector<ScoreTarget> targets = {
        {.kind = ScoreTarget::Kind::kLogitDifference, .label = 5, .others = {6, 7}}};
    Gradients<TextInput>& gradients = *decoder->gradients();
    ASSERT_TRUE(gradients.takes_embeddings());
    const InputGradient one = gradients.input_gradients(inputs, targets).at(0);
    ASSERT_EQ(one.gradient.extent(0), inputs[0].ids.size());
    const Tensor<float> logits =
        decoder->run(inputs[0], nullptr, {.logit_positions = {inputs[0].ids.size() - 1}}).logits;
    EXPECT_NEAR(one.value, logits(0, 5) - (logits(0, 6) + logits(0, 7)) / 2.0F, 1e-4);
    double square = 0.0;
    for (const float slope : one.gradient.span()) square += double{slope} * slope;
    ASSERT_GT(square, 0.0);
    const double step = 3e-4 / std::sqrt(square);
    const auto value_at = [&](double by) {
      std::vector<Tensor<float>> moved = {one.embedding};
      for (std::size_t i = 0; i < moved[0].size(); ++i) {
        moved[0].data()[i] += static_cast<float>(by * one.gradient.data()[i]);
      }
      return gradients.input_gradients(inputs, targets, {.embeddings = moved}).at(0).value;
    };
    EXPECT_NEAR((value_at(step) - value_at(-step)) / (2.0 * step), square, 0.05 * square);
  }
}

TEST(EncoderDecoder, ThreadsAndSinksChangeNoBit) {
  for (const GoldenPair& golden : pairs()) {
    SCOPED_TRACE(golden.name);
    KeptRows sink;
    const Tensor<float> one = load(golden.name, 1)->append(golden.first(), &sink);
    const Tensor<float> three = load(golden.name, 3)->append(golden.first(), nullptr);
    EXPECT_TRUE(one == three);
  }
}

TEST(EncoderDecoder, SaysWhatItIs) {
  const ModelFiles files(kGolden / "mbart");
  const ModelInfo& info = files.info();
  ASSERT_TRUE(info.target);
  EXPECT_EQ(info.target->begin, (Ids{0, 3}));
  EXPECT_EQ(info.layers, info.target->encoder_layers + 2 * info.target->decoder_layers);
  EXPECT_FALSE(info.causal);
  EXPECT_EQ(info.max_tokens, 40U);
  const std::unique_ptr<Decoder> decoder = files.load_decoder();
  EXPECT_TRUE(decoder->has_terms());
  EXPECT_NE(decoder->gradients(), nullptr);
}

// Layers as a pass back passes them on.
struct PassedBack : AttentionGradientSink {
  std::vector<std::size_t> layers;
  std::vector<Tensor<float>> attention;
  double largest = 0.0;  // of the gradients of attention

  void layer(const LayerGradients& gradients) override {
    layers.push_back(gradients.layer);
    const auto weights = gradients.attention.span();
    attention.emplace_back(gradients.attention.shape(), std::vector<float>(weights.begin(), weights.end()));
    for (const float slope : gradients.attention_gradient.span()) largest = std::max(largest, std::abs(double{slope}));
    EXPECT_EQ(gradients.residual.shape(), gradients.output_gradient.shape());
    EXPECT_EQ(gradients.residual.extent(0), gradients.attention.extent(1));
  }
};

// python/tests/capture/test_joint.py compares what becomes of the gradients with transformers.
TEST(EncoderDecoder, APassBackSeesTheAttentionOfTheRun) {
  for (const GoldenPair& golden : pairs()) {
    SCOPED_TRACE(golden.name);
    const std::unique_ptr<Decoder> decoder = load(golden.name);
    const TextInput input = golden.whole();
    const Ids& ids = input.ids;
    PassedBack sink;
    const ScoreTarget target{.kind = ScoreTarget::Kind::kLogit, .label = 5, .position = ids.size() - 1};
    decoder->gradients()->attention_gradients(input, target, sink, BackwardRule::kGradient);
    EXPECT_GT(sink.largest, 0.0);
    ASSERT_EQ(sink.layers.size(), decoder->info().layers);
    for (std::size_t at = 0; at < sink.layers.size(); ++at) {
      ASSERT_EQ(sink.layers[at], sink.layers.size() - at);
      const auto expected = golden.attention[sink.layers[at] - 1];
      for (std::size_t h = 0; h < expected.extent(0); ++h) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const auto row = sink.attention[at][h][i].span();
          for (std::size_t j = 0; j < ids.size(); ++j) EXPECT_NEAR(row[j], expected(h, i, j), 5e-5);
        }
      }
    }
    const std::vector<TextInput> without_source = {{ids, {}}};
    expect_error(ErrorKind::kUsage, {"of a source and of a target", "0 of them the source's"}, [&] {
      decoder->gradients()->attention_gradients(without_source[0], target, sink, BackwardRule::kGradient);
    });
    expect_error(ErrorKind::kUsage, {"of a source and of a target"},
                 [&] { decoder->gradients()->input_gradients(without_source, {{target}}); });
    ScoreTarget of_source = target;
    of_source.position = 0;
    expect_error(ErrorKind::kUsage, {"a position of the decoder", "found 0"},
                 [&] { decoder->gradients()->attention_gradients(input, of_source, sink, BackwardRule::kGradient); });
  }
}

// Each layer's terms sum to its y, and the rest of the layer turns y into the next layer's x.
struct CheckedTerms : AttentionSink {
  explicit CheckedTerms(const GoldenPair& asked) : golden(asked) {}

  const GoldenPair& golden;
  std::size_t layers = 0;
  std::size_t linked = 0;  // layers whose result is the x of the next
  Tensor<float> made;      // the last layer's result, for its own tokens

  bool wants_terms() const override { return true; }
  void layer(std::size_t /*layer*/, std::size_t /*begin*/, TensorView<const float> /*attention*/) override {
    ADD_FAILURE() << "attention in place of terms";
  }
  void terms(const LayerTerms& terms) override {
    SCOPED_TRACE("layer " + std::to_string(terms.layer));
    ASSERT_EQ(terms.layer, ++layers);
    EXPECT_LT(completeness_error(terms), 1e-5);
    const auto expected = golden.attention[terms.layer - 1];
    const bool is_encoder = terms.layer <= golden.encoder_layers();
    const std::size_t n = terms.attention.extent(1);
    for (std::size_t i = 0; i < n; ++i) {
      const bool works = (i < golden.source.size()) == is_encoder;
      ASSERT_EQ(terms.block_scale(i), works ? 1.0F : 0.0F);
      for (std::size_t h = 0; h < expected.extent(0); ++h) {
        for (std::size_t j = 0; j < n; ++j) {
          EXPECT_NEAR(terms.attention(h, i, j), works ? expected(h, i, j) : 0.0F, 5e-5);
        }
      }
    }
    const std::size_t first = is_encoder ? 0 : golden.source.size();
    const std::size_t count = is_encoder ? golden.source.size() : golden.target.size();
    if (terms.layer > 1 && terms.layer != golden.encoder_layers() + 1) {
      for (std::size_t i = 0; i < count; ++i) {
        for (std::size_t c = 0; c < made.extent(1); ++c) EXPECT_NEAR(terms.residual(first + i, c), made(i, c), 1e-4);
      }
      ++linked;
    }
    const std::size_t hidden = terms.output.extent(1);
    made = terms.rest({terms.output.data() + first * hidden, {count, hidden}});
  }
};

TEST(EncoderDecoder, TermsSumToTheStreamAndItsRest) {
  for (const GoldenPair& golden : pairs()) {
    SCOPED_TRACE(golden.name);
    const std::unique_ptr<Decoder> decoder = load(golden.name);
    CheckedTerms sink(golden);
    decoder->run(golden.whole(), &sink, {});
    EXPECT_EQ(sink.layers, decoder->info().layers);
    EXPECT_EQ(sink.linked, sink.layers - 2);
  }
}

TEST(EncoderDecoder, ContributionsOfTokensOneByOneAreThoseOfTheWhole) {
  std::size_t compared = 0;
  for (const GoldenPair& golden : pairs()) {
    const std::unique_ptr<Decoder> decoder = load(golden.name);
    const std::size_t layers = decoder->info().layers;
    const TextInput input = golden.whole();
    const std::size_t n = input.ids.size();
    for (const Contribution method : {Contribution::kNorm, Contribution::kGlobenc, Contribution::kAlti,
                                      Contribution::kIfr, Contribution::kValueZeroing}) {
      if (method == Contribution::kGlobenc && !decoder->info().norms_after) continue;
      SCOPED_TRACE(golden.name + ", " + contribution_name(method));
      ContributionGraphSink at_once(layers, {.contribution = method});
      decoder->run(input, &at_once, {});
      ContributionGraphSink one_by_one(layers, {.contribution = method}, n);
      decoder->clear();
      decoder->append(golden.first(), &one_by_one);
      for (const std::int64_t id : golden.rest()) decoder->append(Ids{id}, &one_by_one);
      const AttentionGraph whole = at_once.take();
      const AttentionGraph parts = one_by_one.take();
      for (std::size_t l = 0; l < layers; ++l) {
        for (std::size_t i = 0; i < n; ++i) {
          const bool works = (i < golden.source.size()) == (l < golden.encoder_layers());
          const bool to_target = l >= golden.encoder_layers() && (l - golden.encoder_layers()) % 2 == 0;
          for (std::size_t j = 0; j < n; ++j) {
            EXPECT_NEAR(whole.weights(l, i, j), parts.weights(l, i, j), 1e-5);
            const bool is_seen = works && (j < golden.source.size()) != to_target;
            if (i == j ? !works : !is_seen) {
              EXPECT_EQ(whole.weights(l, i, j), i == j ? 1.0 : 0.0);
            }
          }
        }
      }
      ++compared;
    }
  }
  EXPECT_GE(compared, 80U);
}

TEST(EncoderDecoder, GlobencNeedsNormsAfter) {
  const GoldenPair golden = pairs().front();
  ASSERT_EQ(golden.name.rfind("t5", 0), 0U);
  ContributionGraphSink sink(load(golden.name)->info().layers, {.contribution = Contribution::kGlobenc});
  expect_error(ErrorKind::kUnsupportedModel, {"globenc", "a norm after attention", "layer 1"},
               [&] { load(golden.name)->run(golden.whole(), &sink, {}); });
}

TEST(EncoderDecoder, RefusesWhatItCannotRead) {
  const std::unique_ptr<Decoder> decoder = load("mbart");
  const auto append = [&](const Ids& ids) { decoder->append(ids, nullptr); };
  expect_error(ErrorKind::kUsage, {"a source followed by 0, 3"}, [&] { append({5, 6, 0}); });
  expect_error(ErrorKind::kUsage, {"a source followed by 0, 3"}, [&] { append({0, 3}); });
  Ids many(41, 5);
  many.insert(many.end(), {0, 3});
  expect_error(ErrorKind::kInputTooLong, {"40", "41"}, [&] { append(many); });
  expect_error(ErrorKind::kBadFile, {"token ids", "1000"}, [&] { append({1000, 0, 3}); });
  append({5, 0, 3});
  for (int t = 0; t < 38; ++t) append({5});
  expect_error(ErrorKind::kInputTooLong, {"40", "1 after the 40 existing ones"}, [&] { append({5}); });
  expect_error(ErrorKind::kUsage, {"of a source and of a target", "mbart"}, [&] {
    decoder->run({{5, 0, 3}, {}}, nullptr);
  });
  expect_error(ErrorKind::kUsage, {"of a source and of a target", "3 of them"}, [&] {
    decoder->run({{5, 0, 3}, {}, 3}, nullptr);
  });
  expect_error(ErrorKind::kUsage, {"logit positions of the target, from 1 to 2, found 0"}, [&] {
    decoder->run({{5, 0, 3}, {}, 1}, nullptr, {.logit_positions = {0}});
  });
  expect_error(ErrorKind::kInputTooLong, {"40", "42"}, [&] { decoder->run({many, {}, 1}, nullptr); });
  expect_error(ErrorKind::kUnsupportedModel, {"encoder-decoder"}, [&] {
    decoder->run_for_replay(Ids{5, 0, 3}, nullptr);
  });
  expect_error(ErrorKind::kUnsupportedModel, {"encoder-decoder", "--target-text", "attnflow generate"},
               [&] { check_one_text(decoder->info()); });
  EXPECT_NE(ModelFiles(kGolden / "mbart").load_text()->decoder(), nullptr);
}

}  // namespace
}  // namespace attnflow::encoder_decoder_test
