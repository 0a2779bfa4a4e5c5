#include "attnflow/analysis/methods/logit_scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "attnflow/attribution/query.h"
#include "attnflow/base/error.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/layer_terms.h"

namespace attnflow::logit_scores_test {
namespace {

constexpr std::size_t kTokens = 5;
constexpr std::size_t kHidden = 6;
constexpr std::size_t kHeads = 4;
constexpr std::size_t kGroups = 2;
constexpr std::size_t kWidth = 3;
constexpr std::size_t kLayers = 3;
constexpr std::size_t kVocabulary = 7;

// A decoder with made-up attention: x + sum_j T_ij + b, then a feed-forward block, an RMS norm and a head at the end.
// With a source, its first layer works on that, the others on the target: to its own tokens, then to the source.
class MadeUpDecoder : public TextModel, private Gradients<TextInput> {
 public:
  explicit MadeUpDecoder(std::size_t chunk, bool norms_after = false, std::size_t source = 0)
      : chunk_(chunk), source_(source) {
    info_.norms_after = norms_after;
    info_.name = "made-up";
    info_.layers = kLayers;
    info_.heads = kHeads;
    info_.causal = source == 0;
    info_.head = ModelHead::kCausalLm;
    std::mt19937_64 random(5);
    std::normal_distribution<float> normal;
    const auto fill = [&](Shape shape) {
      Tensor<float> tensor(std::move(shape));
      for (float& value : tensor.span()) value = normal(random);
      return tensor;
    };
    streams = fill({kTokens, kHidden});
    attention = fill({kLayers, kHeads, kTokens, kTokens});
    for (std::size_t r = 0; r < kLayers * kHeads * kTokens; ++r) {
      double sum = 0.0;
      float* const row = attention.data() + r * kTokens;
      for (std::size_t j = 0; j < kTokens; ++j) {
        row[j] = sees(r / (kHeads * kTokens), r % kTokens, j) ? std::abs(row[j]) : 0.0F;
        sum += static_cast<double>(row[j]);
      }
      for (std::size_t j = 0; j < kTokens && sum > 0.0; ++j) row[j] /= static_cast<float>(sum);
    }
    values = fill({kLayers, kTokens, kGroups, kWidth});
    output = fill({kLayers, kHeads, kWidth, kHidden});
    bias = fill({kLayers, kHidden});
    unembed = fill({kVocabulary, kHidden});
    // Computed in float32 like a model.
    Tensor<float> x = streams;
    for (std::size_t l = 0; l < kLayers; ++l) {
      before.push_back(x);
      Tensor<float> y = x;
      for (std::size_t i = 0; i < kTokens; ++i) {
        if (!works(l, i)) continue;
        for (std::size_t d = 0; d < kHidden; ++d) {
          double sum = static_cast<double>(x(i, d)) + static_cast<double>(bias(l, d));
          for (std::size_t j = 0; j < kTokens; ++j) sum += write(l, i, j, d);
          y(i, d) = static_cast<float>(sum);
        }
      }
      behind.push_back(y);
      for (std::size_t i = 0; i < kTokens; ++i) {
        for (float& value : y[i].span()) value += feeds_forward(l, i) ? std::tanh(value) : 0.0F;
      }
      x = y;
    }
    top = x;
  }

  // Whether layer l + 1 does not leave position i alone, and whether it ends with a feed-forward block there.
  bool works(std::size_t l, std::size_t i) const { return source_ == 0 || (l == 0) == (i < source_); }
  bool feeds_forward(std::size_t l, std::size_t i) const { return works(l, i) && (source_ == 0 || l != 1); }
  bool sees(std::size_t l, std::size_t i, std::size_t j) const {
    if (source_ == 0) return j <= i;
    return works(l, i) && (l == 1 ? j >= source_ && j <= i : j < source_);
  }

  // T_ij in dimension d.
  double write(std::size_t l, std::size_t i, std::size_t j, std::size_t d) const {
    double sum = 0.0;
    for (std::size_t h = 0; h < kHeads; ++h) {
      for (std::size_t w = 0; w < kWidth; ++w) {
        sum += static_cast<double>(attention(l, h, i, j)) * static_cast<double>(values(l, j, h * kGroups / kHeads, w)) *
               static_cast<double>(output(l, h, w, d));
      }
    }
    return sum;
  }
  double scale() const {
    double sum = 1e-5;
    for (const float value : top[kTokens - 1].span()) sum += static_cast<double>(value) * static_cast<double>(value);
    return 1.0 / std::sqrt(sum / kHidden);
  }
  // The target's direction in the last position's stream.
  double direction(const ScoreTarget& target, std::size_t d) const {
    return scale() *
           (static_cast<double>(unembed(target.label, d)) - static_cast<double>(unembed(target.others.front(), d)));
  }

  const ModelInfo& info() const override { return info_; }
  Gradients<TextInput>* gradients() override { return this; }
  ModelOutput run(const TextInput&, AttentionSink* sink, const RunOptions&) override {
    for (std::size_t begin = 0; sink != nullptr && begin < kTokens; begin += chunk_) {
      const std::size_t count = std::min(chunk_, kTokens - begin);
      for (std::size_t l = 0; l < kLayers; ++l) hand_over(*sink, l, begin, count);
    }
    ModelOutput result{Tensor<float>({1, kVocabulary})};
    for (std::size_t c = 0; c < kVocabulary; ++c) {
      double logit = 0.25 * static_cast<double>(c);  // the head's bias
      for (std::size_t d = 0; d < kHidden; ++d) {
        logit += scale() * static_cast<double>(unembed(c, d)) * static_cast<double>(top(kTokens - 1, d));
      }
      result.logits(0, c) = static_cast<float>(logit);
    }
    return result;
  }

  bool hands_over_top = true;
  Tensor<float> streams, attention, values, output, bias, unembed, top;
  std::vector<Tensor<float>> before, behind;

 private:
  void hand_over(AttentionSink& sink, std::size_t l, std::size_t begin, std::size_t count) const {
    const auto rows = [&](TensorView<const float> all) {
      Tensor<float> part({count, all.size() / kTokens});
      std::copy_n(all.data() + begin * part.extent(1), part.size(), part.data());
      return part;
    };
    const std::size_t keys = begin + count;
    Tensor<float> weights({kHeads, count, keys});
    for (std::size_t h = 0; h < kHeads; ++h) {
      for (std::size_t q = 0; q < count; ++q) {
        for (std::size_t j = 0; j < keys; ++j) weights(h, q, j) = attention(l, h, begin + q, j);
      }
    }
    const Tensor<float> flat = rows(values[l]);
    const Tensor<float> some({count, kGroups, kWidth}, {flat.span().begin(), flat.span().end()});
    Tensor<float> x = rows(before[l].view());
    Tensor<float> y = rows(behind[l].view());
    Tensor<float> block_scale({count});
    for (std::size_t q = 0; q < count; ++q) {
      block_scale.data()[q] = works(l, begin + q) ? 1.0F : 0.0F;
      if (works(l, begin + q)) continue;
      std::ranges::fill(x[q].span(), 0.0F);
      std::ranges::fill(y[q].span(), 0.0F);
    }
    LayerTerms terms{.layer = l + 1,
                     .query_begin = begin,
                     .attention = weights.view(),
                     .values = some.view(),
                     .output_projection = output[l],
                     .residual = x.view(),
                     .output = y.view()};
    if (source_ > 0) terms.block_scale = block_scale.view();
    sink.terms(terms);
  }
  void attention_gradients(const TextInput&, const ScoreTarget& target, AttentionGradientSink& sink,
                           BackwardRule rule) override {
    EXPECT_EQ(rule, BackwardRule::kAttnLrp);
    if (!hands_over_top) return;
    Tensor<float> slope({kTokens, kHidden});
    for (std::size_t d = 0; d < kHidden; ++d) slope(kTokens - 1, d) = static_cast<float>(direction(target, d));
    sink.top(top.view(), slope.view());
  }
  std::vector<InputGradient> input_gradients(std::span<const TextInput>, std::span<const ScoreTarget>,
                                             const BatchOptions&) override {
    return {};
  }

  std::size_t chunk_;
  std::size_t source_;
  ModelInfo info_;
};

const ScoreTarget kTarget{.kind = ScoreTarget::Kind::kLogitDifference, .label = 3, .others = {5}};

LogitScores scores_of(MadeUpDecoder& model, const ScoreTarget& target = kTarget, Method method = Method::kLogit) {
  const TextInput input{.ids = std::vector<std::int64_t>(kTokens, 1), .type_ids = {}};
  return logit_scores(TextQuestion{.model = model,
                                   .input = input,
                                   .target = target,
                                   .groups = single_tokens(kTokens),
                                   .blanked = {},
                                   .blank = {},
                                   .content = {}},
                      method);
}

void expect_complete(const LogitScores& found) {
  double sum = std::accumulate(found.scores.begin(), found.scores.end(), 0.0);
  for (const ScorePart& part : found.parts) sum += part.value;
  EXPECT_NEAR(sum, found.value, 1e-9);
}

void expect_direct_writes(MadeUpDecoder& model) {
  const LogitScores found = scores_of(model);
  constexpr std::size_t kLast = kTokens - 1;
  double biases = 0.0;
  double embedding = 0.0;
  double feed_forward = 0.0;
  std::vector<double> expected(kTokens, 0.0);
  for (std::size_t d = 0; d < kHidden; ++d) {
    const double u = model.direction(kTarget, d);
    embedding += u * static_cast<double>(model.streams(kLast, d));
    for (std::size_t l = 0; l < kLayers; ++l) {
      if (model.works(l, kLast)) biases += u * static_cast<double>(model.bias(l, d));
      if (model.feeds_forward(l, kLast)) {
        feed_forward += u * std::tanh(static_cast<double>(model.behind[l](kLast, d)));
      }
      for (std::size_t j = 0; j < kTokens; ++j) expected[j] += u * model.write(l, kLast, j, d);
    }
  }
  for (std::size_t j = 0; j < kTokens; ++j) EXPECT_NEAR(found.scores[j], expected[j], 1e-5);
  ASSERT_EQ(found.parts.size(), 4U);
  EXPECT_NEAR(found.parts[0].value, embedding, 1e-5);
  EXPECT_NEAR(found.parts[1].value, feed_forward, 1e-5);
  EXPECT_NEAR(found.parts[2].value, biases, 1e-5);
  EXPECT_NEAR(found.parts[3].value, 0.25 * (3.0 - 5.0), 1e-5);
  expect_complete(found);
}

TEST(LogitScores, AreWhatEachPositionWritesAndAddUpToTheLogit) {
  for (const std::size_t chunk : {std::size_t{1}, std::size_t{2}, kTokens}) {
    SCOPED_TRACE(chunk);
    MadeUpDecoder model(chunk);
    expect_direct_writes(model);
  }
}

TEST(LogitScores, OfAnEncoderDecoderAreWhatItsDecoderReads) {
  MadeUpDecoder model(kTokens, false, /*source=*/2);
  expect_direct_writes(model);
}

// s' by its definition, from the graph of ALTI.
TEST(LogitScores, ThroughTheLayersGoDownTheGraph) {
  for (const std::size_t source : {std::size_t{0}, std::size_t{2}}) {
    SCOPED_TRACE(source);
    MadeUpDecoder model(kTokens, false, source);
    ContributionGraphSink sink(kLayers, {.contribution = Contribution::kAlti});
    model.run({}, &sink, {});
    const AttentionGraph graph = sink.take();
    std::vector<std::vector<double>> down(kTokens, std::vector<double>(kTokens, 0.0));  // M^l ... M^1
    for (std::size_t i = 0; i < kTokens; ++i) down[i][i] = 1.0;
    std::vector<double> expected(kTokens, 0.0);
    constexpr std::size_t kLast = kTokens - 1;
    const auto add = [&](std::size_t position, double value) {
      for (std::size_t j = 0; j < kTokens; ++j) expected[j] += value * down[position][j];
    };
    const auto along_target = [&](const auto& of_dimension) {
      double sum = 0.0;
      for (std::size_t d = 0; d < kHidden; ++d) sum += model.direction(kTarget, d) * of_dimension(d);
      return sum;
    };
    add(kLast, along_target([&](std::size_t d) { return static_cast<double>(model.streams(kLast, d)); }));
    for (std::size_t l = 0; l < kLayers; ++l) {
      for (std::size_t k = 0; k < kTokens; ++k) {
        add(k, along_target([&](std::size_t d) { return model.write(l, kLast, k, d); }));
      }
      std::vector<std::vector<double>> higher(kTokens, std::vector<double>(kTokens, 0.0));
      for (std::size_t i = 0; i < kTokens; ++i) {
        for (std::size_t k = 0; k < kTokens; ++k) {
          for (std::size_t j = 0; j < kTokens; ++j) higher[i][j] += graph.top(l + 1)(i, k) * down[k][j];
        }
      }
      down = higher;
      if (!model.feeds_forward(l, kLast)) continue;
      add(kLast,
          along_target([&](std::size_t d) { return std::tanh(static_cast<double>(model.behind[l](kLast, d))); }));
    }
    const LogitScores found = scores_of(model, kTarget, Method::kAltiLogit);
    for (std::size_t j = 0; j < kTokens; ++j) EXPECT_NEAR(found.scores[j], expected[j], 1e-5);
    ASSERT_EQ(found.parts.size(), 2U);
    expect_complete(found);
  }
}

TEST(LogitScores, AreOfLogitsAndOfModelsWhoseLayersAddUp) {
  MadeUpDecoder model(kTokens);
  EXPECT_THROW(scores_of(model, {.kind = ScoreTarget::Kind::kProbability, .label = 3}), Error);
  model.hands_over_top = false;
  EXPECT_THROW(scores_of(model), Error);
  MadeUpDecoder after(kTokens, true);
  EXPECT_THROW(scores_of(after), Error);
}

}  // namespace
}  // namespace attnflow::logit_scores_test
