// From attention weights to a report, without a model: what --attention and the Python package do.
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

// Attention whose heads were fused layer by layer as it came: O(L n^2) memory instead of O(L H n^2).
struct FusedAttention {
  std::vector<Tensor<double>> layers;  // fuse_heads() of each
  std::size_t heads = 0;
  bool causal = true;       // no head of any layer looks ahead
  ZeroRows zero_rows = {};  // of options.renormalize
};

// Attention whose layers were multiplied as they came, and forgotten: O(n^2) memory.
struct RunningAttention {
  RunningSource source;
  std::size_t heads = 0;
  ZeroRows zero_rows = {};  // of options.renormalize
};

// Edges of every layer, made while a model ran: W of its contributions, whose rows sum to 1, or of relevance. Which of
// both settings.mixing says.
struct MadeEdges {
  std::vector<PositiveRelevance> layers;  // of contributions the weights alone
  std::size_t heads = 0;
  bool causal = false;
  std::optional<ReportTarget> target = {};  // what relevance is for
  // Of contributions of a generation, [layer][position]: the share of attention on position 0, as the mean over heads.
  std::vector<std::vector<double>> first_shares = {};
};

// MadeEdges::first_shares of a layer, [head, query, key].
std::vector<double> first_shares(TensorView<const float> attention);
std::vector<double> first_shares(TensorView<const double> attention);

// Attention from elsewhere. tokens: empty, or one entry a position. There is one of stack, fused, running,
// contributions and edges; stack may stand beside edges.
struct AttentionInput {
  AnyAttentionStack stack;                // empty where there are contributions alone
  ZeroRows zero_rows = {};                // of the stack, with options.renormalize
  ContributionArrays contributions = {};  // with settings.mixing of contributions
  std::vector<InputToken> tokens;
  std::string name;  // of the file, for titles
  FusedAttention fused = {};
  std::optional<RunningAttention> running = {};
  MadeEdges edges = {};
  // Of a model that read a text: the text, in which the tokens have their places, what the model is, what it said.
  std::optional<std::string> text = {};
  std::string text_pair = {};  // a second text, of tokens of segment 1
  std::string architecture = {};
  std::vector<ReportPrediction> predictions = {};
  std::vector<Note> notes = {};  // on how the attention was made
  // Where a decoder reads the class of a text, if that is not at its end: the output token where none is named.
  std::optional<std::size_t> reading = {};
};

// [layer, head, query, key], float32 or float64, checked. float64, and rows that were renormalised, stay float64.
// Throws Error(kBadFile), which begins with `source`, for anything that is not attention, or whose rows do not sum to 1
// within kRowSumTolerance unless options.renormalize or options.any_weights say what to do. `zeros`: where to put the
// rows of zeros that options.renormalize made those of the identity.
AnyAttentionStack attention_stack(std::variant<Tensor<float>, Tensor<double>> weights, std::string_view source,
                                  const ExplainOptions& options, ZeroRows& zeros);

// The note on such rows, if there are any.
void note_zero_rows(const ZeroRows& zeros, std::vector<Note>& notes);

// Whether options ask for nothing but what FusedAttention holds.
bool can_fuse(const ExplainOptions& options);

// A layer, [1, head, query, key], checked as by attention_stack() and then fused as the options say; `layer`, from 1,
// is its number in messages.
FusedAttention fused_layer(std::variant<Tensor<float>, Tensor<double>> weights, std::size_t layer,
                           std::string_view source, const ExplainOptions& options);

// For the layers of who asks for no more of them than raw attention and rollout of some layers or of one output token,
// without the graph of a report, and for nothing else that is known only when all have come (masked columns, discard).
// `layers`: how many will come; 0: not known.
std::optional<RunningAttention> running_attention(const ExplainOptions& options, std::size_t layers = 0);

// What rollout and flow take of such layers, which are used up.
AttentionGraph attention_graph(FusedAttention& fused, const MixingOptions& mixing);

// Puts layers together. Throws Error(kBadFile) unless they have one shape.
void append(FusedAttention& all, FusedAttention more, std::string_view source);
void append(RunningAttention& all, FusedAttention more, std::string_view source);

// Sets input.tokens, of which nothing is known where `texts` or `special` are empty. Throws Error(kBadFile) for another
// number of either than the input has positions.
void set_tokens(AttentionInput& input, const std::vector<std::string>& texts, const std::vector<bool>& special,
                std::string_view source);

// Throws Error(kUsage) for options that exclude each other, whatever the attention is.
void check_attention_options(const ExplainOptions& options);

// A report of what the input says of itself; takes its tokens, texts, predictions and notes.
Report begin_report(AttentionInput& input, const ExplainOptions& options);

// resolve_question() of it, once the report has its model and as many tokens.
ReportQuestion question_of(Report& report, const AttentionInput& input, const ExplainOptions& options);

// Throws Error(kUsage) for settings that need a text or a model, or that do not fit the input.
Report explain_attention(AttentionInput input, const ExplainOptions& given);

}  // namespace attnflow
