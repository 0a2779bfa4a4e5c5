// explain_attention() for mixings of contributions.
#ifndef ATTNFLOW_EXPLAIN_EXPLAIN_CONTRIBUTIONS_H_
#define ATTNFLOW_EXPLAIN_EXPLAIN_CONTRIBUTIONS_H_

#include "attnflow/explain/explain_attention.h"

namespace attnflow {

// Throws as graph_of_arrays(), and Error(kUsage) for --keep-attention of a file that holds none.
Report explain_contributions(AttentionInput input, const ExplainOptions& options);

}  // namespace attnflow

#endif  // ATTNFLOW_EXPLAIN_EXPLAIN_CONTRIBUTIONS_H_
