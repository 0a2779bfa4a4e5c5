// What Mixing::kAuto stands for: edges that answer the question, where they can be had within seconds.
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
#ifndef ATTNFLOW_ANALYSIS_EXPLAIN_DEFAULT_MIXING_H_
#define ATTNFLOW_ANALYSIS_EXPLAIN_DEFAULT_MIXING_H_

#include <cstddef>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"
#include "attnflow/model/model.h"

namespace attnflow {

// Floating-point operations, 2 for each parameter and token of a run: about ten seconds on two processors.
inline constexpr double kDefaultWork = 1e12;
// Bytes of weights that may be written out in float32 for it (Gradients::preparation_bytes()).
inline constexpr std::size_t kDefaultPreparation = std::size_t{2} << 30U;

struct DefaultQuestion {
  std::size_t tokens = 0;       // of the longest input
  std::size_t predictions = 1;  // that are explained
  bool only_row = false;        // ExplainOptions::only_output_token
  bool as_it_runs = false;      // values are wanted while the model runs
};

// Names a mixing in place of kAuto, with a note of what was chosen where that is not attention; what is named stays.
void choose_mixing(Settings& settings, TextModel& model, const DefaultQuestion& question, std::vector<Note>& notes);

// The same of an image.
void choose_mixing_of_image(Settings& settings);

// Says what gradients cost beside the passes.
void note_preparation(const Gradients<TextInput>& gradients, std::vector<Note>& notes);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EXPLAIN_DEFAULT_MIXING_H_
