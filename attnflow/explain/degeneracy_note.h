// The note on flow that is mostly degenerate (flow/flow.h): in which layers, how much, at which end of the network.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attnflow/attribution/degeneracy.h"
#include "attnflow/attribution/note.h"
#include "attnflow/attribution/settings.h"

namespace attnflow {

struct DegeneracyQuestion {
  std::vector<DegeneracyCounts> layers;  // every layer computed, increasing
  std::size_t start_layer = 0;
  std::optional<std::size_t> output_token = {};  // when the values are of one alone
  Mixing mixing = Mixing::kAttention;
  DegeneracyCounts shown = {};  // of the last layer: those that views show first; values = 0: not told apart
};

// Nothing unless more than half of the values of some layer are degenerate.
std::optional<Note> degeneracy_note(const DegeneracyQuestion& question);

}  // namespace attnflow
