// Work that can be given up between the layers of a model.
#ifndef ATTNFLOW_ANALYSIS_EXPLAIN_STOP_SINK_H_
#define ATTNFLOW_ANALYSIS_EXPLAIN_STOP_SINK_H_

#include <algorithm>
#include <stop_token>
#include <utility>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/graph/attention_gradient_sink.h"
#include "attnflow/graph/attention_sink.h"

namespace attnflow {

// Hands everything on to other sinks, which outlive it, and throws Cancelled once a stop is asked for: a model that
// runs a long text is done with within a layer. Where one of them wants terms all are given terms, which bring
// attention too.
class StopSink : public AttentionSink {
 public:
  StopSink(std::vector<AttentionSink*> sinks, std::stop_token stop_token)
      : sinks_(std::move(sinks)), stop_token_(std::move(stop_token)) {}
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    for (AttentionSink* const sink : sinks_) sink->layer(layer, query_begin, attention);
  }
  bool wants_terms() const override {
    return std::any_of(sinks_.begin(), sinks_.end(), [](const AttentionSink* sink) { return sink->wants_terms(); });
  }
  void terms(const LayerTerms& terms) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    for (AttentionSink* const sink : sinks_) sink->terms(terms);
  }

 private:
  std::vector<AttentionSink*> sinks_;
  std::stop_token stop_token_;
};

// The same of a pass back.
class StopGradientSink : public AttentionGradientSink {
 public:
  StopGradientSink(std::vector<AttentionGradientSink*> sinks, std::stop_token stop_token)
      : sinks_(std::move(sinks)), stop_token_(std::move(stop_token)) {}
  void top(TensorView<const float> residual, TensorView<const float> gradient) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    for (AttentionGradientSink* const sink : sinks_) sink->top(residual, gradient);
  }
  bool wants_layers() const override {
    return std::any_of(sinks_.begin(), sinks_.end(),
                       [](const AttentionGradientSink* sink) { return sink->wants_layers(); });
  }
  void layer(const LayerGradients& gradients) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    for (AttentionGradientSink* const sink : sinks_) sink->layer(gradients);
  }

 private:
  std::vector<AttentionGradientSink*> sinks_;
  std::stop_token stop_token_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EXPLAIN_STOP_SINK_H_
