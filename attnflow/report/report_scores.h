// Scores by methods outside the graph for one prediction, and how far the maps of all methods may be trusted.
//
// With F the target's value (a logit, a difference of two; model/model.h, ScoreTarget), a method gives token j a signed
// score s_j in units of F. Some methods promise a known sum of scores and parts that belong to no token:
//
//     sum_j s_j + sum_k part_k = total        error = total - (sum_j s_j + sum_k part_k).
//
// Agreement. Blanking token j alone changes F to F_j. A map is right about the model as far as it orders the tokens by
// the drops F - F_j (Spearman's correlation; |F - F_j| for maps not made for this prediction), and as far as F falls
// when its first-ranked token is blanked. Compared tokens exclude special ones and a decoder's first token where
// rankings set it aside (report/report_ranking.h).
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

// One map's agreement with blank-out.
struct MapAgreement {
  Method method = Method::kRollout;
  std::optional<std::size_t> layer = {};        // for methods that aggregate
  std::optional<double> rank_correlation = {};  // absent where either orders nothing
  std::size_t first_token = 0;                  // the map's top token among those compared
  double blanked_value = 0.0;                   // F where that token is blanked
  // The compared token without which F is lowest, and F without it; absent in older reports.
  std::optional<std::size_t> decisive_token = {};
  double decisive_value = 0.0;
};

struct BlankOutAgreement {
  std::string quantity;            // "logit difference"
  double value = 0.0;              // F
  std::string blank;               // replaced blanked tokens
  std::vector<MapAgreement> maps;  // in the order of settings.methods
};

}  // namespace attnflow
