// A text as the model's tokens, for every analysis of text.
#ifndef ATTNFLOW_ANALYSIS_EXPLAIN_TEXT_INPUT_H_
#define ATTNFLOW_ANALYSIS_EXPLAIN_TEXT_INPUT_H_

#include <vector>

#include "attnflow/model/model.h"
#include "attnflow/report/report.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

// Tokens as reports show them.
std::vector<InputToken> report_tokens(const Encoding& encoding);

// Throws Error(kBadFile) when the tokenizer gives ids that the model has no embedding for.
void check_vocabulary(const TextCodec& codec, const ModelInfo& info);

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EXPLAIN_TEXT_INPUT_H_
