// Layers that arrive one by one, each discarded once it is multiplied.
//
// Problem. Most questions want the rollout of the last layer or a few. A GraphSource (attribution/source.h) keeps all:
// 24 MiB for 12 layers of 512 tokens.
//
// Method. RolloutSink (rollout/rollout.h) keeps the running product; R[l, m], and W_l for raw attention, are kept only
// for requested layers. O(n^2) memory, plus as much for each of these.
//
// Values are, to the bit, a GraphSource's for all positions: rows of rollout are taken from the product.
//
// Example:
//
//     RunningLayers running({.raw = false});  // rollout of the last layer
//     for (std::size_t l = 1; l <= stack.layers(); ++l) running.add(stack.layer(l));
//     const Query query{.method = Method::kRollout, .layers = {stack.layers()}, .outputs = {{0}}};
//     RowsSource source = running.source();
//     const double found = attribute(source, query).values(0, 0, 3);
//     assert(found == rollout(attention_graph(stack))(stack.layers() - 1, 0, 3));
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "attnflow/attribution/source.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/rollout/rollout.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct RunningOptions {
  std::vector<std::size_t> layers = {};  // empty: the last one
  std::size_t start_layer = 0;           // m of R[l, m]
  bool raw = true;                       // W_l
  bool rollout = true;                   // R[l, m]
  HeadFusion fusion = HeadFusion::kMean;
  double residual = 0.5;    // rho
  std::size_t threads = 0;  // 0: one per hardware thread
};

class RunningLayers : public AttentionSink {
 public:
  explicit RunningLayers(RunningOptions options);

  // Adds the attention of the next layer, starting with the first: [head, query, key] of all queries. Throws
  // Error(kBadFile) if its shape differs from earlier layers.
  void add(TensorView<const float> attention);
  void add(TensorView<const double> attention);
  void layer(std::size_t, std::size_t, TensorView<const float> attention) override { add(attention); }

  std::size_t layers() const { return first_.size(); }
  std::size_t heads() const { return heads_; }
  std::size_t tokens() const { return tokens_; }
  bool causal() const { return causal_; }  // no weight above the diagonal
  // The share of each layer's attention from `position` that falls on the first token.
  std::vector<double> on_first(std::size_t position) const;

  // Refers to this. It throws Error(kUsage) for a layer or start layer that was not kept, and for flow. A question for
  // all positions of exactly the kept layers moves the values out, so later ones throw, too (except for rollout of the
  // last layer alone).
  RowsSource source() { return RowsSource(rows()); }

 private:
  void add_fused(std::size_t heads, TensorView<const double> weights, bool causal);
  GivenRows rows();
  std::unique_ptr<AttentionSource> uniform() const;
  std::vector<std::size_t> kept_layers() const;
  Tensor<double>& kept(Method method, const RowQuestion& question);

  RunningOptions options_;
  RolloutSink running_;
  std::size_t heads_ = 0;
  std::size_t tokens_ = 0;
  bool causal_ = true;
  std::vector<std::vector<double>> first_;  // [layer][position]: weights on position 0
  Tensor<double> raw_;                      // [requested layer, position, input position]
  Tensor<double> rollout_;                  // likewise; for the last layer alone, made on request
};

}  // namespace attnflow
