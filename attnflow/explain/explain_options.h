// What is asked of an explanation, whatever gives the attention.
#pragma once

#include <cstddef>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/attribution/option.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/base/progress.h"

namespace attnflow {

// Flow of all pairs is computed up to this many tokens; above it, only for the chosen output token unless all are
// asked.
inline constexpr std::size_t kMaxTokensForAllFlows = 128;

// Points that integrated gradients take, unless others are asked for.
inline constexpr std::size_t kIntegrationSteps = 50;

struct ExplainOptions {
  Settings settings;               // what to compute; `layers` empty: all above start_layer
  bool keep_attention = false;     // Report::attention is filled
  bool only_output_token = false;  // the row of one output token; of decoders without matrices (fill_report.h)
  std::vector<std::string>
      certificates;                     // "OUT,IN": pairs whose flow is proven, from the last layer down to start_layer
  bool only_values = false;             // of the report the methods' arrays alone: Report::graph may stay empty
  bool truncate = false;                // text that is too long for the model is cut instead of refused
  std::vector<std::string> candidates;  // words whose probability at the mask is reported
  std::vector<std::string> referents;   // words of the text whose weights are compared (explain/referents.h)
  // Positions whose tokens the model sees as its unknown token (else its mask): what is then said, and by what?
  std::vector<std::size_t> blank;
  std::size_t integration_steps = kIntegrationSteps;  // on the way from the blank input
  // Maps of attention that end in a prediction are checked against blank-out (explain/blank_out_agreement.h).
  bool check = true;
  bool renormalize = false;        // array files: rows are divided by their sums
  bool any_weights = false;        // array files: rows need not sum to 1
  double max_flow_seconds = 0.0;   // after which flow leaves its intervals as they are; 0: no limit
  std::size_t threads = 0;         // 0: one per hardware thread
  std::size_t max_memory = 0;      // bytes of the report's matrices; 0: what the machine has
  ProgressFunction progress = {};  // of the flow computation, in input tokens; with only_output_token also in layers
  ProgressFunction reading = {};   // of the model's own pass, in tokens (of a picture: patches and what stands by them)
  // Progress of the pass back, of the methods beside the graph and of the check, one phase after another.
  PhaseStart phases = {};
  std::stop_token stop_token = {};
};

// The table of its options, but for the settings (attribution/setting_options.h).
std::span<const Option<ExplainOptions>> explain_options();

// With only_output_token flow, which is among the usual methods and takes what that option saves, is computed only
// where methods are named.
void leave_out_flow(ExplainOptions& options, bool names_methods);

// Throws Error(kUsage) where word pieces are merged and the attention between them is to be kept, where
// only_output_token meets options that need more than one row (certificates, kept attention, all output tokens), and
// for a time that is none.
void check_options(const ExplainOptions& options);

}  // namespace attnflow
