// How far a prediction falls without each part of an input, from what the model says of inputs with the part replaced.
//
// Definition. F(x) is the target's value, and x_jc the input x with candidate c in place j. With a weight f_jc for each
// candidate, the drop of place j is
//
//     d_j  =  sum_c f_jc (F(x) - F(x_jc)) / sum_c (f_jc + w).
//
// Above 0, the place speaks for the target. The weight w >= 0 shrinks the drop of a place where hardly any candidate
// fits: as if the part itself, without which nothing changes, stood among its candidates. The spread is the standard
// error of the mean without w, so that a place where nothing fits is uncertain, not surely without effect. The
// reliability of all drops is the correlation of those by the first, third, ... candidates with those by the others,
// for the whole number of candidates (Spearman-Brown): no map can be expected to agree with the drops better than they
// agree with themselves.
//
// Method. Each place tries half of its candidates; then those places try the others that may decide. An input of few
// places tries all candidates everywhere: half of them can miss what decides, and the others cost little.
//
// The places are tokens or words of a text (replacement_check.h) or patches of a picture (patch_check.h).
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attnflow/report/report_scores.h"

namespace attnflow {

struct PlaceDrop {
  std::vector<TriedReplacement> tried;  // empty: the place was left out, or has no candidate
  double drop = 0.0;
  double spread = 0.0;
};

// The candidates that every place of an input tries, of so many; the others are for places that may decide.
inline std::size_t first_candidates(std::size_t replacements, std::size_t places) {
  constexpr std::size_t kFewTexts = 100;
  return replacements * places <= kFewTexts ? replacements : (replacements + 1) / 2;
}
// The usual share of the places that may decide, to estimate the work.
inline constexpr double kMayDecide = 1.0 / 3.0;

struct ReplacementCheck {
  double value = 0.0;                      // F(x)
  double own_weight = 0.0;                 // w
  std::vector<PlaceDrop> places;           // one for each group
  std::optional<double> reliability = {};  // absent with fewer than three places
};

// Removes the candidates of places[at] whose value is not finite, and computes the drop and its spread from the others.
void summarize_drop(ReplacementCheck& check, std::size_t at);

// The places whose drop may be at least half of the largest, within two standard errors of both: which of them decides
// is worth more candidates.
std::vector<bool> may_decide(const ReplacementCheck& check);

// By split halves; absent with fewer than three places that tried two candidates, or if a half orders nothing.
std::optional<double> reliability_of(const ReplacementCheck& check);

}  // namespace attnflow
