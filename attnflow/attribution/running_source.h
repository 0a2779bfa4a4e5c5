// Raw attention and rollout of layers that arrive one by one, each discarded once multiplied.
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
//     RunningSource source({.raw = false});  // rollout of the last layer
//     for (std::size_t l = 1; l <= stack.layers(); ++l) {
//       source.add(fused_weights(stack.layer(l), MixingOptions{}), false);
//     }
//     const Query query{.method = Method::kRollout, .layers = {stack.layers()}, .outputs = {{0}}};
//     const double found = attribute(source, query).values(0, 0, 3);
//     assert(found == rollout(attention_graph(stack))(stack.layers() - 1, 0, 3));
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "attnflow/attribution/source.h"
#include "attnflow/rollout/rollout.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct RunningOptions {
  std::vector<std::size_t> layers = {};  // empty: the last one
  std::size_t start_layer = 0;           // m of R[l, m]
  bool raw = true;                       // W_l
  bool rollout = true;                   // R[l, m]
  double residual = 0.5;                 // rho
  std::size_t threads = 0;               // 0: one per hardware thread
};

class RunningSource : public AttentionSource {
 public:
  explicit RunningSource(RunningOptions options);

  // Adds W_l of the next layer, starting with the first: [query, key], steps 1 to 4 of graph/mixing.h. `causal`: no
  // weight above the diagonal. Throws Error(kBadFile) if the shape differs from earlier layers.
  void add(Tensor<double> weights, bool causal);

  std::size_t layers() const override { return first_.size(); }
  std::size_t tokens() const override { return tokens_; }
  bool causal() const { return causal_; }
  // The share of each layer's attention from `position` that falls on the first token.
  std::vector<double> on_first(std::size_t position) const;

  // Both throw Error(kUsage) for a layer or start layer that was not kept. A question for all positions of exactly the
  // kept layers moves the values out, so later ones throw, too (except for rollout of the last layer alone).
  Tensor<double> raw(const RowQuestion& question, const AttributeOptions& options) override;
  Tensor<double> rollout(const RowQuestion& question, const AttributeOptions& options) override;
  // Throws Error(kUsage): flow needs the matrices of all layers.
  FlowResult flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                  const AttributeOptions& options) override;
  std::unique_ptr<AttentionSource> uniform() const override;

 private:
  Tensor<double> rows_of(const RowQuestion& question, Tensor<double>& kept, const char* what) const;

  RunningOptions options_;
  RolloutSink running_;
  std::size_t tokens_ = 0;
  bool causal_ = true;
  std::vector<std::vector<double>> first_;  // [layer][position]: weights on position 0
  Tensor<double> raw_;                      // [requested layer, position, input position]
  Tensor<double> rollout_;                  // likewise; for the last layer alone, made on request
};

}  // namespace attnflow
