// What Mixing::kAuto stands for, of any model: edges that answer the question, where they can be had within seconds.
//
// Encoders and vision models keep the attention of Abnar and Zuidema. In decoders attention as edges ranks the deciding
// word no better than chance (docs/edges.md), so there it is, in this order,
//
//     relevance    of the next token, or of the class of the text, where the model has gradients; of every model where
//                  --target or --against name what nothing else explains;
//     alti         of a generation whose tokens are too many for a pass back each, made while the model runs;
//     attention    where neither can be had, and where what else is asked has a meaning for attention alone: one head,
//                  max or min over heads, a residual of one's own, one row without matrices, or a position other
//                  than the last.
//
// The limit is kDefaultWork, a number of operations and no time, so that the same input gives the same edges
// everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"

namespace attnflow {

// Floating-point operations, 2 for each parameter and token of a run: about ten seconds on two processors.
inline constexpr double kDefaultWork = 1e12;

struct DefaultQuestion {
  std::size_t tokens = 0;       // of the longest input
  std::size_t predictions = 1;  // that are explained
  bool only_row = false;        // there are no matrices, only the rows of one output token
  bool as_it_runs = false;      // values are wanted while the model runs
};

// What is known of the model.
struct DefaultFacts {
  bool causal = false;
  bool predicts = false;  // it has a head that scores something
  std::uint64_t parameters = 0;
  bool has_terms = false;
  std::function<bool()> has_gradients = {};  // asked only where they would be taken
};

// Names a mixing in place of kAuto, with a note of what was chosen where that is not attention; what is named stays.
void choose_mixing(Settings& settings, const DefaultFacts& facts, const DefaultQuestion& question,
                   std::vector<Note>& notes);

// Whether a target is named that nothing else explains.
bool names_prediction(const Settings& settings);

}  // namespace attnflow
