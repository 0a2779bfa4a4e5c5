// Rollout while a decoder generates: one new row per layer for each new token.
//
// Problem. A decoder has read m input tokens and continues token by token. How much of each new position p comes from
// each input token, in every layer, without recomputing earlier positions?
//
// Definition. In a causal model a position draws only on itself and earlier positions, so rows of rollout never change,
// and row p of R[l] = A_l R[l-1] (rollout.h) is a sum over stored rows:
//
//     R[l][p] = rho R[l-1][p] + (1 - rho) sum over j <= p of W_l[p, j] R[l-1][j],      R[0][p] = e_p.
//
// Method. This is a sink: a model passes it the attention of new rows, in chunks of queries, all layers of a chunk
// before the next chunk (attention_sink.h). Rows of the layers below L are kept for later positions. To read these less
// often, single rows of weights wait until there are kBatchRows of them or until row() is called.
//
// Source. The first `source` positions may attend to each other, including later ones: an encoder-decoder's source, in
// one sequence with the target (Model::info().target). They come in one chunk, with sums over j < source.
//
// Columns. The columns of the first `columns` positions (the prompt) are kept, or those of all.
//
// Cost. With m columns, a token at position p costs O(L p m) operations and L m new float64 numbers; the prompt's own
// rows take L m^2 / 2 numbers, and waiting rows at most kBatchRows L p. IncrementalRollout::bytes gives the total in
// advance. The recurrence does not need rows of layer L; those from `first_row` on are kept as results.
//
// Exactness. float64, with sums over blocks of 64 stored rows: equal to rollout() up to rounding (1e-12 in the tests),
// and to the bit for any number of threads, division into chunks and time of requests.
//
// Example:
//
//     IncrementalRollout sink({.layers = 6, .columns = 4});   // for a prompt of 4 tokens
//     decoder_stack.send_to(sink);                            // a model: the prompt, then each new token
//     const std::span<const double> shares = sink.row(6, 5);  // position 5 after layer 6 <- prompt token j: shares[j]
//     assert(sink.tokens() == 6 && shares.size() == 4);
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attnflow/graph/attention_sink.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct IncrementalRolloutOptions {
  std::size_t layers = 0;     // L
  std::size_t columns = 0;    // input positions whose share is kept; 0: all
  std::size_t first_row = 0;  // rows of the last layer are kept from this position on
  std::size_t source = 0;     // the first positions, which attend to each other
  MixingOptions mixing = {};  // no single head (its layers have two matrices), no discard (it needs whole layers)
  std::size_t threads = 1;
};

class IncrementalRollout : public AttentionSink {
 public:
  // Rows computed together when a model passes fewer at a time.
  static constexpr std::size_t kBatchRows = 16;

  // Throws Error(kUsage) for zero layers, a single head, discard, or a residual outside [0, 1].
  explicit IncrementalRollout(IncrementalRolloutOptions options);

  // Chunks must be consecutive: query_begin is the number of rows that the layer has. Throws Error(kOther) otherwise,
  // and Error(kBadFile) for weights that are negative or not finite.
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override;

  // Likewise for weights of a chunk from fused_rows(), [query, key], with this rollout's mixing.
  void fused_layer(std::size_t layer, std::size_t query_begin, TensorView<const double> weights);

  std::size_t tokens() const { return layers_.back().seen; }
  // Returns R[layer][position]: the shares of the input positions 0 ... min(columns, those it attends to) - 1. `layer`
  // counts from 1; the last layer has rows from first_row on. Valid until the next call of layer(). Computes the
  // waiting rows, so only one thread at a time may call it. Throws Error(kUsage) for a layer that does not exist, and a
  // position whose row is not kept or whose weights have not arrived.
  std::span<const double> row(std::size_t layer, std::size_t position) const;

  // Bytes of the stored rows for `prompt` tokens and `generated` more.
  static std::size_t bytes(const IncrementalRolloutOptions& options, std::size_t prompt, std::size_t generated);

 private:
  // A dense block of one layer's rows, each as wide as the last.
  struct Block {
    std::size_t width = 0;
    std::vector<double> values;  // [rows, width]
  };
  struct Layer {
    std::size_t begin = 0;  // position of the first kept row
    std::size_t seen = 0;   // positions whose weights have arrived
    std::size_t rows = 0;   // positions whose rows have been computed
    std::vector<Block> blocks;
    // Weights of the positions between `rows` and `seen`, over all positions that each attends to.
    std::vector<double> waiting;
  };
  struct NewRow {
    std::size_t position = 0;
    const double* weights = nullptr;  // [seen_by(position)]
    double* out = nullptr;
  };

  std::size_t seen_by(std::size_t position) const;
  std::size_t width_of(std::size_t position) const;
  double* append_row(Layer& layer, std::size_t position) const;
  const double* find_row(const Layer& layer, std::size_t position) const;
  void compute(std::size_t layer, const std::vector<NewRow>& rows) const;  // at least one
  void compute_waiting() const;

  IncrementalRolloutOptions options_;
  mutable std::vector<Layer> layers_;  // [L + 1]: the input first, which stores nothing
};

}  // namespace attnflow
