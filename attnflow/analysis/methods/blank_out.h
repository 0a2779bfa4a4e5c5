// Blank-out: how far a prediction falls when a token is replaced by a neutral one.
//
// Definition. With F(x) the target's value and x_j the input whose token j (all tokens of word j; patch j) is blanked,
//
//     s_j = F(x) - F(x_j),
//
// above 0 if the token speaks for the target. It assumes nothing about the inside of the model. But tokens are blanked
// one at a time, so of two that say the same neither counts; and the model was not trained on inputs with holes.
//
// Cost: n + 1 runs of the model. A token that is blank already scores exactly 0. Deterministic.
//
// References:
//   M. D. Zeiler and R. Fergus, Visualizing and Understanding Convolutional Networks, ECCV 2014:
//     https://arxiv.org/abs/1311.2901
//   S. Abnar and W. Zuidema, Quantifying Attention Flow in Transformers, ACL 2020:
//     https://aclanthology.org/2020.acl-main.385
#pragma once

#include "attnflow/analysis/methods/method_question.h"
#include "attnflow/explain/check_maps.h"

namespace attnflow {

// Throw as target_values() does.
BlankOut blank_out(const TextQuestion& question);
BlankOut blank_out(const ImageQuestion& question);

}  // namespace attnflow
