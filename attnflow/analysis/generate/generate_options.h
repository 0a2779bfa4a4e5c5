// The options of a generation with attribution (generate.h).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/attribution/option.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/base/progress.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/model/sampling.h"
#include "attnflow/text/token_filter.h"

namespace attnflow {

struct GenerationStart;
struct GenerationStep;

struct GenerateOptions {
  // Used: method, heads, residual, mask_columns, layers, start_layer, words, flow_tolerance, top_k; normalize: none or
  // receptive-field (values in addition to the plain ones); layers empty: all above start_layer.
  Settings settings;
  std::size_t tokens = 64;  // n, at most
  SamplingOptions sampling;
  std::vector<std::size_t> begin_with;  // ids of the first generated tokens, whatever the model would choose
  // All tokens of a text that was generated elsewhere: explained as the model's own choice, none is chosen here.
  std::vector<std::size_t> made;
  std::string made_stopped;                       // why that text ended, as Generation::stopped
  bool chat = false;                              // the prompt is the user's turn of a conversation (chat_prompt.h)
  std::optional<std::string> system;              // with chat: the system's turn before it
  bool keep_template = false;                     // with chat: rank what the template wrote, too
  bool ignore_end = false;                        // continue past a token that ends the text
  bool generated_columns = false;                 // keep the values on generated tokens too; encoder-decoders do
  std::vector<std::size_t> flow_tokens;           // generated tokens whose flow is wanted; empty: all
  std::vector<std::size_t> check_tokens;          // generated tokens that are checked; empty: those that are cheap
  std::vector<std::size_t> flow_layers;           // layers that flow starts from; empty: the last of settings.layers
  TokenFilterOptions filter;                      // prompt tokens (words where merged) to exclude from rankings
  std::size_t choices = 5;                        // most probable tokens that are kept for each generated one
  std::size_t threads = 0;                        // of rollout and flow; 0: one per hardware thread
  std::size_t max_memory = 0;                     // bytes of rows and report; 0: what the machine has
  std::function<void(std::string_view)> on_text;  // text as it comes, whole characters
  // For observers: once before the first token, then for each token at once. With rollout a step computes the rows of
  // its position, which otherwise wait for others (rollout/incremental_rollout.h).
  std::function<void(const GenerationStart&)> on_start = {};
  std::function<void(const GenerationStep&)> on_token = {};
  bool as_it_runs = false;  // Mixing::kAuto stands for edges that a step can show, not for relevance
  std::size_t integration_steps = kIntegrationSteps;  // on the way from the blank input
  ProgressFunction reading = {};                      // of the model's pass over the prompt, in tokens
  ProgressFunction generating = {};                   // of the text, in generated tokens
  ProgressFunction progress = {};                     // of relevance, then flow, then scores, in generated tokens
  PhaseStart phases = {};                             // of check_tokens
  std::stop_token enough = {};                        // ends the text; what is there is analyzed as usual
  std::stop_token stop_token = {};                    // ends the generation; what is there is kept
};

std::span<const Option<GenerateOptions>> generate_options();

// Throws Error(kUsage) for options that do not fit whatever the model (no tokens, one head with rollout or flow,
// discard), for callers that would first spend seconds on loading one.
void check_generate_options(const GenerateOptions& options);

}  // namespace attnflow
