// Scores by methods outside the graph for one prediction, and how far the maps of all methods may be trusted.
//
// With F the target's value (a logit, a difference of two; model/model.h, ScoreTarget), a method gives token j a signed
// score s_j in units of F. Some methods promise a known sum of scores and parts that belong to no token:
//
//     sum_j s_j + sum_k part_k = total        error = total - (sum_j s_j + sum_k part_k).
//
// Check. Token j alone is replaced by others, and F falls by d_j on average
// (analysis/check/replacement_check.h; where nothing can stand in, the token is blanked). A map is right about the
// model as far as the token that it ranks first is one whose d_j is large, and as far as it orders the tokens by d_j
// (Spearman's correlation; |d_j| for maps not made for this prediction). Compared tokens exclude special ones and a
// decoder's first token where rankings set it aside (report/report_ranking.h).
//
// Example:
//
//     MethodScores scores{.method = Method::kLogit, .values = Tensor<double>({1, 2}, {0.5, -0.25})};
//     scores.sums = {{.parts = {{"biases", 0.75}}, .total = 1.0}};
//     assert(scores.error(0) == 0.0);
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/methods.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

struct ScorePart {
  std::string name;  // "feed-forward layer 3", "biases"
  double value = 0.0;
};

// Accompanies the scores of one prediction.
struct ScoreSum {
  std::vector<ScorePart> parts = {};  // belong to no token
  std::optional<double> total = {};   // sum of scores and parts; absent if none is promised
};

// One method's scores for each explained prediction: one, or each generated token.
struct MethodScores {
  Method method = Method::kBlankOut;
  Tensor<double> values = {};       // [prediction, token]
  Tensor<double> generated = {};    // for a generation, may be absent: [t, s], on generated token s; 0 if it came later
  std::vector<ScoreSum> sums = {};  // one a prediction

  // The error of the sum; 0 if no total is promised.
  double error(std::size_t prediction) const;
};

struct TriedReplacement {
  std::string text;
  double fit = 1.0;    // its weight in the token's drop
  double value = 0.0;  // F with it
};

struct CheckedToken {
  std::size_t token = 0;
  double drop = 0.0;                                // d_j, above 0 if the token speaks for the target
  double spread = 0.0;                              // its standard error over the replacements; 0 for a blank
  std::vector<TriedReplacement> replacements = {};  // none for a blank
};

struct MapCheck {
  Method method = Method::kRollout;
  std::optional<std::size_t> layer = {};           // for methods that aggregate
  std::optional<double> rank_correlation = {};     // absent where map or check orders nothing
  std::size_t compared = 0;                        // tokens
  std::size_t first_token = 0;                     // the map's top token among those compared
  std::optional<std::size_t> decisive_token = {};  // the compared token with the largest drop
  // The token that the map ranks first of all that count, if it stands above first_token and nothing fits in its place.
  std::optional<std::size_t> unchecked_token = {};
};

struct ReportCheck {
  std::string quantity;                         // "logit difference"
  double value = 0.0;                           // F
  std::string blank = {};                       // replaced the tokens, if not others
  std::optional<double> reliability = {};       // of the drops, in [0, 1]: split halves of the replacements
  std::size_t left_out = 0;                     // tokens that were not checked, to save time
  std::vector<std::size_t> irreplaceable = {};  // tokens that nothing fit in place of, by position
  std::vector<CheckedToken> tokens = {};        // by position
  std::vector<MapCheck> maps = {};              // in the order of settings.methods

  const CheckedToken* find(std::size_t token) const;
  bool has_rises() const;  // without some token the value rises
};

// The probability of a picture's explained class while its patches are removed in the order of a map, and while they
// come back in it (evaluate/perturbation_curve.h). Three arrays of one length.
struct ReportCurve {
  Method order = Method::kRollout;     // the map
  std::vector<double> steps = {};      // shares of the patches, increasing from 0 to 1
  std::vector<double> insertion = {};  // with only the first of the order, this share of the patches
  std::vector<double> deletion = {};   // without them
};

}  // namespace attnflow
