// Makes a report from a finished generation's attention without a model, for the Python package.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/explain/explain_attention.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/explain/generation_columns.h"
#include "attnflow/report/report.h"

namespace attnflow {

struct GenerationInput {
  // One of: causal attention or fused attention over the prompt's m tokens and all generated tokens but the last, which
  // no position has read; or contributions, with a contribution mixing.
  AnyAttentionStack stack;
  ZeroRows zero_rows = {};    // for the stack, with options.renormalize
  FusedAttention fused = {};  // heads fused by their mean
  MadeEdges edges = {};
  ReportInput prompt = {};
  Generation generation = {};  // text, tokens, end reason
  std::string name;            // model name
  std::string architecture;
};

// Throws Error(kUsage) for settings that no generation supports, and mixings that do not match the input;
// Error(kBadFile) for attention or first_shares of another number of tokens; Error(kUnsupportedModel) for attention
// that is not causal; Cancelled.
Report explain_generation(GenerationInput input, const ExplainOptions& given, const GenerationColumns& columns = {});

}  // namespace attnflow
