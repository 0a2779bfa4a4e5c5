// Makes a report from attention weights without a model, for --attention and the Python package.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/running_layers.h"
#include "attnflow/explain/contribution_arrays.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/relevance_mixing.h"
#include "attnflow/report/report.h"

namespace attnflow {

using AnyAttentionStack = std::variant<AttentionStack, WideAttentionStack>;

// External attention: a stack, running layers, or contributions, beside which a stack may be. tokens: empty, or one per
// position.
struct AttentionInput {
  AnyAttentionStack stack;                // empty for contributions alone
  ZeroRows zero_rows = {};                // with options.renormalize
  ContributionArrays contributions = {};  // with a contribution mixing
  std::vector<InputToken> tokens;
  std::string name;  // file name, for titles
  std::optional<RunningLayers> running = {};
};

// Checks [layer, head, query, key] weights. float64 and renormalized rows stay float64. Throws Error(kBadFile), which
// begins with `source`, for invalid attention, or rows whose sum is not 1 within kRowSumTolerance unless
// options.renormalize or options.any_weights is set. `zeros` receives the zero rows that renormalization made rows of
// the identity.
AnyAttentionStack attention_stack(std::variant<Tensor<float>, Tensor<double>> weights, std::string_view source,
                                  const ExplainOptions& options, ZeroRows& zeros);

void note_zero_rows(const ZeroRows& zeros, std::vector<Note>& notes);

// Checks the next layer of input.running, [1, head, query, key], as attention_stack() does, and adds it.
void append(AttentionInput& input, std::variant<Tensor<float>, Tensor<double>> weights, std::string_view source,
            const ExplainOptions& options);

// Checks one layer, [head, query, key], as attention_stack() does. Returns the rows divided by their sums with
// options.renormalize, else an empty tensor.
Tensor<float> checked_layer(TensorView<const float> attention, std::size_t layer, std::string_view source,
                            const ExplainOptions& options, ZeroRows& zeros);

// Returns what takes the layers one by one if the options need only raw attention and rollout, of some layers or one
// output token, no graph and nothing known only after all layers (masked columns, discard). `layers`: how many will
// come; 0: unknown.
std::optional<RunningLayers> running_layers(const ExplainOptions& options, std::size_t layers = 0);

// Sets input.tokens; either list may be empty. Throws Error(kBadFile) if its size differs from the number of positions.
void set_tokens(AttentionInput& input, const std::vector<std::string>& texts, const std::vector<bool>& special,
                std::string_view source);

void check_attention_options(const ExplainOptions& options);

// Throws Error(kUsage) for settings that need a text or a model, or that do not fit the input.
Report explain_attention(AttentionInput input, const ExplainOptions& given);

}  // namespace attnflow
