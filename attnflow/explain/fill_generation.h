// From attention to the numbers of a generation, whoever ran the model: the rows of the positions that chose the
// generated tokens (report/report.h, Generation).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/attribution/query.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/attribution/source.h"
#include "attnflow/base/progress.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Where the values of each generated token come from.
using GenerationSources = std::vector<std::shared_ptr<AttentionSource>>;

struct GenerationQuestion {
  std::size_t prompt_tokens = 0;  // m, before words are merged
  TokenGroups words = {};         // of the prompt, where they are merged
  GenerationSources sources = {};
  // The share of W_l[position], as the mean over heads before any step, that falls on position 0. `layer` from 1. Empty
  // of an encoder-decoder, whose source gathers no attention on its first token.
  std::function<double(std::size_t layer, std::size_t position)> first_share = {};
  bool generated_columns = false;             // keep the values on generated tokens too
  std::vector<std::size_t> flow_tokens = {};  // generated tokens whose flow is wanted; empty: all
  std::size_t threads = 0;                    // 0: one per hardware thread
  ProgressFunction progress = {};             // of flow, in generated tokens
  std::stop_token stop_token = {};
};

// Throws Error(kUsage) for settings that no generation takes.
void check_generation_settings(const Settings& settings);

// The question what the output at `position` depends on by one method: on columns of the prompt, which are words where
// they are merged, and with `all_columns` on the generated tokens before it.
Query generation_query(Method method, std::size_t prompt_tokens, const TokenGroups& words, const Report& report,
                       std::size_t position, bool all_columns);

// Sets the layers that flow, where it is wanted, starts from: those asked for, else the last of settings.layers. Throws
// as resolve_layers().
void set_flow_layers(Report& report, const std::vector<std::size_t>& asked);

// Leaves flow out of a report.
void drop_flow(Report& report);

// Sets the output tokens: the positions that chose the generated tokens.
void place_outputs(Report& report);

// Fills arrays and notes of a report that has its settings, input, generated tokens, output tokens and, for flow,
// flow_layers. Throws Cancelled; flow that is stopped is left out, with a note.
void fill_generation(Report& report, const GenerationQuestion& question);

}  // namespace attnflow
