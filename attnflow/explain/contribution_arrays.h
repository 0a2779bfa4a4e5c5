// Contributions from array files: finished ones, or the terms of the layers to compute them from.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "attnflow/files/array_file.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Either contributions or terms; missing arrays are empty. G key-value heads, which divides the number of heads.
struct ContributionArrays {
  Tensor<double> contributions;     // [layer, query, key], with the residual on the diagonal
  Tensor<float> values;             // [layer, position, G, width]
  Tensor<float> output_projection;  // [layer, head, width, hidden]
  Tensor<float> residual;           // [layer, position, hidden]
  Tensor<float> output;             // [layer, position, hidden]; empty: sum of the other terms
};

// Throws Error(kBadFile), which begins with `source`, unless contributions are [layer, query, key].
Tensor<double> checked_contributions(Tensor<double> contributions, std::string_view source);

// Reads the arrays by name; has(name): whether the file has it. Throws Error(kBadFile) if only some of the terms exist,
// if there are neither terms nor contributions, and for arrays that are not numeric.
ContributionArrays read_contribution_arrays(const std::string& path, const std::function<bool(const char*)>& has,
                                            const std::function<Array(const char*)>& read);

// The error for contributions without attention whose mixing is not named.
Error unnamed_contributions(const std::string& path);

// Builds the graph. `attention` [layer, head, query, key] is for terms. Layers are whole, with norms before the block.
// Throws Error(kBadFile) for mismatched shapes, and as ContributionGraphSink and contribution_graph() do.
AttentionGraph graph_of_arrays(const ContributionArrays& arrays, TensorView<const float> attention,
                               const ContributionOptions& options);

}  // namespace attnflow
