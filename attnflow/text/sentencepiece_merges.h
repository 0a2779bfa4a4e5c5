// The merges of a SentencePiece model that was trained as BPE.
#ifndef ATTNFLOW_TEXT_SENTENCEPIECE_MERGES_H_
#define ATTNFLOW_TEXT_SENTENCEPIECE_MERGES_H_

#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/text/sentencepiece_file.h"

namespace attnflow::internal {

// All pairs of pieces that make a third, in the order in which they are merged. Of pieces of types that are found in a
// text. Time is linear in the bytes of the pieces times the length of one. The views are into `model`.
std::vector<std::pair<std::string_view, std::string_view>> sentencepiece_merges(const SentencePieceModel& model);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TEXT_SENTENCEPIECE_MERGES_H_
