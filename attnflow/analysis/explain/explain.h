// The facade: an input and options in, a report out.
//
// One path serves every source of attention. A model, or an array file, gives an AttentionStack or its fused matrices;
// from there on nothing knows where they came from, so `explain --attention` on a dump of a model's attention gives the
// same numbers as the model, to the bit.
#ifndef ATTNFLOW_ANALYSIS_EXPLAIN_EXPLAIN_H_
#define ATTNFLOW_ANALYSIS_EXPLAIN_EXPLAIN_H_

#include <cstddef>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <string>
#include <variant>
#include <vector>

#include "attnflow/analysis/explain/contribution_arrays.h"
#include "attnflow/base/progress.h"
#include "attnflow/graph/attention_stack.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// Flow of all pairs is computed up to this many tokens; above it, only for the chosen output token unless all are
// asked.
inline constexpr std::size_t kMaxTokensForAllFlows = 128;

struct ExplainOptions {
  Settings settings;               // what to compute; `layers` empty: all above start_layer
  bool keep_attention = false;     // Report::attention is filled
  bool only_output_token = false;  // decoders: the row of one output token, without matrices (fill_report.h)
  std::vector<std::string>
      certificates;                     // "OUT,IN": pairs whose flow is proven, from the last layer down to start_layer
  bool truncate = false;                // text that is too long for the model is cut instead of refused
  std::vector<std::string> candidates;  // words whose probability at the mask is reported
  std::vector<std::string> referents;   // words of the text whose weights are compared (analysis/explain/referents.h)
  // Positions whose tokens the model sees as its unknown token (else its mask): what is then said, and by what?
  std::vector<std::size_t> blank;
  std::size_t integration_steps = 50;  // of integrated gradients: how many points on the way from the blank input
  bool renormalize = false;            // array files: rows are divided by their sums
  bool any_weights = false;            // array files: rows need not sum to 1
  std::size_t threads = 0;             // 0: one per hardware thread
  std::size_t max_memory = 0;          // bytes of the report's matrices; 0: what the machine has
  ProgressFunction progress = {};      // of the flow computation, in input tokens
  std::stop_token stop_token = {};
};

// Runs the model on the text, and on its pair when there is one; with settings.mixing of gradients a second time,
// forward and back.
// Throws Error(kUsage) for text without tokens or options out of range, Error(kBadFile) for a tokenizer that does not
// fit the model, Error(kInputTooLong), Error(kUnsupportedModel) for gradients of a model that has none.
Report explain_text(TextModel& model, const TextCodec& tokenizer, const std::string& text,
                    const std::optional<std::string>& pair, const ExplainOptions& given);

// Attention from elsewhere. tokens: empty, or one entry a position.
struct AttentionInput {
  std::variant<AttentionStack, WideAttentionStack> stack;  // empty where the file holds contributions alone
  ContributionArrays contributions = {};                   // with settings.mixing of contributions
  std::vector<InputToken> tokens;
  std::string name;  // of the file, for titles
};

// Reads .npz (key "attention", and with a mixing of contributions those of explain_contributions.h; optional "tokens"
// and "special"), .npy (just the array) or .safetensors (tensor "attention"). Any float type; float64, and rows that
// were renormalised, stay float64. Throws Error(kBadFile) for anything that is not attention, or whose rows do not sum
// to 1 within kRowSumTolerance unless options.renormalize or options.any_weights say what to do.
AttentionInput read_attention(const std::filesystem::path& path, const ExplainOptions& options);

Report explain_attention(AttentionInput input, const ExplainOptions& given);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EXPLAIN_EXPLAIN_H_
