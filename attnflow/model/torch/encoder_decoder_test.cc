// Tests encoder-decoders against output of transformers (tests/golden/encoder_decoders).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/model/decoder_contract_for_test.h"
#include "attnflow/model/model_files.h"
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

  Ids first() const {
    Ids ids = source;
    ids.insert(ids.end(), target.begin(), target.begin() + static_cast<std::ptrdiff_t>(begin));
    return ids;
  }
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
  EXPECT_FALSE(decoder->has_terms());
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
    Ids ids = golden.first();
    decoder->append(ids, nullptr);
    for (const std::int64_t id : golden.rest()) ids.push_back(id);
    PassedBack sink;
    const ScoreTarget target{.kind = ScoreTarget::Kind::kLogit, .label = 5, .position = ids.size() - 1};
    decoder->gradients()->attention_gradients({ids, {}}, target, sink, BackwardRule::kGradient);
    EXPECT_GT(sink.largest, 0.0);
    ASSERT_EQ(sink.layers.size(), decoder->info().layers);
    for (std::size_t at = 0; at < sink.layers.size(); ++at) {
      ASSERT_EQ(sink.layers[at], sink.layers.size() - at);
      const auto expected = golden.attention[sink.layers[at] - 1];
      for (std::size_t h = 0; h < expected.extent(0); ++h) {
        for (std::size_t i = 0; i < ids.size(); ++i) {
          const auto row = sink.attention[at][h][i].span();
          // Tokens that the layer leaves alone have no attention here.
          if (std::all_of(row.begin(), row.end(), [](float weight) { return weight == 0.0F; })) {
            EXPECT_EQ(expected(h, i, i), 1.0F);
            continue;
          }
          for (std::size_t j = 0; j < ids.size(); ++j) EXPECT_NEAR(row[j], expected(h, i, j), 5e-5);
        }
      }
    }
    ids.front() += 1;
    expect_error(ErrorKind::kUsage, {"the source that", "has read"}, [&] {
      decoder->gradients()->attention_gradients({ids, {}}, target, sink, BackwardRule::kGradient);
    });
    expect_error(ErrorKind::kUnsupportedModel, {"encoder-decoder"}, [&] {
      decoder->gradients()->input_gradients(std::vector<TextInput>{{ids, {}}}, {{target}});
    });
  }
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
  expect_error(ErrorKind::kUnsupportedModel, {"encoder-decoder", "attnflow generate"}, [&] {
    decoder->run({{5, 0, 3}, {}}, nullptr);
  });
  expect_error(ErrorKind::kUnsupportedModel, {"encoder-decoder"}, [&] {
    decoder->run_for_replay(Ids{5, 0, 3}, nullptr);
  });
  expect_error(ErrorKind::kUnsupportedModel, {"encoder-decoder", "target_text"},
               [&] { ModelFiles(kGolden / "mbart").load_text(); });
}

}  // namespace
}  // namespace attnflow::encoder_decoder_test
