// Options of an explanation, independent of the attention's origin.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/attribution/option.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/base/progress.h"
#include "attnflow/explain/certificates.h"
#include "attnflow/explain/referents.h"

namespace attnflow {

// Flow of all pairs is computed up to this many tokens, else only for the chosen output token unless all are requested.
inline constexpr std::size_t kMaxTokensForAllFlows = 128;

inline constexpr std::size_t kIntegrationSteps = 50;

// When maps that end in a prediction are checked (analysis/check/make_check.h).
enum class CheckWhen { kNever, kIfCheap, kAlways };

inline constexpr std::size_t kReplacements = 8;  // of each token or patch (at most 4), for the check

struct ExplainOptions {
  Settings settings;                          // what to compute; `layers` empty: all above start_layer
  bool keep_attention = false;                // fill Report::attention
  bool only_output_token = false;             // one output token's row; for decoders without matrices (fill_report.h)
  std::vector<CertificatePair> certificates;  // whose flow is proven, from the last layer down to start_layer
  bool only_values = false;                   // only the methods' arrays: Report::graph may stay empty
  std::optional<std::string> target_text;     // an encoder-decoder's target: what its decoder is given
  bool truncate = false;                      // cut text that is too long for the model instead of refusing it
  std::vector<std::string> candidates;        // report these words' probabilities at the mask
  std::vector<AskedReferent> referents;       // compare these words' weights
  // Positions at which the model sees its unknown token (else its mask) instead.
  std::vector<std::size_t> blank;
  std::size_t integration_steps = kIntegrationSteps;  // points between the blank input and the input
  CheckWhen check = CheckWhen::kIfCheap;
  std::size_t check_replacements = kReplacements;  // 0: tokens and patches are blanked
  bool renormalize = false;                        // array files: divide rows by their sums
  bool any_weights = false;                        // array files: rows need not sum to 1
  double max_flow_seconds = 0.0;                   // then flow stops narrowing its intervals; 0: no limit
  std::size_t threads = 0;                         // 0: one per hardware thread
  std::size_t max_memory = 0;                      // bytes, for the report's matrices; 0: all of the machine's
  ProgressFunction progress = {};                  // of flow, in input tokens; with only_output_token also in layers
  ProgressFunction reading = {};  // of the model's own pass, in tokens (for a picture, patches and special tokens)
  // Progress of the backward pass, the methods that do not aggregate, and the check, one phase after another.
  PhaseStart phases = {};
  std::stop_token stop_token = {};
};

// The conversions of the option check.
OptionValue to_value(CheckWhen when);
void from_value(const OptionValue& from, CheckWhen& when);

// Without the settings (attribution/setting_options.h).
std::span<const Option<ExplainOptions>> explain_options();

// With only_output_token, computes flow only if methods are named: it needs the memory that the option saves.
void leave_out_flow(ExplainOptions& options, bool names_methods);

// Throws Error(kUsage) for options that are wrong whatever the input: as validate() does; for merged words with kept
// attention or certificates, for only_output_token with options that need more than one row (certificates, kept
// attention, all output tokens), and for an invalid time limit.
void check_options(const ExplainOptions& options);

}  // namespace attnflow
