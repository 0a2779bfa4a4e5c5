// Notes on attention that gathers on a decoder's first token, or the second if the first is masked.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"

namespace attnflow {

// `share` is the mean over layers of the attention on the first token, which rollout multiplies up to nearly
// everything; or rollout's share of the second. With the first column masked, row 1 of every layer is (0, 1, 0, ...):
// its token attends only to itself, so rollout that reaches it stays there. Shares below 0.3 get no note.
inline void add_sink_note(std::vector<Note>& notes, NoteCode code, double share, std::string token) {
  constexpr double kMuch = 0.3;
  if (share >= kMuch) notes.push_back({code, {{"share", share}, {"token", std::move(token)}}});
}

}  // namespace attnflow
