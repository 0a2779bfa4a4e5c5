// The attention that a generation keeps, and the sources of what its tokens depend on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/source.h"
#include "attnflow/base/parallel_for.h"
#include "attnflow/graph/attention_mask.h"
#include "attnflow/graph/attention_sink.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/rollout/incremental_rollout.h"

namespace attnflow::internal {

struct GenerationSinkOptions {
  std::size_t layers = 0;
  std::size_t start_layer = 0;
  std::size_t first_row = 0;  // m - 1: the first position that chooses a token
  std::size_t source = 0;     // the first positions, which see one another: an encoder-decoder's source
  AttentionMask mask = true;  // causal, or with the source
  std::size_t columns = 0;    // of rollout; 0: all
  MixingOptions mixing;
  std::optional<ContributionOptions> contributions = {};  // in place of attention; their residual is that of `mixing`
  bool rollout = true;
  std::size_t graph_tokens = 0;  // positions of the graph that is kept for flow; 0: none
  std::size_t threads = 1;
};

class GenerationSink : public AttentionSink {
 public:
  explicit GenerationSink(const GenerationSinkOptions& options);
  void layer(std::size_t layer, std::size_t query_begin, TensorView<const float> attention) override;
  bool wants_terms() const override { return contributions_.has_value(); }
  void terms(const LayerTerms& terms) override;

  // W_l[position], [position + 1]. `layer` from 1, position from first_row on.
  std::span<const double> raw(std::size_t layer, std::size_t position) const;
  // The share of W_l[position], as the mean over heads before any step, that falls on position 0.
  double first_share(std::size_t layer, std::size_t position) const;
  // The rows so far: of positions from first_row on, those of rollout of layers above start_layer. The sink must
  // outlive it.
  RowsSource source() const;

  // Bytes that the rows take for `prompt` tokens and `generated` more.
  static std::size_t bytes(const GenerationSinkOptions& options, std::size_t prompt, std::size_t generated);

 private:
  struct Row {
    std::vector<double> weights;
    double first_share = 0.0;
  };

  bool keeps(std::size_t layer, std::size_t query_end) const;
  void keep(std::size_t layer, std::size_t query_begin, TensorView<const float> attention,
            const Tensor<double>& weights);

  GenerationSinkOptions options_;
  std::optional<ContributionRows> contributions_;
  std::vector<std::vector<Row>> rows_;  // [layer][position - first_row]
  std::optional<IncrementalRollout> rollout_;
  AttentionGraph graph_;
};

// The graphs of generated tokens by relevance (graph/relevance_mixing.h), one for each token's prediction. `written`:
// prompt and generated tokens. Each target's position chose its token and sees the ids up to it, as does its source;
// sources are in the order of targets. The backend may share passes among them; a target costs at most about four
// over its positions, and O(L n^2) memory. Progress is in targets. Throws as Gradients::attention_gradients(), and
// Cancelled.
std::vector<std::shared_ptr<AttentionSource>> relevance_sources(ModelOf<TextInput>& model, const TextInput& written,
                                                                const std::vector<ReportTarget>& targets,
                                                                const ResolvedMixing& mixing,
                                                                const ParallelOptions& parallel,
                                                                std::vector<Note>& notes);

}  // namespace attnflow::internal
