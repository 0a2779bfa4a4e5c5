// What methods beside the graph say of each generated token, and how far the maps of the first tokens are right.
//
// Generated token t is explained as the prediction behind the prompt and the t tokens before it, against what it was
// compared with (GeneratedToken::target): each method is asked n times, of inputs that grow by one token. Scores of the
// prompt are Report::scores; those of tokens generated before are MethodScores::generated where they are kept, else
// their sum is the part "earlier generated tokens", so that scores and parts add up either way.
//
// Agreement with blank-out (report/report_scores.h) is given where blank-out is asked for, else of as many tokens from
// the first as are cheap together (methods/score_methods.h).
#pragma once

#include <cstdint>
#include <vector>

#include "attnflow/analysis/generate/generate.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/model/decoder.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow::internal {

// Fills Report::scores and the agreement of its generated tokens, which have targets, with their notes. A stop leaves
// no scores, but the agreements found so far, and a note. Throws as the methods do; what agreement alone would have
// needed ends that silently. `ids`: of the prompt; `groups`: its positions behind each of the report's input tokens.
void add_generation_scores(Decoder& decoder, const TextCodec& codec, const GenerateOptions& options,
                           const std::vector<std::int64_t>& ids, const TokenGroups& groups, Report& report);

}  // namespace attnflow::internal
