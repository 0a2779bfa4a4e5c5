// Raw attention and rollout of layers that come one by one, each forgotten once it is multiplied.
//
// Problem. A question usually wants the rollout of the last layer, or of a few. A GraphSource (attribution/source.h)
// keeps the matrices of all: 24 MiB for 12 layers of 512 tokens.
//
// Method. RolloutSink (rollout/rollout.h) keeps the product of the layers that came; R[l, m], and W_l for raw
// attention, are kept of the layers wanted alone. O(n^2) memory, and as much for each of these.
//
// Values are those that a GraphSource of the same layers gives for all positions, to the bit: a row of rollout is cut
// out of the product, not multiplied by itself from the other end.
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

// What is kept.
struct RunningOptions {
  std::vector<std::size_t> layers = {};  // empty: the last that comes
  std::size_t start_layer = 0;           // m of R[l, m]
  bool raw = true;                       // W_l
  bool rollout = true;                   // R[l, m]
  double residual = 0.5;                 // rho
  std::size_t threads = 0;               // 0: one per hardware thread
};

class RunningSource : public AttentionSource {
 public:
  explicit RunningSource(RunningOptions options);

  // W_l of the next layer, from the first on: [query, key], steps 1 to 4 of graph/mixing.h. `causal`: no weight above
  // the diagonal. Throws Error(kBadFile) for another shape than that of the layers before.
  void add(Tensor<double> weights, bool causal);

  std::size_t layers() const override { return first_.size(); }
  std::size_t tokens() const override { return tokens_; }
  bool causal() const { return causal_; }
  // How much of each layer's attention, from a position, falls on the first token.
  std::vector<double> on_first(std::size_t position) const;

  // Both throw Error(kUsage) for a layer or a start layer that was not kept. A question for all positions of exactly
  // the layers that were kept moves the values out, and later questions throw as well. (Rollout of the last layer alone
  // can be asked for again.)
  Tensor<double> raw(const RowQuestion& question, const AttributeOptions& options) override;
  Tensor<double> rollout(const RowQuestion& question, const AttributeOptions& options) override;
  // Throws Error(kUsage): flow takes the matrices of all layers.
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
  Tensor<double> raw_;                      // [layer wanted, position, input position]
  Tensor<double> rollout_;                  // the same; of the last layer alone made when asked for
};

}  // namespace attnflow
