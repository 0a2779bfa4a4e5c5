// Contributions: mixing by what each position writes into another, rather than by attention weights.
//
// Problem. An attention weight shows where a head attends. What it takes from there is the weight times a value, and a
// value may be close to zero (as it usually is for the first token of a decoder), heads may cancel each other, and all
// of it may be small compared to the residual stream. How can a layer's matrix count what actually arrives?
//
// Definition. With the terms of a layer (graph/layer_terms.h), T_ij the vector that position j writes into position i
// and x_i the residual stream, let F_ij = T_ij + d_ij x_i, d_ij = 1 if i = j, so that y_i = sum_j F_ij + b. In layers
// whose norm comes after the block (BERT), the norm is linearized with the statistics of the real input: every F_ij
// loses its mean, is divided by sigma_i and multiplied by gamma; y_i goes through the norm itself. Row i of W_l is then
//
//     norm           |F_ij|                                              graph/norm_contributions.h
//     globenc        the same through the second residual and its norm   graph/norm_contributions.h
//                    (norm where the layer ends before them)
//     alti           max(0, |y_i|_1 - |y_i - F_ij|_1)                    graph/alti_contributions.h
//     ifr            the same for each head's part of T_ij, and for x_i  graph/ifr_contributions.h
//     value-zeroing  1 - cos(y'_i, y'_i without value j)                 graph/value_zeroing.h
//
// divided by its sum. A row without a positive entry becomes that of the identity. The diagonal is what stays at a
// position, so the residual is contained (ResidualRule::kContained). Only value zeroing does not change the residual
// stream: it sees what attention brings, so its residual is added as for attention (ResidualRule::kConvex).
//
// Removal. --mask-columns and --discard set weights to 0 as in graph/mixing.h, except on the diagonal if the residual
// is contained, since the diagonal is not due to attention alone. Changed rows are divided by their sums again; a row
// left with nothing becomes that of the identity.
//
// Precision. Vectors are float32, like the model's; Gram matrices, their forms and row sums are float64. |y|_1 - |y -
// F|_1 is summed coordinate by coordinate without cancellation, so that a small contribution to a large residual stream
// keeps its digits. Weights above the diagonal of causal models are exactly 0, because those of attention are.
//
// Determinism. The same input gives the same bits for any number of threads and any division of the queries into chunks
// (for value zeroing, if the engine's `rest` does so) on machines with the same vector width.
//
// Memory. O(n d + H n^2) for a layer: the n^2 vectors F_ij are computed in tiles that fit into a cache and are never
// stored. If layers come in chunks, each layer keeps the data of earlier positions that later chunks need: n G w values
// of float32, or for norm and globenc n H (H + 1) / 2 numbers of float64. Time: see each method's header.
//
// Example:
//
//     ContributionGraphSink sink(kLayers, {.contribution = Contribution::kAlti});
//     for (std::size_t l = 1; l <= kLayers; ++l) sink.terms(terms(l));  // as a model does
//     const AttentionGraph contributions = sink.take();                 // rows sum to 1
//     const Tensor<double> all = rollout(contributions);                // rollout/rollout.h
//     assert(completeness_error(terms(1)) < 1e-6);
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attnflow/graph/attention_sink.h"
#include "attnflow/graph/layer_terms.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

enum class Contribution : std::uint8_t { kNorm, kGlobenc, kAlti, kIfr, kValueZeroing };

// The contribution's name on the command line: "norm", "value-zeroing".
const char* contribution_name(Contribution contribution);

struct ContributionOptions {
  Contribution contribution = Contribution::kAlti;
  double residual = 0.5;       // rho in [0, 1]; value zeroing only
  WeightRemoval removal = {};  // discard: for whole layers only
  std::size_t threads = 0;     // 0: one per hardware thread
};

// Computes the rows of the layers of one sequence as its chunks of queries arrive.
class ContributionRows {
 public:
  // `in_chunks`: a layer of the model's `layers` comes in several calls, in order of queries, and discard is ignored;
  // otherwise, layers come whole and nothing is kept.
  ContributionRows(std::size_t layers, ContributionOptions options, bool in_chunks);
  ~ContributionRows();
  ContributionRows(ContributionRows&&) noexcept;
  ContributionRows& operator=(ContributionRows&&) noexcept;

  // Returns W_l for these queries, [query, key], with keys up to the last query, and without a residual that is added
  // later. Throws Error(kBadFile), naming layer and position, for numbers that are not finite and for attention below
  // 0; Error(kUnsupportedModel) if the layer lacks what the method needs: for globenc, norms that come after, and for
  // value zeroing, `rest`; Error(kOther) for terms whose shapes do not match, layers that do not exist and chunks that
  // are not consecutive.
  Tensor<double> rows(const LayerTerms& terms);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

ResidualRule residual_rule(Contribution contribution);

// A sink that keeps the matrices of all layers: O(L n^2). `tokens`: n if layers come in chunks of queries (without
// discard); 0 if they come whole.
class ContributionGraphSink : public AttentionSink {
 public:
  // Throws Error(kUsage) for a residual outside [0, 1], and for discard combined with `tokens`.
  ContributionGraphSink(std::size_t layers, ContributionOptions options, std::size_t tokens = 0);

  bool wants_terms() const override { return true; }
  // Throws as ContributionRows::rows() does, and Error(kUsage) for positions that are out of range.
  void terms(const LayerTerms& terms) override;
  // Called by engines that do not provide terms. Throws Error(kUnsupportedModel): attention alone is not enough.
  [[noreturn]] void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override;
  // Returns the graph. Call once. Throws Error(kUnsupportedModel) if no terms have arrived, and Error(kOther) if those
  // of a layer are missing.
  AttentionGraph take();

 private:
  std::size_t layers_;
  std::size_t tokens_;
  ContributionOptions options_;
  ContributionRows rows_;
  AttentionGraph graph_;
  std::vector<std::size_t> seen_;  // number of queries of each layer that have arrived
};

// Makes a graph from contributions computed elsewhere, [layer, query, key]: divides rows by their sums (a row of zeros
// becomes that of the identity) and removes weights as above. Throws Error(kBadFile) for numbers that are negative or
// not finite and for arrays of another shape, and Error(kUsage) for positions that are out of range.
AttentionGraph contribution_graph(TensorView<const double> contributions, const ContributionOptions& options);

// How far the terms of a whole layer are from complete: the largest |y_i - x_i - sum_j T_ij - b| over the largest
// |y_i|, over all numbers of all positions. About 1e-6 for a float32 engine. `bias`: b, [hidden], which is also
// multiplied by block_scale; if absent, the mean remainder over the positions that the block writes into is used (with
// a single one, this proves nothing). O(H n^2 w + n d^2), float64, one thread. Throws Error(kOther) for a chunk of a
// layer, or shapes that do not match.
double completeness_error(const LayerTerms& terms, std::span<const float> bias = {});

}  // namespace attnflow
