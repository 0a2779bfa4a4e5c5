// The graphs of generated tokens by relevance (graph/relevance_mixing.h): each token's own, since each is a prediction
// of its own.
#ifndef ATTNFLOW_ANALYSIS_GENERATE_RELEVANCE_SOURCES_H_
#define ATTNFLOW_ANALYSIS_GENERATE_RELEVANCE_SOURCES_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "attnflow/attribution/resolve.h"
#include "attnflow/attribution/source.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow::internal {

// `ids`: prompt and generated tokens. Each target's position chose its token and sees the ids up to it. The sources, in
// the order of the targets, know the positions up to their own. About four passes of the model over those positions for
// each target, shared out among threads; O(L n^2) memory for each. Throws as target_graph(), and Cancelled.
std::vector<std::shared_ptr<AttentionSource>> relevance_sources(
    ModelOf<TextInput>& model, const std::vector<std::int64_t>& ids, const std::vector<ReportTarget>& targets,
    const ResolvedMixing& mixing, std::size_t threads, const std::stop_token& stop_token, std::vector<Note>& notes);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_ANALYSIS_GENERATE_RELEVANCE_SOURCES_H_
