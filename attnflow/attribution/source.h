// Sources of values between positions.
//
// The same question may be answered from a whole graph (GraphSource), from rows that a decoder recomputes from its
// queries and keys (ReplaySource), or from rows that were kept (RowsSource). A source hides the difference: it gives
// raw attention, rollout and flow between positions, and attribute() (attribution/attribute.h) does the rest.
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
#include <memory>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

#include "attnflow/attribution/query.h"
#include "attnflow/base/deadline.h"
#include "attnflow/base/progress.h"
#include "attnflow/flow/flow.h"
#include "attnflow/flow/layered_network.h"
#include "attnflow/graph/attention_mask.h"
#include "attnflow/graph/attention_replay.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// How to compute; changes no value.
struct AttributeOptions {
  std::size_t threads = 0;          // 0: one per hardware thread
  ProgressFunction progress = {};   // for the slow methods: flow, and rollout by replay
  std::stop_token stop_token = {};  // when triggered, Cancelled is thrown
  Deadline deadline = {};           // flow only (FlowOptions::deadline); not for baselines
  std::size_t max_memory = 0;       // bytes, for flow by replay; 0: all of the machine's
};

// Returns the options for computation `part` (from 0) of `parts`, which have equal parts of the progress.
AttributeOptions part_of(const AttributeOptions& options, std::size_t part, std::size_t parts);

struct RowQuestion {
  std::vector<std::size_t> layers;  // increasing
  std::size_t start_layer = 0;
  std::vector<std::size_t> positions;
};

// Values are [layer, position, input position]. Input positions after the last one that any row sees may be left out.
class AttentionSource {
 public:
  virtual ~AttentionSource() = default;
  virtual std::size_t layers() const = 0;
  virtual std::size_t tokens() const = 0;  // valid positions
  virtual Tensor<double> raw(const RowQuestion& question, const AttributeOptions& options) = 0;
  virtual Tensor<double> rollout(const RowQuestion& question, const AttributeOptions& options) = 0;
  // `inputs`: groups of positions that share a sink and form the columns; null: each position separately.
  virtual FlowResult flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                          const AttributeOptions& options) = 0;
  // Uniform attention with the same mask, layers and residual: the baseline of receptive-field normalization.
  virtual std::unique_ptr<AttentionSource> uniform() const = 0;
};

// A whole graph: O(L n^2) memory. Rollout takes one matrix product per layer for all positions, else one vector-matrix
// product per layer and position.
//
// Gradient-adjusted attention as published (ResidualRule::kAdded) has rows that sum to more than 1, which rollout
// multiplies unchanged and flow divides by their sums (graph/gradient_mixing.h). For relevance
// (ResidualRule::kContainedNormalized), weights are amounts: rollout passes on no more than a position carries
// (rollout/capacity_rollout.h), and raw values and flow are in units of the target (AttentionGraph::unit).
class GraphSource : public AttentionSource {
 public:
  // The mask is that of uniform(): weights outside it are 0.
  GraphSource(AttentionGraph graph, const AttentionMask& mask) : graph_(std::move(graph)), mask_(mask) {}

  std::size_t layers() const override { return graph_.layers(); }
  std::size_t tokens() const override { return graph_.tokens(); }
  Tensor<double> raw(const RowQuestion& question, const AttributeOptions& options) override;
  Tensor<double> rollout(const RowQuestion& question, const AttributeOptions& options) override;
  FlowResult flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                  const AttributeOptions& options) override;
  std::unique_ptr<AttentionSource> uniform() const override;

  const AttentionGraph& graph() const { return graph_; }
  // The network with the rows that flow uses.
  LayeredNetwork network(std::size_t layer, std::size_t start_layer);
  // Moves the graph out; the source is unusable afterwards.
  AttentionGraph take() { return std::move(graph_); }

 private:
  template <typename Function>
  auto with_flow_rule(const Function& function);

  AttentionGraph graph_;
  AttentionMask mask_;
};

// A decoder's stored queries and keys: O(L n d) memory (rollout/replay_rollout.h). Only flow() builds matrices.
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

// Rows that someone gives one by one, because they were kept as they came (analysis/generate/generation_sink.h,
// attribution/running_layers.h) or are known without a model (uniform_source()).
struct GivenRows {
  // A row of W_l or of R[l, m] at a position, m being the question's; valid until the next one is asked for. Throws
  // Error(kUsage) for a row that is not there.
  using Row =
      std::function<std::span<const double>(const RowQuestion& question, std::size_t layer, std::size_t position)>;
  std::size_t layers = 0;
  std::size_t tokens = 0;
  std::size_t columns = 0;  // input positions; 0: up to the last requested position
  Row raw;
  Row rollout;
  // The graph of the first tokens, for flow; empty: there is no flow.
  std::function<AttentionGraph(const RowQuestion& question, std::size_t tokens)> graph = {};
  std::function<std::unique_ptr<AttentionSource>()> uniform;
  // For a question about all positions: the values moved out of where they were kept; an empty tensor: row by row.
  std::function<Tensor<double>(Method method, const RowQuestion& question)> whole = {};
};

class RowsSource : public AttentionSource {
 public:
  // Everything that the functions refer to must outlive the source.
  explicit RowsSource(GivenRows given) : given_(std::move(given)) {}

  std::size_t layers() const override { return given_.layers; }
  std::size_t tokens() const override { return given_.tokens; }
  Tensor<double> raw(const RowQuestion& question, const AttributeOptions& options) override;
  Tensor<double> rollout(const RowQuestion& question, const AttributeOptions& options) override;
  FlowResult flow(const RowQuestion& question, const TokenGroups* inputs, double tolerance,
                  const AttributeOptions& options) override;
  std::unique_ptr<AttentionSource> uniform() const override { return given_.uniform(); }

 private:
  Tensor<double> values(Method method, const GivenRows::Row& row, const RowQuestion& question) const;

  GivenRows given_;
};

// Uniform attention of positions that see no later one (except for an encoder-decoder's source), with matrices for flow
// only. `columns`: as in GivenRows.
std::unique_ptr<AttentionSource> uniform_source(const AttentionMask& mask, std::size_t layers, double residual,
                                                std::size_t columns = 0);

}  // namespace attnflow
