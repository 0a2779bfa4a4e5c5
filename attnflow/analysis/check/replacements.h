// Tokens that could have stood in a place of a text, for the check by replacement.
//
//   a decoder that predicts tokens   the most probable other tokens after the text before the place. A text's first
//                                    token has nothing before it: its candidates are those after the tokenizer's blank
//                                    token (methods/blank_out.h), often the one that ends a text
//   a masked language model          the most probable other tokens where the place is masked; for a word of several
//                                    tokens, all of it is masked, and candidate c is the c-th at each
//   other models                     tokens of the same kind: another function word for a function word, another mark
//                                    for a mark, else frequent words (or, within a word, pieces) of the vocabulary in
//                                    the same letter case, drawn with a seed that is the text's own
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attnflow/analysis/check/replacement_check.h"

namespace attnflow::internal {

// Whether the model itself says what may follow the text before a place: not a source, whose tokens all see each other.
inline bool predicts_next(const ModelInfo& info) {
  return info.head == ModelHead::kCausalLm && info.causal && !info.target;
}

// A candidate's tokens: one, or as many as the group has.
using Candidate = std::vector<std::int64_t>;

// For each of `places` (numbers of groups), at most options.replacements candidates, the most probable first.
std::vector<std::vector<Candidate>> find_candidates(const ReplacementQuestion& question,
                                                    std::span<const std::size_t> places,
                                                    const ReplacementOptions& options);

}  // namespace attnflow::internal
