// From attention weights to a report, without a model: what --attention and the Python package do.
#ifndef ATTNFLOW_EXPLAIN_EXPLAIN_ATTENTION_H_
#define ATTNFLOW_EXPLAIN_EXPLAIN_ATTENTION_H_

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attnflow/explain/contribution_arrays.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/report/report.h"

namespace attnflow {

using AnyAttentionStack = std::variant<AttentionStack, WideAttentionStack>;

// Attention from elsewhere. tokens: empty, or one entry a position.
struct AttentionInput {
  AnyAttentionStack stack;                // empty where there are contributions alone
  ContributionArrays contributions = {};  // with settings.mixing of contributions
  std::vector<InputToken> tokens;
  std::string name;  // of the file, for titles
};

// [layer, head, query, key], float32 or float64, checked. float64, and rows that were renormalised, stay float64.
// Throws Error(kBadFile), which begins with `source`, for anything that is not attention, or whose rows do not sum to 1
// within kRowSumTolerance unless options.renormalize or options.any_weights say what to do.
AnyAttentionStack attention_stack(std::variant<Tensor<float>, Tensor<double>> weights, std::string_view source,
                                  const ExplainOptions& options);

// Sets input.tokens, of which nothing is known where `texts` or `special` are empty. Throws Error(kBadFile) for another
// number of either than the input has positions.
void set_tokens(AttentionInput& input, const std::vector<std::string>& texts, const std::vector<bool>& special,
                std::string_view source);

// Throws Error(kUsage) for options that exclude each other, whatever the attention is.
void check_attention_options(const ExplainOptions& options);

// Throws Error(kUsage) for settings that need a text or a model, or that do not fit the input.
Report explain_attention(AttentionInput input, const ExplainOptions& given);

}  // namespace attnflow

#endif  // ATTNFLOW_EXPLAIN_EXPLAIN_ATTENTION_H_
