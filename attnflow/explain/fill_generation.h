// Computes a generation's numbers, whoever ran the model: the rows of the positions that chose the generated tokens
// (report/report.h, Generation).
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

using GenerationSources = std::vector<std::shared_ptr<AttentionSource>>;

struct GenerationQuestion {
  std::size_t prompt_tokens = 0;  // m, before words are merged
  TokenGroups words = {};         // the prompt's, if merged
  GenerationSources sources = {};
  // The share of W_l[position], as the mean over heads before any step, on position 0. `layer` counts from 1. Empty for
  // an encoder-decoder, whose source gathers no attention on its first token.
  std::function<double(std::size_t layer, std::size_t position)> first_share = {};
  // The sum of W_l[position] over attention without a mask: less than 1 with learned sinks. Empty: unknown.
  std::function<double(std::size_t layer, std::size_t position)> token_share = {};
  bool generated_columns = false;             // also keep values on generated tokens
  std::vector<std::size_t> flow_tokens = {};  // generated tokens to compute flow for; empty: all
  std::size_t threads = 0;                    // 0: one per hardware thread
  ProgressFunction progress = {};             // of flow, in generated tokens
  std::stop_token stop_token = {};
};

void check_generation_settings(const Settings& settings);

// The query for the output at `position` by one method: on the prompt's columns (words, if merged) and, with
// `all_columns`, the generated tokens before it.
Query generation_query(Method method, std::size_t prompt_tokens, const TokenGroups& words, const Report& report,
                       std::size_t position, bool all_columns);

// Sets the layers that flow, if requested, starts from: `asked`, else the last. Throws as resolve_layers() does.
void set_flow_layers(Report& report, const std::vector<std::size_t>& asked);

void drop_flow(Report& report);

// Sets the output tokens to the positions that chose the generated tokens.
void place_outputs(Report& report);

// Fills arrays and notes of a report that has its settings, input, generated tokens, output tokens and, for flow,
// flow_layers. Throws Cancelled; flow that is stopped is left out, with a note.
void fill_generation(Report& report, const GenerationQuestion& question);

}  // namespace attnflow
