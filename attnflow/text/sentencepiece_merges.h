// The merges of a SentencePiece model trained as BPE.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/text/sentencepiece_file.h"

namespace attnflow::internal {

// Returns all pairs of pieces that concatenate to a third, in the order in which they are merged. Only pieces of types
// that occur in text are considered. Time is linear in the bytes of the pieces times the length of one. The views point
// into `model`.
std::vector<std::pair<std::string_view, std::string_view>> sentencepiece_merges(const SentencePieceModel& model);

}  // namespace attnflow::internal
