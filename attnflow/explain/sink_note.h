// The notes on attention that gathers on a decoder's first token, and on the second where the first is masked.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"

namespace attnflow {

// `share` is the mean over layers of what falls on the first token, which rollout multiplies up to nearly everything;
// or what rollout says of the second. With the first column masked, row 1 of every layer's matrix is (0, 1, 0, ...):
// its token draws on itself alone, so what reaches it in a rollout stays there, whatever the model attends to. Nothing
// below 0.3.
inline void add_sink_note(std::vector<Note>& notes, NoteCode code, double share, std::string token) {
  constexpr double kMuch = 0.3;
  if (share >= kMuch) notes.push_back({code, {{"share", share}, {"token", std::move(token)}}});
}

}  // namespace attnflow
