// The graphs of several mixings of one input, from as few passes over the model as they need.
//
// Problem. An evaluation compares what mixings (attribution/mixings.h) make of the same input. A model runs once
// forward for all that need its attention or its layers' terms, and once back for each rule of gradients, however many
// mixings are made of what it hands over.
//
// Memory: O(L n^2) for each choice, and what the model takes. Deterministic.
#ifndef ATTNFLOW_ANALYSIS_EVALUATE_MIXED_GRAPHS_H_
#define ATTNFLOW_ANALYSIS_EVALUATE_MIXED_GRAPHS_H_

#include <cstddef>
#include <span>
#include <stop_token>
#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/model/model.h"

namespace attnflow {

struct MixedGraphsQuestion {
  const TextInput& input;
  const std::vector<InputToken>& tokens;
  std::size_t position = 0;  // whose logits are wanted: the last of a decoder, any of a masked language model
  ScoreTarget target = {};   // of mixings that have one
  std::size_t threads = 0;   // 0: one per hardware thread
  std::stop_token stop_token = {};
};

struct MixedGraphs {
  Tensor<float> logits;                // [vocabulary], at the position
  std::vector<AttentionGraph> graphs;  // one for each choice
};

// `choices`: of each its mixing, heads, residual, column mask and discard are looked at. Throws Error(kUsage) for heads
// or columns that are not there, Error(kUnsupportedModel) for a mixing that the model cannot be given, and as the model
// does; Cancelled.
MixedGraphs mixed_graphs(TextModel& model, std::span<const Settings> choices, const MixedGraphsQuestion& question);

// The logits alone.
Tensor<float> token_logits(TextModel& model, const TextInput& input, std::size_t position,
                           const std::stop_token& stop_token = {});

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EVALUATE_MIXED_GRAPHS_H_
