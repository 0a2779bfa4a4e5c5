// Contributions: mixing by what each position writes into another, not by where attention looks.
//
// Problem. An attention weight says where a head looks. What it takes from there is the weight times a value, and a
// value may be next to nothing (that of the first token of a decoder usually is), several heads may cancel each other,
// and next to the residual stream all of it may be small. What is a layer's matrix when what arrives is to count?
//
// Definition. With the terms of a layer (graph/layer_terms.h), T_ij what position j writes into position i and x_i the
// residual stream, let F_ij = T_ij + d_ij x_i, d_ij = 1 if i = j, so that y_i = sum_j F_ij + b. In layers whose norm
// comes after the block (BERT), the norm is made linear with the statistics of the real input: every F_ij loses its
// mean, is divided by sigma_i and multiplied by gamma; y_i goes through the norm itself. Row i of W_l is then
//
//     norm           |F_ij|                                              graph/norm_contributions.h
//     globenc        the same through the second residual and its norm   graph/globenc_contributions.h
//     alti           max(0, |y_i|_1 - |y_i - F_ij|_1)                    graph/alti_contributions.h
//     ifr            the same of each head's part of T_ij, and of x_i    graph/ifr_contributions.h
//     value-zeroing  1 - cos(y'_i, y'_i without value j)                 graph/value_zeroing.h
//
// divided by its sum. A row in which nothing is positive becomes that of the identity. What stays at a position is its
// diagonal, so the residual is contained (ResidualRule::kContained), with one exception: value zeroing leaves the
// residual stream alone and knows only what the attention brings; its residual is added as that of attention
// (ResidualRule::kConvex).
//
// Removal. --mask-columns and --discard set weights to 0 as in graph/mixing.h, except those on the diagonal where the
// residual is contained, since they are not attention's alone. Rows that changed are divided by their sums again; one
// that is left with nothing becomes the identity's.
//
// Precision. Vectors are float32, as the model's; Gram matrices, their forms and row sums are float64. |y|_1 - |y -
// F|_1 is summed coordinate by coordinate in a form without cancellation, so that a small contribution to a large
// residual stream keeps its digits. Weights above the diagonal of causal models are exactly 0, because attention's are.
//
// Determinism. Same input, same bits, for any number of threads and however the queries are cut into chunks. (Value
// zeroing as far as the engine's `rest` does so.) Machines with other vectors round differently.
//
// Memory. O(n d + H n^2) for a layer: the n^2 vectors F_ij are made in tiles that fit into a cache and never kept.
// Where layers come in chunks, each layer keeps what later chunks need of earlier positions: n G w values of float32,
// or for norm and globenc n H (H + 1) / 2 numbers of float64. Time: each method's header.
//
// References: each method's header.
//
// Example:
//
//     ContributionGraphSink sink(kLayers, {.contribution = Contribution::kAlti});
//     for (std::size_t l = 1; l <= kLayers; ++l) sink.terms(terms(l));  // what a model does
//     const AttentionGraph contributions = sink.take();                 // rows sum to 1
//     const Tensor<double> all = rollout(contributions);                // rollout/rollout.h
//     assert(completeness_error(terms(1)) < 1e-6);
#ifndef ATTNFLOW_GRAPH_CONTRIBUTION_MIXING_H_
#define ATTNFLOW_GRAPH_CONTRIBUTION_MIXING_H_

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

// Its name on the command line: "norm", "value-zeroing".
const char* contribution_name(Contribution contribution);

struct ContributionOptions {
  Contribution contribution = Contribution::kAlti;
  double residual = 0.5;       // rho in [0, 1]; value zeroing only
  WeightRemoval removal = {};  // discard: of whole layers only
  std::size_t threads = 0;     // 0: one per hardware thread
};

// Rows of the layers of one sequence as its chunks of queries come.
class ContributionRows {
 public:
  // `layers`: how many the model has. `in_chunks`: a layer comes in several calls, each with the queries behind those
  // of the call before, and discard is not looked at; without, each layer comes whole and nothing is kept of it.
  ContributionRows(std::size_t layers, ContributionOptions options, bool in_chunks);
  ~ContributionRows();
  ContributionRows(ContributionRows&&) noexcept;
  ContributionRows& operator=(ContributionRows&&) noexcept;

  // W_l of these queries, [query, key], keys from 0 to the last query; without the residual where it is added later.
  // Throws Error(kBadFile) for numbers that are not finite and for attention below 0, naming layer and position;
  // Error(kUnsupportedModel) where the method needs what the layer does not have: globenc the norms that come after,
  // value zeroing `rest`; Error(kOther) for terms whose shapes do not fit each other, layers that do not exist and
  // chunks that do not follow each other.
  Tensor<double> rows(const LayerTerms& terms);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// How these rows take the residual connection.
ResidualRule residual_rule(Contribution contribution);

// A sink that keeps the matrices of all layers: O(L n^2). `tokens`: n, where layers come in chunks of queries (no
// discard then); 0: they come whole.
class ContributionGraphSink : public AttentionSink {
 public:
  // Throws Error(kUsage) for a residual outside of [0, 1], and discard with `tokens`.
  ContributionGraphSink(std::size_t layers, ContributionOptions options, std::size_t tokens = 0);

  bool wants_terms() const override { return true; }
  // Throws as ContributionRows::rows(), and Error(kUsage) for positions that are out of range.
  void terms(const LayerTerms& terms) override;
  // What an engine calls that knows nothing of terms. Throws Error(kUnsupportedModel): attention alone is not enough.
  [[noreturn]] void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override;
  // The graph. Throws Error(kUnsupportedModel) when no terms have come, Error(kOther) when those of some layer are
  // missing. Call once.
  AttentionGraph take();

 private:
  std::size_t layers_;
  std::size_t tokens_;
  ContributionOptions options_;
  ContributionRows rows_;
  AttentionGraph graph_;
  std::vector<std::size_t> seen_;  // queries of each layer that have come
};

// The graph of contributions that were made elsewhere, [layer, query, key], not negative: rows are divided by their
// sums, one of zeros becomes the identity's, and removal is as above. Throws Error(kBadFile) for numbers that are
// negative or not finite and for arrays of another shape, Error(kUsage) for positions that are out of range.
AttentionGraph contribution_graph(TensorView<const double> contributions, const ContributionOptions& options);

// How far the terms of a whole layer are from complete: the largest |y_i - x_i - sum_j T_ij - b| over the largest
// |y_i|, over all numbers of all positions. About 1e-6 for what a float32 engine hands over. `bias`: b, [hidden], which
// block_scale multiplies, too; without, the mean over positions of what is left takes its place (one position then
// proves nothing). O(H n^2 w + n d^2), float64, one thread. Throws Error(kOther) for a chunk of a layer, or shapes that
// do not fit each other.
double completeness_error(const LayerTerms& terms, std::span<const float> bias = {});

}  // namespace attnflow

#endif  // ATTNFLOW_GRAPH_CONTRIBUTION_MIXING_H_
