// The note on mostly degenerate flow (flow/flow.h): in which layers, how much, at which end of the network.
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
  std::optional<std::size_t> output_token = {};  // if the values belong to it alone
  Mixing mixing = Mixing::kAttention;
  DegeneracyCounts shown = {};  // last layer: the values that views show first; values = 0: not distinguished
};

// Returns nothing unless more than half of some layer's values are degenerate.
std::optional<Note> degeneracy_note(const DegeneracyQuestion& question);

}  // namespace attnflow
