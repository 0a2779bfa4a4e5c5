#include "attnflow/analysis/methods/logit_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include "attnflow/analysis/methods/target_values.h"
#include "attnflow/base/error.h"
#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/attention_sink.h"

namespace attnflow {
namespace {

double inner(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                            [](float x, float y) { return static_cast<double>(x) * static_cast<double>(y); });
}

Tensor<float> copy_of(TensorView<const float> values) {
  return {values.shape(), {values.span().begin(), values.span().end()}};
}

// The stream behind the last layer and the target's gradient there; the layers below are of no use here.
struct TopSink final : AttentionGradientSink {
  void layer(const LayerGradients&) override {}
  void top(TensorView<const float> residual, TensorView<const float> gradient) override {
    stream = copy_of(residual);
    slope = copy_of(gradient);
  }
  Tensor<float> stream;  // [n, hidden]
  Tensor<float> slope;   // u
};

// Sums over the layers, while the model runs.
class LogitSink final : public AttentionSink {
 public:
  LogitSink(std::size_t layers, const Tensor<float>& slope, const std::stop_token& stop)
      : slope_(slope), stop_(stop), layers_(layers), scores_(slope.extent(0), 0.0) {
    for (std::size_t i = 0; i < slope.extent(0); ++i) {
      const auto row = slope[i].span();
      if (std::any_of(row.begin(), row.end(), [](float x) { return x != 0.0F; })) read_.push_back(i);
    }
  }

  bool wants_terms() const override { return true; }
  void layer(std::size_t, std::size_t, TensorView<const float>) override {}
  void terms(const LayerTerms& terms) override {
    if (stop_.stop_requested()) throw Cancelled();
    if (!terms.norm.scale.empty()) {
      throw Error(ErrorKind::kUnsupportedModel,
                  "--method logit: expected a model whose norms come before its blocks (GPT-2, Llama, ViT), in which "
                  "what layers write adds up, found one whose norms come after (BERT); use attnlrp or blank-out");
    }
    Layer& layer = layers_.at(terms.layer - 1);
    const std::size_t queries = terms.residual.extent(0);
    layer.values.insert(layer.values.end(), terms.values.span().begin(), terms.values.span().end());
    for (const std::size_t i : read_) {
      if (i < terms.query_begin || i >= terms.query_begin + queries) continue;
      const std::size_t q = i - terms.query_begin;
      const auto u = slope_[i].span();
      layer.before += inner(u, terms.residual[q].span());
      layer.behind += inner(u, terms.output[q].span());
      add_writes(terms, layer, q, u);
    }
  }

  const std::vector<double>& scores() const { return scores_; }
  double embedding() const { return layers_.front().before; }
  // Of what layers add but for what positions write into them: the difference of the streams around it.
  double biases() const {
    double sum = 0.0;
    for (const Layer& layer : layers_) sum += layer.behind - layer.before - layer.written;
    return sum;
  }
  double feed_forward(double top) const {
    double sum = 0.0;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      sum += (l + 1 < layers_.size() ? layers_[l + 1].before : top) - layers_[l].behind;
    }
    return sum;
  }

 private:
  struct Layer {
    std::vector<float> values;  // [position, key-value head, width], of the chunks so far
    double before = 0.0;        // u . x^(l-1)
    double behind = 0.0;        // u . y^l
    double written = 0.0;       // sum_j u . T_j
  };

  // a_ij^h v_j^h . (O^h u_i) of every head and position.
  void add_writes(const LayerTerms& terms, Layer& layer, std::size_t q, std::span<const float> u) {
    const std::size_t heads = terms.attention.extent(0);
    const std::size_t keys = terms.attention.extent(2);
    const std::size_t groups = terms.values.extent(1);
    const std::size_t width = terms.values.extent(2);
    std::vector<float> read(width);
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t w = 0; w < width; ++w) {
        read[w] = static_cast<float>(inner(terms.output_projection[h][w].span(), u));
      }
      const std::size_t group = h * groups / heads;
      for (std::size_t j = 0; j < std::min(keys, layer.values.size() / (groups * width)); ++j) {
        const double weight = static_cast<double>(terms.attention(h, q, j));
        if (weight == 0.0) continue;
        const std::span<const float> value(layer.values.data() + (j * groups + group) * width, width);
        const double write = weight * inner(value, read);
        scores_[j] += write;
        layer.written += write;
      }
    }
  }

  const Tensor<float>& slope_;
  const std::stop_token& stop_;
  std::vector<std::size_t> read_;  // positions that the head reads
  std::vector<Layer> layers_;
  std::vector<double> scores_;
};

template <typename Question, typename Input>
LogitScores share_out(const Question& question, const Input& input) {
  using Kind = ScoreTarget::Kind;
  if (question.target.kind == Kind::kProbability || question.target.kind == Kind::kProbabilityDifference) {
    throw Error(ErrorKind::kUsage,
                "--method logit: expected a logit or a difference of logits to share out, found a probability");
  }
  TopSink top;
  gradients_of(question.model).attention_gradients(input, question.target, top, BackwardRule::kAttnLrp);
  if (top.slope.empty()) {
    throw Error(
        ErrorKind::kUnsupportedModel,
        fmt::format("--method logit: expected a backend that hands over the stream behind the last layer, found "
                    "that of {}, which does not; use attnlrp or blank-out",
                    question.model.info().name));
  }
  LogitSink sink(question.model.info().layers, top.slope, question.stop_token);
  question.model.run(input, &sink);
  LogitScores result;
  result.scores = sums_of_groups(sink.scores(), question.groups);
  result.value = target_values(question.model, std::span(&input, 1), question.target).front();
  const double stream = inner(top.slope.span(), top.stream.span());
  result.parts = {{"embedding", sink.embedding()},
                  {"feed-forward layers", sink.feed_forward(stream)},
                  {"attention biases", sink.biases()},
                  {"last norm and head", result.value - stream}};
  return result;
}

}  // namespace

LogitScores logit_scores(const TextQuestion& question) { return share_out(question, question.input); }
LogitScores logit_scores(const ImageQuestion& question) { return share_out(question, question.input); }

}  // namespace attnflow
