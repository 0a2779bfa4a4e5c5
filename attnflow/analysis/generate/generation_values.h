// A generation's numbers: the rows of the positions that chose the generated tokens (report/report.h, Generation).
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "attnflow/analysis/generate/generate_options.h"
#include "attnflow/analysis/generate/generation_sink.h"
#include "attnflow/attribution/query.h"
#include "attnflow/attribution/source.h"
#include "attnflow/report/report.h"

namespace attnflow::internal {

struct GenerationRows {
  const GenerationSink& sink;
  std::vector<std::shared_ptr<AttentionSource>> sources;  // of each generated token; none without raw, rollout and flow
  std::size_t prompt_tokens = 0;                          // m, before words are merged
  const TokenGroups& words;                               // the prompt's, if merged
  bool is_joint = false;  // an encoder-decoder's, whose source gathers no attention on its first token
};

// The query for the output at `position` by one method: on the prompt's columns (words, if merged) and, with
// `all_columns`, the generated tokens before it.
Query generation_query(Method method, const Report& report, const GenerationRows& rows, std::size_t position,
                       bool all_columns);

// Fills arrays and notes of a report that has its settings, input, generated tokens, output tokens and, for flow,
// flow_layers. Throws Cancelled; flow that is stopped is left out, with a note.
void fill_generation(Report& report, const GenerationRows& rows, const GenerateOptions& options);

// Leaves out what fill_generation() may have filled before it failed.
void drop_values(Report& report);

}  // namespace attnflow::internal
