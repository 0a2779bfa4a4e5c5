// Work that can be given up between the layers of a model.
#ifndef ATTNFLOW_ANALYSIS_EXPLAIN_STOP_SINK_H_
#define ATTNFLOW_ANALYSIS_EXPLAIN_STOP_SINK_H_

#include <stop_token>
#include <utility>

#include "attnflow/base/progress.h"
#include "attnflow/graph/attention_sink.h"

namespace attnflow {

// Hands everything on to another sink, which outlives it, and throws Cancelled once a stop is asked for: a model that
// runs a long text is done with within a layer.
class StopSink : public AttentionSink {
 public:
  StopSink(AttentionSink& sink, std::stop_token stop_token) : sink_(sink), stop_token_(std::move(stop_token)) {}
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override {
    if (stop_token_.stop_requested()) throw Cancelled();
    sink_.layer(layer, query_begin, attention);
  }

 private:
  AttentionSink& sink_;
  std::stop_token stop_token_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EXPLAIN_STOP_SINK_H_
