// From the attention of a finished generation to its report, without a model: what the Python package does.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/explain/explain_attention.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/explain/generation_columns.h"
#include "attnflow/report/report.h"

namespace attnflow {

// A prompt of m tokens and what a decoder made of it.
struct GenerationInput {
  // Causal attention between the m tokens of the prompt and all generated tokens but the last, which nothing has read,
  // or contributions, with settings.mixing of those: one of the three.
  AnyAttentionStack stack;
  ZeroRows zero_rows = {};    // of the stack, with options.renormalize
  FusedAttention fused = {};  // heads fused by their mean
  MadeEdges edges = {};
  ReportInput prompt = {};
  Generation generation = {};  // text, tokens, why it ended
  std::string name;            // of the model
  std::string architecture;
};

// Throws Error(kUsage) for settings that no generation takes, and mixings other than what the input is made of;
// Error(kBadFile) for attention, and first_shares, of another number of tokens; Error(kUnsupportedModel) for attention
// that is not causal; Cancelled.
Report explain_generation(GenerationInput input, const ExplainOptions& given, const GenerationColumns& columns = {});

}  // namespace attnflow
