// Every method's values for the tokens of one sample: over each mixing at each layer, and outside the graph
// (evaluate_correlations.h). A SampleReader is made once and used from several threads.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/evaluate/evaluate_correlations.h"
#include "attnflow/analysis/evaluate/evaluate_scores.h"
#include "attnflow/analysis/evaluate/mixed_graphs.h"
#include "attnflow/analysis/text/blank_token.h"
#include "attnflow/metrics/relevance.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// row, column-max or column-sum; nothing for other names.
std::optional<RelevanceKind> find_relevance(const std::string& name);

// The rows of the tables, in their order. Layers and mixings are resolved.
std::vector<CorrelationSeries> correlation_series(const CorrelationOptions& options);

struct SampleRelevance {
  std::size_t output_token = 0;
  std::vector<Relevance> relevance;          // [relevance][series][layer]
  std::vector<double> own;                   // [mixing][method][layer]: V[i, i] of the output token i
  std::vector<MixingDegeneracy> degeneracy;  // [mixing][layer], of flow
};

class SampleReader {
 public:
  // The arguments must outlive the reader. Throws Error(kUnsupportedModel) for methods that the model does not support,
  // Error(kUsage) for integrated-gradients without a blank token.
  SampleReader(Encoder& model, const TextCodec& tokenizer, const CorrelationOptions& options);

  // For a sample whose prediction is known. Throws as mixed_graphs(), attribute() and method_scores() do. Same bits
  // whatever the number of threads.
  SampleRelevance read(const EncodedSample& sample) const;

  // Makes the graph of one mixing, to see whether the model supports it.
  void attempt(const EncodedSample& sample, Mixing mixing) const;

 private:
  MixedGraphs graphs(const EncodedSample& sample, const std::vector<Mixing>& mixings) const;
  Relevance beside(Method method, const EncodedSample& sample) const;

  Encoder& model_;
  const CorrelationOptions& options_;
  std::vector<RelevanceKind> kinds_;
  std::vector<Method> aggregations_;
  std::vector<Method> beside_;
  std::optional<BlankToken> blank_;  // that integrated gradients start from
};

}  // namespace attnflow
