#include "attnflow/analysis/methods/logit_scores.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "attnflow/analysis/methods/target_values.h"
#include "attnflow/analysis/text/stop_sink.h"
#include "attnflow/attribution/methods.h"
#include "attnflow/base/format_error.h"
#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/graph/contribution_mixing.h"

namespace attnflow {
namespace {

double inner(std::span<const float> a, std::span<const float> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0, std::plus<>(),
                            [](float x, float y) { return static_cast<double>(x) * static_cast<double>(y); });
}

Tensor<float> copy_of(TensorView<const float> values) {
  return {values.shape(), {values.span().begin(), values.span().end()}};
}

// The stream after the last layer and the target's gradient there; the layers below are not needed.
struct TopSink final : AttentionGradientSink {
  bool wants_layers() const override { return false; }
  void layer(const LayerGradients&) override {}
  void top(TensorView<const float> residual, TensorView<const float> gradient) override {
    stream = copy_of(residual);
    slope = copy_of(gradient);
  }
  Tensor<float> stream;  // [n, hidden]
  Tensor<float> slope;   // u
};

class LogitSink final : public AttentionSink {
 public:
  LogitSink(std::size_t layers, const Tensor<float>& slope, const std::stop_token& stop)
      : slope_(slope), stop_(stop), layers_(layers) {
    for (std::size_t i = 0; i < slope.extent(0); ++i) {
      const auto row = slope[i].span();
      if (std::any_of(row.begin(), row.end(), [](float x) { return x != 0.0F; })) read_.push_back(i);
    }
  }

  bool wants_terms() const override { return true; }
  void layer(std::size_t, std::size_t, TensorView<const float>) override {}
  void terms(const LayerTerms& terms) override {
    if (stop_.stop_requested()) throw Cancelled();
    Layer& layer = layers_.at(terms.layer - 1);
    const std::size_t queries = terms.residual.extent(0);
    layer.values.insert(layer.values.end(), terms.values.span().begin(), terms.values.span().end());
    layer.writes.resize(slope_.extent(0), 0.0);
    layer.works.resize(read_.size(), false);
    layer.before.resize(read_.size(), 0.0);
    layer.behind.resize(read_.size(), 0.0);
    for (std::size_t r = 0; r < read_.size(); ++r) {
      if (read_[r] < terms.query_begin || read_[r] >= terms.query_begin + queries) continue;
      const std::size_t q = read_[r] - terms.query_begin;
      layer.works[r] = terms.block_scale.empty() || terms.block_scale(q) != 0.0F;
      if (!layer.works[r]) continue;
      const auto u = slope_[read_[r]].span();
      layer.before[r] = inner(u, terms.residual[q].span());
      layer.behind[r] = inner(u, terms.output[q].span());
      add_writes(terms, layer, q, u);
    }
  }

  // Call once, when all layers have come, with the stream x^L after them; the results below are known from then on.
  void end(const Tensor<float>& stream) {
    for (const std::size_t i : read_) top_.push_back(inner(slope_[i].span(), stream[i].span()));
    for (std::size_t l = layers_.size(); l > 0; --l) {
      Layer& layer = layers_[l - 1];
      for (std::size_t r = 0; r < read_.size(); ++r) {
        if (!layer.works[r]) layer.before[r] = layer.behind[r] = above(l - 1, r);
      }
    }
  }

  // s, for each position.
  std::vector<double> direct() const {
    std::vector<double> scores(slope_.extent(0), 0.0);
    for (const Layer& layer : layers_) {
      std::transform(scores.begin(), scores.end(), layer.writes.begin(), scores.begin(), std::plus<>());
    }
    return scores;
  }
  // s', by the layers' matrices.
  std::vector<double> through(const AttentionGraph& graph) const {
    const std::size_t n = slope_.extent(0);
    std::vector<double> waiting(n, 0.0);  // what stands at each position of the layer's output
    for (std::size_t l = layers_.size(); l > 0; --l) {
      for (std::size_t r = 0; r < read_.size(); ++r) waiting[read_[r]] += added_behind(l - 1, r);
      std::vector<double> below = layers_[l - 1].writes;
      const Tensor<double> matrix = graph.top(l);
      for (std::size_t i = 0; i < n; ++i) {
        if (waiting[i] == 0.0) continue;
        for (std::size_t j = 0; j < n; ++j) below[j] += waiting[i] * matrix(i, j);
      }
      waiting = std::move(below);
    }
    for (std::size_t r = 0; r < read_.size(); ++r) waiting[read_[r]] += layers_.front().before[r];
    return waiting;
  }
  double embedding() const { return sum(layers_.front().before); }
  // The part of what attention blocks add that no position writes: from the difference of the streams around them.
  double biases() const {
    double total = 0.0;
    for (const Layer& layer : layers_) total += sum(layer.behind) - sum(layer.before) - sum(layer.writes);
    return total;
  }
  double feed_forward() const {
    double total = 0.0;
    for (std::size_t l = 0; l < layers_.size(); ++l) {
      for (std::size_t r = 0; r < read_.size(); ++r) total += added_behind(l, r);
    }
    return total;
  }
  double top() const { return sum(top_); }

 private:
  struct Layer {
    std::vector<float> values;   // [position, key-value head, width], of the chunks so far
    std::vector<double> writes;  // sum_i u_i . T_ij, of each position
    // The rest has a value for each position that is read.
    std::vector<bool> works;     // whether the layer does not leave it alone
    std::vector<double> before;  // u . x^(l-1)
    std::vector<double> behind;  // u . y^l
  };

  static double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

  // u . x^(l+1)
  double above(std::size_t l, std::size_t r) const {
    return l + 1 < layers_.size() ? layers_[l + 1].before[r] : top_[r];
  }
  // u . FF: what the feed-forward block of layer l + 1 adds to a position that is read.
  double added_behind(std::size_t l, std::size_t r) const { return above(l, r) - layers_[l].behind[r]; }

  // a_ij^h v_j^h . (O^h u_i) of every head and position.
  static void add_writes(const LayerTerms& terms, Layer& layer, std::size_t q, std::span<const float> u) {
    const std::size_t heads = terms.attention.extent(0);
    const std::size_t keys = terms.attention.extent(2);
    const std::size_t groups = terms.values.extent(1);
    const std::size_t width = terms.values.extent(2);
    const double scale = terms.block_scale.empty() ? 1.0 : static_cast<double>(terms.block_scale(q));
    std::vector<float> read(width);
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t w = 0; w < width; ++w) {
        read[w] = static_cast<float>(inner(terms.output_projection[h][w].span(), u));
      }
      const std::size_t group = h * groups / heads;
      for (std::size_t j = 0; j < std::min(keys, layer.values.size() / (groups * width)); ++j) {
        const double weight = static_cast<double>(terms.attention(h, q, j)) * scale;
        if (weight == 0.0) continue;
        const std::span<const float> value(layer.values.data() + (j * groups + group) * width, width);
        layer.writes[j] += weight * inner(value, read);
      }
    }
  }

  const Tensor<float>& slope_;
  const std::stop_token& stop_;
  std::vector<std::size_t> read_;  // positions that the head reads
  std::vector<Layer> layers_;
  std::vector<double> top_;  // u . x^L of each of them
};

template <typename Question, typename Input>
LogitScores share_out(const Question& question, const Input& input, Method method) {
  using Kind = ScoreTarget::Kind;
  const bool through_layers = method == Method::kAltiLogit;
  const char* const name = method_info(method).name;
  if (question.target.kind == Kind::kProbability || question.target.kind == Kind::kProbabilityDifference) {
    throw internal::usage_error(
        "--method {}: expected a logit or a difference of logits to distribute over tokens, found a probability", name);
  }
  const ModelInfo& info = question.model.info();
  check_logit_scores(info, method);
  TopSink top;
  StopGradientSink stoppable({&top}, question.stop_token);
  gradients_of(question.model).attention_gradients(input, question.target, stoppable, BackwardRule::kAttnLrp);
  if (top.slope.empty()) {
    throw internal::model_error(
        "--method {}: expected a backend that provides the residual stream after the last layer, found the backend of "
        "{}, which does not; use attnlrp or blank-out",
        name, info.name);
  }
  LogitSink sink(info.layers, top.slope, question.stop_token);
  std::vector<AttentionSink*> sinks = {&sink};
  std::optional<ContributionGraphSink> contributions;
  if (through_layers) {
    contributions.emplace(info.layers,
                          ContributionOptions{.contribution = Contribution::kAlti, .threads = question.threads},
                          info.causal ? top.slope.extent(0) : 0);
    sinks.push_back(&*contributions);
  }
  StopSink all(std::move(sinks), question.stop_token);
  question.model.run(input, &all);
  sink.end(top.stream);
  LogitScores result;
  result.value = target_values(question.model, std::span(&input, 1), question.target).front();
  if (through_layers) {
    result.scores = sums_of_groups(sink.through(contributions->take()), question.groups);
  } else {
    result.scores = sums_of_groups(sink.direct(), question.groups);
    result.parts = {{"embedding", sink.embedding()}, {"feed-forward layers", sink.feed_forward()}};
  }
  result.parts.push_back({"attention biases", sink.biases()});
  result.parts.push_back({"last norm and head", result.value - sink.top()});
  return result;
}

}  // namespace

void check_logit_scores(const ModelInfo& info, Method method) {
  if (!info.norms_after) return;
  throw internal::model_error(
      "--method {}: expected a model whose norms come before its blocks (GPT-2, Llama, T5, ViT), so that the layers' "
      "contributions add up, found {}, whose norms come after them (as in BERT and BART); use attnlrp or blank-out",
      method_info(method).name, info.name);
}

LogitScores logit_scores(const TextQuestion& question, Method method) {
  return share_out(question, question.input, method);
}
LogitScores logit_scores(const ImageQuestion& question, Method method) {
  return share_out(question, question.input, method);
}

}  // namespace attnflow
