// Contributions out of array files: finished, or made of the terms of the layers that a file holds.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "attnflow/files/array_file.h"
#include "attnflow/graph/contribution_mixing.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Either contributions, or the terms; what a file does not hold is empty. G key-value heads, which divide those of the
// attention.
struct ContributionArrays {
  Tensor<double> contributions;     // [layer, query, key], the residual on the diagonal
  Tensor<float> values;             // [layer, position, G, width]
  Tensor<float> output_projection;  // [layer, head, width, hidden]
  Tensor<float> residual;           // [layer, position, hidden]
  Tensor<float> output;             // [layer, position, hidden]; empty: the sum of the other terms
};

// Finished contributions. Throws Error(kBadFile), which begins with `source`, unless they are [layer, query, key].
Tensor<double> checked_contributions(Tensor<double> contributions, std::string_view source);

// Reads the arrays of these names. has(name): whether the file has it. Throws Error(kBadFile) when some of the terms
// are there and others are not, when there are neither terms nor contributions, and for arrays that are no numbers.
ContributionArrays read_contribution_arrays(const std::string& path, const std::function<bool(const char*)>& has,
                                            const std::function<Array(const char*)>& read);

// Contributions without attention, and no word of what they are.
Error unnamed_contributions(const std::string& path);

// The graph of either. `attention` [layer, head, query, key]: for terms. Layers come whole, their norms before the
// block. Throws Error(kBadFile) for shapes that do not fit each other, and as ContributionGraphSink and
// contribution_graph().
AttentionGraph graph_of_arrays(const ContributionArrays& arrays, TensorView<const float> attention,
                               const ContributionOptions& options);

}  // namespace attnflow
