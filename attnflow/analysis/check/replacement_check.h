// Measures what a decoder's prediction depends on: each token is replaced by others that could have stood in its place,
// and the model predicts again.
//
// Problem. A map is believed if the tokens that it ranks first matter to the model. Blanking a token asks that in a way
// that the model was never trained on: an end-of-text token inside a text, or a hole. The prediction then moves because
// the text is odd, most of all after the last words, and a right map looks wrong.
//
// Definition. F(x) is the target's value, a logit less the mean of those that it is compared with. Let x be the text,
// and x_jc the text in which candidate c stands in the place of token j (or of all tokens of word j). The candidates
// are the K most probable other tokens at that place, given the text before it. With
//
//     f_jc  =  the probability that x_jc still gives to the 50 tokens that are most probable after x,
//
// the drop of token j is the mean over candidates, those weighing most that keep the kind of word that follows:
//
//     d_j  =  sum_c f_jc (F(x) - F(x_jc)) / sum_c f_jc.
//
// Above 0, the token speaks for the target. The spread is the standard error of that weighted mean. The reliability of
// the whole row is the correlation of the drops by the first, third, ... candidates with those by the others, for the
// whole number of candidates (Spearman-Brown): no map can be expected to agree with the drops better than they agree
// with themselves.
//
// A text's first token has nothing before it: its candidates are those after the token that begins or ends a text.
//
// Method. Candidates of a place share the text before it, which stays in the decoder's cache (Decoder::rewind()).
// Places are processed from the last to the first: K n^2 / 2 token passes for n tokens. Deterministic.
//
// Reference, for replacements drawn from a language model:
//   S. Kim, J. Yi, E. Kim and S. Yoon, Interpretation of NLP models through input marginalization, EMNLP 2020:
//     https://aclanthology.org/2020.emnlp-main.255
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stop_token>
#include <vector>

#include "attnflow/base/progress.h"
#include "attnflow/graph/normalize.h"
#include "attnflow/model/decoder.h"
#include "attnflow/text/text_codec.h"

namespace attnflow {

struct ReplacementOptions {
  std::size_t candidates = 8;      // K
  ProgressFunction progress = {};  // in places
  std::stop_token stop_token = {};
};

struct Replacement {
  std::int64_t id = 0;  // of the candidate
  double fit = 0.0;     // f_jc
  double value = 0.0;   // F(x_jc)
};

struct PlaceDrop {
  std::vector<Replacement> tried;  // by falling probability; empty: the place was left out, or has no candidate
  double drop = 0.0;
  double spread = 0.0;
};

struct ReplacementCheck {
  double value = 0.0;                      // F(x)
  std::vector<PlaceDrop> places;           // one for each group
  std::optional<double> reliability = {};  // absent with fewer than three places
};

// Checks the groups of positions (consecutive ones, of a token or a word) for which `wanted` holds; `target` explains
// the token after the last. Throws Error(kUnsupportedModel) for a decoder that does not predict a next token, as
// Decoder::append() does, and Cancelled.
ReplacementCheck check_by_replacement(Decoder& decoder, const TextCodec& codec, const std::vector<std::int64_t>& ids,
                                      const ScoreTarget& target, const TokenGroups& groups,
                                      const std::vector<bool>& wanted, const ReplacementOptions& options = {});

}  // namespace attnflow
