// Where the values of single positions come from.
//
// The same question is asked of a whole graph, of rows that a decoder computes again from its queries and keys, and of
// rows that were kept while it generated. A source hides which: it gives the values of raw attention, rollout and flow
// between positions, and attribute() (attribution/attribute.h) does everything else.
//
// Example:
//
//     GraphSource graph_source(attention_graph(decoder_stack), /*causal=*/true);  // keeps a matrix a layer
//     ReplaySource replay_source(replay, MixingOptions{});                        // keeps none
//     const RowQuestion question{.layers = {6}, .positions = {5}};
//     const Tensor<double> row = graph_source.rollout(question, {});  // [layer, position, input position]
//     const Tensor<double> same = replay_source.rollout(question, {});
//     assert(std::abs(row(0, 0, 2) - same(0, 0, 2)) < 1e-6);  // of the same decoder
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "attnflow/attribution/query.h"
#include "attnflow/base/deadline.h"
#include "attnflow/base/progress.h"
#include "attnflow/flow/flow.h"
#include "attnflow/flow/layered_network.h"
#include "attnflow/graph/attention_replay.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// How to compute, which changes no value.
struct AttributeOptions {
  std::size_t threads = 0;          // 0: one per hardware thread
  ProgressFunction progress = {};   // of what takes longest: flow, and rollout by replay
  std::stop_token stop_token = {};  // when triggered, Cancelled is thrown
  Deadline deadline = {};           // of flow: FlowOptions::deadline; of a baseline there is none
  std::size_t max_memory = 0;       // bytes of flow by replay; 0: what the machine has
};

// The same for one of several computations (0 is the first), which have equal parts of the progress.
AttributeOptions part_of(const AttributeOptions& options, std::size_t part, std::size_t parts);

// The rows of some positions.
struct RowQuestion {
  std::vector<std::size_t> layers;  // increasing
  std::size_t start_layer = 0;
  std::vector<std::size_t> positions;
};

// Values are [layer, position, input position]. There may be fewer input positions than the source has tokens: those
// behind the last position that any row sees are left out.
class AttentionSource {
 public:
  virtual ~AttentionSource() = default;
  virtual std::size_t layers() const = 0;
  virtual std::size_t tokens() const = 0;  // positions that may be asked about
  virtual Tensor<double> raw(const RowQuestion& question, const AttributeOptions& options) = 0;
  virtual Tensor<double> rollout(const RowQuestion& question, const AttributeOptions& options) = 0;
  // `inputs`: groups of positions with one common sink, which are then the columns; null: each position by itself.
  virtual FlowResult flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                          const AttributeOptions& options) = 0;
  // The same mask, layers and residual under uniform attention: the baseline of receptive-field normalisation.
  virtual std::unique_ptr<AttentionSource> uniform() const = 0;
};

// A whole graph: O(L n^2) memory. Raw values and flow of all positions or of some; rollout of all positions takes one
// product a layer, that of some a product of vector and matrix a layer for each.
//
// Gradient-adjusted attention as published (ResidualRule::kAdded) has rows that sum to more than 1: rollout multiplies
// them as they are, flow takes them divided by their sums (graph/gradient_mixing.h). Relevance
// (ResidualRule::kContainedNormalized) is the other way round: rollout takes proportions, flow capacities; raw values
// and flow are in units of the target (AttentionGraph::unit).
class GraphSource : public AttentionSource {
 public:
  // `causal`: whether all weights above the diagonal are 0. Used by uniform(), whose attention has the same mask.
  GraphSource(AttentionGraph graph, bool causal) : graph_(std::move(graph)), causal_(causal) {}

  std::size_t layers() const override { return graph_.layers(); }
  std::size_t tokens() const override { return graph_.tokens(); }
  Tensor<double> raw(const RowQuestion& question, const AttributeOptions& options) override;
  Tensor<double> rollout(const RowQuestion& question, const AttributeOptions& options) override;
  FlowResult flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                  const AttributeOptions& options) override;
  std::unique_ptr<AttentionSource> uniform() const override;

  const AttentionGraph& graph() const { return graph_; }
  // The graph with the rows that flow takes.
  LayeredNetwork network(std::size_t layer, std::size_t start_layer);
  // Gives the graph away; nothing may be asked afterwards.
  AttentionGraph take() { return std::move(graph_); }

 private:
  template <typename Function>
  auto with_flow_rule(const Function& function);

  AttentionGraph graph_;
  bool causal_;
};

// A decoder that has kept its queries and keys: O(L n d) memory (rollout/replay_rollout.h). It has no matrices; flow()
// makes those of the layers up to the last one asked about, for as long as it runs.
class ReplaySource : public AttentionSource {
 public:
  // `attention` must outlive the source.
  ReplaySource(AttentionReplay& attention, MixingOptions mixing) : attention_(attention), mixing_(std::move(mixing)) {}

  std::size_t layers() const override { return attention_.layers(); }
  std::size_t tokens() const override { return attention_.tokens(); }
  Tensor<double> raw(const RowQuestion& question, const AttributeOptions& options) override;
  Tensor<double> rollout(const RowQuestion& question, const AttributeOptions& options) override;
  FlowResult flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                  const AttributeOptions& options) override;
  std::unique_ptr<AttentionSource> uniform() const override;

 private:
  AttentionReplay& attention_;
  MixingOptions mixing_;
};

// Uniform causal attention, W[q, k] = 1 / (q + 1) for k <= q, without a matrix but for flow.
class UniformCausalSource : public AttentionSource {
 public:
  // `columns`: input positions of raw attention and rollout; 0: up to the last position that is asked about.
  UniformCausalSource(std::size_t layers, double residual, std::size_t columns = 0)
      : layers_(layers), residual_(residual), columns_(columns) {}

  std::size_t layers() const override { return layers_; }
  std::size_t tokens() const override { return columns_ > 0 ? columns_ : std::numeric_limits<std::size_t>::max(); }
  Tensor<double> raw(const RowQuestion& question, const AttributeOptions& options) override;
  Tensor<double> rollout(const RowQuestion& question, const AttributeOptions& options) override;
  FlowResult flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                  const AttributeOptions& options) override;
  std::unique_ptr<AttentionSource> uniform() const override;

 private:
  std::size_t layers_;
  double residual_;
  std::size_t columns_;
};

// Returns the flow from some positions of a causal graph. For each of them, only the positions that it sees are used:
// graph(t) must return the graph of the first t positions. `inputs` must be in the order of their first positions; the
// positions of a group that are not seen are left out. The columns cover at least the first `least_columns` positions.
FlowResult causal_flow(const std::function<AttentionGraph(std::size_t tokens)>& graph, const RowQuestion& question,
                       const TokenGroups* inputs, double tolerance, const AttributeOptions& options,
                       std::size_t least_columns = 0);

// The graph of the first `tokens` positions of a causal one.
AttentionGraph first_tokens(const AttentionGraph& graph, std::size_t tokens);

}  // namespace attnflow
