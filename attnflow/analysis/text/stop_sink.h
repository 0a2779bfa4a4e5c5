#pragma once

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/attention_sink.h"

namespace attnflow {

// Progress of a model's pass over a text, in tokens: tokens that only some layers have seen count in proportion.
class PassProgress {
 public:
  PassProgress() = default;
  // `progress` may be empty. Calls it at once to report the start.
  PassProgress(ProgressFunction progress, std::size_t layers, std::size_t tokens)
      : progress_(std::move(progress)), layers_(layers), tokens_(tokens) {
    if (progress_) progress_(0, tokens_);
  }
  void add(std::size_t queries) {
    rows_ += queries;
    if (progress_ && rows_ <= layers_ * tokens_) progress_(rows_ / layers_, tokens_);
  }

 private:
  ProgressFunction progress_;
  std::size_t layers_ = 1;
  std::size_t tokens_ = 0;
  std::size_t rows_ = 0;
};

// Passes everything on to other sinks, which outlive it, reports progress, and throws Cancelled once a stop is
// requested, so a long run ends within a layer. If one sink wants terms, all get terms, which include attention.
class StopSink : public AttentionSink {
 public:
  StopSink(std::vector<AttentionSink*> sinks, std::stop_token stop_token, PassProgress progress = {})
      : sinks_(std::move(sinks)), stop_token_(std::move(stop_token)), progress_(std::move(progress)) {}
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    for (AttentionSink* const sink : sinks_) sink->layer(layer, query_begin, attention);
    progress_.add(attention.extent(1));
  }
  bool wants_terms() const override {
    return std::any_of(sinks_.begin(), sinks_.end(), [](const AttentionSink* sink) { return sink->wants_terms(); });
  }
  void terms(const LayerTerms& terms) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    for (AttentionSink* const sink : sinks_) sink->terms(terms);
    progress_.add(terms.attention.extent(1));
  }

 private:
  std::vector<AttentionSink*> sinks_;
  std::stop_token stop_token_;
  PassProgress progress_;
};

// The same for a backward pass, whose progress is in layers and begins where the forward pass ends.
class StopGradientSink : public AttentionGradientSink {
 public:
  StopGradientSink(std::vector<AttentionGradientSink*> sinks, std::stop_token stop_token,
                   ProgressFunction progress = {}, std::size_t layers = 0)
      : sinks_(std::move(sinks)), stop_token_(std::move(stop_token)), progress_(std::move(progress)), layers_(layers) {}
  void top(TensorView<const float> residual, TensorView<const float> gradient) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    for (AttentionGradientSink* const sink : sinks_) sink->top(residual, gradient);
    if (progress_) progress_(0, layers_);
  }
  bool wants_layers() const override {
    return std::any_of(sinks_.begin(), sinks_.end(),
                       [](const AttentionGradientSink* sink) { return sink->wants_layers(); });
  }
  void layer(const LayerGradients& gradients) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    for (AttentionGradientSink* const sink : sinks_) sink->layer(gradients);
    if (progress_ && done_ < layers_) progress_(++done_, layers_);
  }

 private:
  std::vector<AttentionGradientSink*> sinks_;
  std::stop_token stop_token_;
  ProgressFunction progress_;
  std::size_t layers_;
  std::size_t done_ = 0;
};

}  // namespace attnflow
