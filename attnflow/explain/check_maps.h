// Compares a report's maps with its check (report/report_scores.h has the definition). The caller runs the model; this
// says which tokens are to be checked, and interprets the drops.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/query.h"
#include "attnflow/report/report.h"

namespace attnflow {

// F is the target's value, and x_j is the input x with group j blanked.
struct BlankOut {
  double value = 0.0;           // F(x)
  std::vector<double> blanked;  // F(x_j), one per group

  std::vector<double> scores() const;  // F(x) - F(x_j)
};

struct CheckedInput {
  std::string quantity;                 // "logit difference"
  std::optional<std::size_t> position;  // the predicting position; absent: no single one
  // The positions of each of the report's tokens (or words, or patches); none for a last one that is no input.
  TokenGroups groups;
  bool predicts_next = false;  // the token after that position; else what stands there
};

// The tokens that are compared: those with content that the prediction sees, and not the mask that it replaces.
std::vector<std::size_t> compared_tokens(const Report& report, const CheckedInput& input);

// At most `most` of the compared tokens: the five that each map for `output_token` ranks first, then others, drawn with
// a seed that is their number. Increasing.
std::vector<std::size_t> chosen_tokens(const Report& report, std::size_t output_token,
                                       const std::vector<std::size_t>& compared, std::size_t most);

// Fills check.maps for each of the report's methods except blank-out itself, by its values for `output_token`; tokens
// without a drop are not compared. check.irreplaceable must be known.
void check_maps(ReportCheck& check, const Report& report, std::size_t output_token, const CheckedInput& input);

}  // namespace attnflow
