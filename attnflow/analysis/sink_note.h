// What to say where a decoder's first token takes much of the attention, which rollout multiplies up to nearly
// everything, and where the second token takes its place.
#ifndef ATTNFLOW_ANALYSIS_SINK_NOTE_H_
#define ATTNFLOW_ANALYSIS_SINK_NOTE_H_

#include <string>
#include <string_view>

namespace attnflow {

// "" unless `share`, the mean over layers of what falls on the first token, is 0.3 at least. `whose`: "the attention";
// `remedy`: a sentence on what to do.
std::string sink_note(double share, std::string_view whose, std::string_view first_token, std::string_view remedy);

// With the first column set aside, row 1 of every layer's matrix is (0, 1, 0, ...): its token draws on itself alone, so
// what reaches it in a rollout stays there, whatever the model attends to. "" unless `share`, what rollout says of it,
// is 0.3 at least. `whose`: "what the output token draws on".
std::string next_sink_note(double share, std::string_view whose, std::string_view second_token);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_SINK_NOTE_H_
