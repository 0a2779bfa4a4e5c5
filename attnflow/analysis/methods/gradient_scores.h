// Input times gradient: what each token's embedding contributes to a prediction, to first order.
//
// Definition. With e_j the first layer's input embedding at position j, and g_j = dF / de_j the target's gradient,
//
//     s_j = g_j . e_j.
//
// With the derivative itself this is gradient x input (Shrikumar et al. 2016): the linear estimate of what is lost when
// e_j is set to 0, at this input only. With the rules of AttnLRP (model/model.h, BackwardRule) it is the relevance of
// Achtibat et al. (2024), which layer norms and products of activations do not distort.
//
// Cost: one forward and one backward pass. A word's score is the sum over its tokens. Deterministic.
//
// References:
//   A. Shrikumar, P. Greenside, A. Shcherbina and A. Kundaje, Not Just a Black Box, 2016:
//     https://arxiv.org/abs/1605.01713
//   R. Achtibat et al., AttnLRP: Attention-Aware Layer-Wise Relevance Propagation for Transformers, ICML 2024:
//     https://arxiv.org/abs/2402.05602
#pragma once

#include <span>
#include <vector>

#include "attnflow/analysis/methods/method_question.h"
#include "attnflow/metrics/importance.h"

namespace attnflow {

// One score a group. Throws as gradients_of() and Gradients::input_gradients() do.
template <typename Question>
std::vector<double> gradient_times_input_scores(const Question& question, BackwardRule rule) {
  const BatchOptions options{.rule = rule, .stop_token = question.stop_token};
  const auto found = gradients_of(question.model)
                         .input_gradients(std::span(&question.input, 1), std::span(&question.target, 1), options);
  const InputGradient& one = found.at(0);
  return sums_of_groups(gradient_times_input(one.gradient.view(), one.embedding.view()), question.groups);
}

}  // namespace attnflow
