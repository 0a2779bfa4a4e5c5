// A model that can be written down, to check methods outside the graph:
//
//     h = sum_j A_j e_j,   logits = V tanh(h),   e_j [width], h [width]
//
// with random V and e (by token) and A_j = a_j I. dF/de_j follows by hand.
#pragma once

#include <cmath>
#include <cstddef>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/model/prediction.h"

namespace attnflow::test {

class SummingModel : public Encoder, private Gradients<TextInput> {
 public:
  static constexpr std::size_t kWidth = 3;

  explicit SummingModel(std::size_t classes = 3, std::size_t vocabulary = 1000) : classes_(classes) {
    info_.name = "summing";
    info_.architecture = "bert";
    info_.layers = 2;
    info_.heads = 1;
    info_.vocabulary = vocabulary;
    info_.max_tokens = 64;
    info_.parameters = 100;
    info_.head = ModelHead::kClassification;
    for (std::size_t c = 0; c < classes; ++c) info_.labels.push_back("class " + std::to_string(c));
    std::mt19937_64 random(17);
    std::normal_distribution<float> normal(0.0F, 0.7F);
    head_ = Tensor<float>({classes, kWidth});
    table_ = Tensor<float>({vocabulary, kWidth});
    for (float& value : head_.span()) value = normal(random);
    for (float& value : table_.span()) value = normal(random);
  }

  static double place(std::size_t j) { return 1.0 / (1.0 + 0.3 * static_cast<double>(j)); }

  Tensor<float> embed(const TextInput& input) const {
    Tensor<float> embedding({input.ids.size(), kWidth});
    for (std::size_t j = 0; j < input.ids.size(); ++j) {
      for (std::size_t d = 0; d < kWidth; ++d) embedding(j, d) = table_(static_cast<std::size_t>(input.ids[j]), d);
    }
    return embedding;
  }

  // In float64, for finite differences.
  std::vector<double> hidden(const Tensor<double>& embedding) const {
    std::vector<double> h(kWidth, 0.0);
    for (std::size_t j = 0; j < embedding.extent(0); ++j) {
      for (std::size_t d = 0; d < kWidth; ++d) h[d] += place(j) * embedding(j, d);
    }
    return h;
  }
  std::vector<double> logits_of(const Tensor<double>& embedding) const {
    const std::vector<double> h = hidden(embedding);
    std::vector<double> logits(classes_, 0.0);
    for (std::size_t c = 0; c < classes_; ++c) {
      for (std::size_t d = 0; d < kWidth; ++d) logits[c] += static_cast<double>(head_(c, d)) * std::tanh(h[d]);
    }
    return logits;
  }
  static Tensor<double> wide(const Tensor<float>& values) {
    return {values.shape(), {values.span().begin(), values.span().end()}};
  }
  // A logit's weight in the target.
  double share(const ScoreTarget& target, std::size_t c) const {
    if (c == target.label) return 1.0;
    if (target.kind == ScoreTarget::Kind::kLogitAgainstRest) return -1.0 / static_cast<double>(classes_ - 1);
    return target.kind == ScoreTarget::Kind::kLogitDifference && c == target.others.front() ? -1.0 : 0.0;
  }
  double value_at(const Tensor<double>& embedding, const ScoreTarget& target) const {
    const std::vector<double> logits = logits_of(embedding);
    double value = 0.0;
    for (std::size_t c = 0; c < classes_; ++c) value += share(target, c) * logits[c];
    return value;
  }

  const ModelInfo& info() const override { return info_; }
  Gradients<TextInput>* gradients() override { return has_gradients ? this : nullptr; }
  ModelOutput run(const TextInput& input, AttentionSink* sink, const RunOptions&) override {
    const std::size_t n = input.ids.size();
    Tensor<float> attention({1, n, n});
    for (float& weight : attention.span()) weight = 1.0F / static_cast<float>(n);
    for (std::size_t l = 1; sink != nullptr && l <= info_.layers; ++l) sink->layer(l, 0, attention.view());
    return {logits(input)};
  }
  Tensor<float> logits(const TextInput& input) const {
    const std::vector<double> values = logits_of(wide(embed(input)));
    return {{classes_}, {values.begin(), values.end()}};
  }
  std::vector<Tensor<float>> classify(std::span<const TextInput> inputs, const BatchOptions&) override {
    std::vector<Tensor<float>> all;
    for (const TextInput& input : inputs) all.push_back(logits(input));
    runs += inputs.size();
    return all;
  }

  bool has_gradients = true;
  bool has_embeddings = true;
  std::size_t runs = 0;

 private:
  bool takes_embeddings() const override { return has_embeddings; }
  void attention_gradients(const TextInput&, const ScoreTarget&, AttentionGradientSink&, BackwardRule) override {
    throw Error(ErrorKind::kUnsupportedModel, "not part of this test");
  }
  std::vector<InputGradient> input_gradients(std::span<const TextInput> inputs, std::span<const ScoreTarget> targets,
                                             const BatchOptions& options) override {
    std::vector<InputGradient> all;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      InputGradient one;
      one.embedding = options.embeddings.empty() ? embed(inputs[i]) : options.embeddings[i];
      one.value = value_at(wide(one.embedding), targets[i]);
      one.gradient = Tensor<float>(one.embedding.shape());
      const std::vector<double> h = hidden(wide(one.embedding));
      for (std::size_t d = 0; d < kWidth; ++d) {
        double slope = 0.0;
        for (std::size_t c = 0; c < classes_; ++c) slope += share(targets[i], c) * static_cast<double>(head_(c, d));
        slope *= 1.0 - std::tanh(h[d]) * std::tanh(h[d]);
        // A factor identifies the other rule.
        if (options.rule == BackwardRule::kAttnLrp) slope *= 2.0;
        for (std::size_t j = 0; j < one.gradient.extent(0); ++j) {
          one.gradient(j, d) = static_cast<float>(place(j) * slope);
        }
      }
      all.push_back(std::move(one));
    }
    return all;
  }

  std::size_t classes_;
  ModelInfo info_;
  Tensor<float> head_;
  Tensor<float> table_;
};

}  // namespace attnflow::test
