// Makes a report from attention weights without a model, for --attention and the Python package.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/running_source.h"
#include "attnflow/explain/contribution_arrays.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/explain/fill_report.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/graph/relevance_mixing.h"
#include "attnflow/report/report.h"

namespace attnflow {

using AnyAttentionStack = std::variant<AttentionStack, WideAttentionStack>;

// Attention with heads fused layer by layer on arrival: O(L n^2) memory instead of O(L H n^2).
struct FusedAttention {
  std::vector<Tensor<double>> layers;  // fuse_heads() of each
  std::size_t heads = 0;
  bool causal = true;       // no head of any layer attends to later positions
  ZeroRows zero_rows = {};  // of options.renormalize
};

// Attention whose layers were multiplied on arrival and discarded: O(n^2) memory.
struct RunningAttention {
  RunningSource source;
  std::size_t heads = 0;
  ZeroRows zero_rows = {};  // of options.renormalize
};

// Edges of every layer, made while a model ran: contributions, whose rows sum to 1, or relevance, by settings.mixing.
struct MadeEdges {
  std::vector<PositiveRelevance> layers;  // contributions have weights only
  std::size_t heads = 0;
  bool causal = false;
  std::optional<ReportTarget> target = {};  // the target of relevance
  // For a generation's contributions, [layer][position]: the share of attention on position 0, mean over heads.
  std::vector<std::vector<double>> first_shares = {};
};

// MadeEdges::first_shares for one layer, [head, query, key].
std::vector<double> first_shares(TensorView<const float> attention);
std::vector<double> first_shares(TensorView<const double> attention);

// External attention: one of stack, fused, running, contributions and edges, or both stack and edges. tokens: empty, or
// one per position.
struct AttentionInput {
  AnyAttentionStack stack;                // empty for contributions alone
  ZeroRows zero_rows = {};                // for the stack, with options.renormalize
  ContributionArrays contributions = {};  // with a contribution mixing
  std::vector<InputToken> tokens;
  std::string name;  // file name, for titles
  FusedAttention fused = {};
  std::optional<RunningAttention> running = {};
  MadeEdges edges = {};
  // For a model that read a text: the text that contains the tokens, the model's architecture and its predictions.
  std::optional<std::string> text = {};
  std::string text_pair = {};  // the text of segment 1
  std::string architecture = {};
  std::vector<ReportPrediction> predictions = {};
  std::vector<Note> notes = {};  // on the making of the attention
  // The position at which a decoder reads a text's class, if not the last: the default output token.
  std::optional<std::size_t> reading = {};
};

// Checks [layer, head, query, key] weights. float64 and renormalized rows stay float64. Throws Error(kBadFile), which
// begins with `source`, for invalid attention, or rows whose sum is not 1 within kRowSumTolerance unless
// options.renormalize or options.any_weights is set. `zeros` receives the zero rows that renormalization made rows of
// the identity.
AnyAttentionStack attention_stack(std::variant<Tensor<float>, Tensor<double>> weights, std::string_view source,
                                  const ExplainOptions& options, ZeroRows& zeros);

void note_zero_rows(const ZeroRows& zeros, std::vector<Note>& notes);

// Whether FusedAttention suffices for the options.
bool can_fuse(const ExplainOptions& options);

// Checks one layer, [1, head, query, key], as attention_stack() does, and fuses its heads. `layer` is 1-based.
FusedAttention fused_layer(std::variant<Tensor<float>, Tensor<double>> weights, std::size_t layer,
                           std::string_view source, const ExplainOptions& options);

// Returns a RunningAttention if the options need only raw attention and rollout, of some layers or one output token, no
// graph and nothing known only after all layers (masked columns, discard). `layers`: how many will come; 0: unknown.
std::optional<RunningAttention> running_attention(const ExplainOptions& options, std::size_t layers = 0);

// The graph for rollout and flow. Consumes the layers.
AttentionGraph attention_graph(FusedAttention& fused, const MixingOptions& mixing);

// Appends layers. Throws Error(kBadFile) if their shapes differ.
void append(FusedAttention& all, FusedAttention more, std::string_view source);
void append(RunningAttention& all, FusedAttention more, std::string_view source);

// Sets input.tokens; either list may be empty. Throws Error(kBadFile) if its size differs from the number of positions.
void set_tokens(AttentionInput& input, const std::vector<std::string>& texts, const std::vector<bool>& special,
                std::string_view source);

void check_attention_options(const ExplainOptions& options);

// Starts a report from the input, whose tokens, texts, predictions and notes it takes.
Report begin_report(AttentionInput& input, const ExplainOptions& options);

// Calls resolve_question() for a report that has its model and tokens.
ReportQuestion question_of(Report& report, const AttentionInput& input, const ExplainOptions& options);

// Throws Error(kUsage) for settings that need a text or a model, or that do not fit the input.
Report explain_attention(AttentionInput input, const ExplainOptions& given);

}  // namespace attnflow
