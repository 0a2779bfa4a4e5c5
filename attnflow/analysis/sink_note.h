// What to say where a decoder's first token takes much of the attention, which rollout multiplies up to nearly
// everything.
#ifndef ATTNFLOW_ANALYSIS_SINK_NOTE_H_
#define ATTNFLOW_ANALYSIS_SINK_NOTE_H_

#include <string>
#include <string_view>

namespace attnflow {

// "" unless `share`, the mean over layers of what falls on the first token, is 0.3 at least. `whose`: "the attention";
// `remedy`: a sentence on what to do.
std::string sink_note(double share, std::string_view whose, std::string_view first_token, std::string_view remedy);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_SINK_NOTE_H_
