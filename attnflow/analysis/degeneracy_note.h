// What to say where flow is mostly degenerate (flow/flow.h): first in plain words what that means and what to do, then
// how many values at which end of the network.
#ifndef ATTNFLOW_ANALYSIS_DEGENERACY_NOTE_H_
#define ATTNFLOW_ANALYSIS_DEGENERACY_NOTE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "attnflow/attribution/degeneracy.h"

namespace attnflow {

struct DegeneracyQuestion {
  std::vector<DegeneracyCounts> layers;  // every layer computed, increasing
  std::size_t to_layer = 0;
  std::string values = "pairs";  // what the values are of, in words
  bool gradient = false;         // of gradient-adjusted attention, which has no residual or head fusion to choose
  DegeneracyCounts shown = {};   // of the last layer: those that views show first; values = 0: not told apart
};

// "" unless more than half of the values of some layer are degenerate.
std::string degeneracy_note(const DegeneracyQuestion& question);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_DEGENERACY_NOTE_H_
