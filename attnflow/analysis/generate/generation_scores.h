// Scores by methods outside the graph for each generated token, and how far the maps of the first tokens are right.
//
// Generated token t is explained as the prediction after the prompt and the t tokens before it, against its
// GeneratedToken::target: each method runs n times, on inputs that grow by one token. Scores of the prompt are
// Report::scores; those of earlier generated tokens are MethodScores::generated if kept, else their sum is the part
// "earlier generated tokens", so that scores and parts add up either way.
//
// The check (report/report_scores.h) is of the prompt's tokens, for as many first generated tokens as are cheap
// together (analysis/check/make_check.h).
#pragma once

#include <cstdint>
#include <vector>

#include "attnflow/analysis/generate/generate.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/model/decoder.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow::internal {

// Fills Report::scores and the checks of its generated tokens, which have targets. A stop leaves no scores, but the
// checks made so far, and a note. Throws as the methods do; an error in what only a check needs ends it silently.
// `groups`: the prompt's positions for each of the report's input tokens.
void add_generation_scores(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options,
                           const TextInput& prompt, const TokenGroups& groups, Report& report);

}  // namespace attnflow::internal
