// Measures what a prediction depends on: each token is replaced by others that could have stood in its place, and the
// model predicts again.
//
// Problem. A map is believed if the tokens that it ranks first matter to the model. Blanking a token asks that in a way
// that the model was never trained on: an end-of-text token inside a text, or a hole. The prediction then moves because
// the text is odd, most of all after the last words, and a right map looks wrong.
//
// Definition. F(x) is the target's value, a logit less the mean of those that it is compared with. Let x be the text,
// x_jc the text in which candidate c stands in the place of token j (or of all tokens of word j), and P(M | x) the
// probability of the eleven tokens M that are most probable for x. With
//
//     f_jc  =  min(1, P(M | x_jc) / P(M | x))
//
// (1 where classes are predicted), the drop of token j is a mean of F(x) - F(x_jc) over at most K candidates, those
// weighing most that keep the kind of word that is predicted: after others, F says little of this word rather than its
// competitors. A place where hardly any candidate fits counts little itself: place_drops.h has the mean, its spread,
// and the reliability of all drops. There, w = 0.06 P(S | x) for the target's token and those that it is compared with,
// S (M if it is compared with nothing or with all), and 0 for classes: of a contrast that is improbable for x, f says
// less. replacements.h says what the candidates are.
//
// Method. Each place tries half of its candidates; then those places try the others that may decide, whose drop is at
// least half of the largest within two standard errors of both. Short texts try all at once. The texts of a stage run
// together, and share what stands before the token replaced (TextModel::logits_of_each()): K n^2 / 4 to K n^2 / 2 token
// passes for n tokens of a decoder, twice as many for an encoder. Deterministic.
//
// Reference, for replacements drawn from a language model:
//   S. Kim, J. Yi, E. Kim and S. Yoon, Interpretation of NLP models through input marginalization, EMNLP 2020:
//     https://aclanthology.org/2020.emnlp-main.255
#pragma once

#include <cstddef>
#include <stop_token>
#include <vector>

#include "attnflow/analysis/check/place_drops.h"
#include "attnflow/base/progress.h"
#include "attnflow/explain/explain_options.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/model/model.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct ReplacementOptions {
  std::size_t replacements = kReplacements;  // K
  ProgressFunction progress = {};            // in texts
  std::stop_token stop_token = {};
};

// The prediction that is checked. Everything outlives the question.
struct ReplacementQuestion {
  TextModel& model;
  const TextCodec& codec;
  const TextInput& input;
  const ScoreTarget& target;
  const TokenGroups& groups;  // consecutive positions, of a token or a word each
};

// Checks the groups for which `wanted` holds. Throws as TextModel::logits_of_each() does; Cancelled.
ReplacementCheck check_by_replacement(const ReplacementQuestion& question, const std::vector<bool>& wanted,
                                      const ReplacementOptions& options = {});

// The passes of single tokens that a place usually takes.
double replacement_tokens(const ReplacementQuestion& question, std::size_t group, std::size_t replacements);

}  // namespace attnflow
