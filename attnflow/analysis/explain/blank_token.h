// The token that stands in for one that is blanked.
#ifndef ATTNFLOW_ANALYSIS_EXPLAIN_BLANK_TOKEN_H_
#define ATTNFLOW_ANALYSIS_EXPLAIN_BLANK_TOKEN_H_

#include <cstdint>
#include <string>

#include "attnflow/model/model.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct BlankToken {
  std::int64_t id = 0;
  std::string piece;
};

// `asked`: unk, mask, pad, or auto (unk, else mask). Throws Error(kUsage) when the tokenizer has no such token, or pad
// is asked for of a model of the RoBERTa family, whose positions it would move.
BlankToken find_blank_token(const TextCodec& tokenizer, const ModelInfo& info, const std::string& asked = "auto");

}  // namespace attnflow

#endif  // ATTNFLOW_ANALYSIS_EXPLAIN_BLANK_TOKEN_H_
