// Resolves Mixing::kAuto for any model: edges that answer the question, if they take at most about a minute.
//
// Encoders and vision models keep the attention of Abnar and Zuidema. In decoders, attention as edges ranks the
// deciding word no better than chance (docs/edges.md). The first possible mixing applies:
//
//     relevance    for the next token or the text's class, if the model has gradients; for every model if --target or
//                  --against names something that nothing else explains;
//     alti         in decoders for which that would take longer, and while a text is written;
//     attention    if that would take longer, too, and for options meaningful for attention only: one head, max or min
//                  over heads, a given residual, one row without matrices, or a position other than the last.
//
// The limits count operations, not time, so that the same input gives the same edges everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"

namespace attnflow {

// Floating-point operations, 2 per parameter and token of a run. For one prediction, or contributions, about a minute
// on two processors; for the predictions of a generation about ten seconds, since contributions serve there.
inline constexpr double kWorkOfOne = 6e12;
inline constexpr double kWorkOfMany = 1e12;

struct DefaultQuestion {
  std::size_t tokens = 0;       // in the longest input
  std::size_t predictions = 1;  // number explained
  bool only_row = false;        // no matrices, only one output token's rows
  bool as_it_runs = false;      // compute values while the model runs
};

struct DefaultFacts {
  bool causal = false;
  bool predicts = false;  // it has a head that scores something
  std::uint64_t parameters = 0;
  bool has_terms = false;
  std::function<bool()> has_gradients = {};  // called only if gradients would be used
};

// Replaces kAuto, with a note unless the choice is attention; a named mixing stays.
void choose_mixing(Settings& settings, const DefaultFacts& facts, const DefaultQuestion& question,
                   std::vector<Note>& notes);

bool names_prediction(const Settings& settings);

}  // namespace attnflow
