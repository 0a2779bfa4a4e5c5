// Agreement between a report's maps and the model's output once tokens are blanked (report/report_scores.h has the
// definition). The caller runs the model; this interprets the runs.
//
// It costs a model run per token. It is computed with blank-out, with every explanation of one prediction up to
// kAgreementWork, and with attention maps that end in the prediction up to kCheckWork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/attribution/query.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Floating-point operations, 2 per parameter and token of a run: some seconds on two processors.
inline constexpr double kAgreementWork = 2e11;
// Likewise for maps not meant to explain a prediction: some tenths of a second.
inline constexpr double kCheckWork = 2e10;

// Whether blanking each group takes at most `work` operations.
bool agreement_is_cheap(std::uint64_t parameters, std::size_t tokens, std::size_t groups, double work = kAgreementWork);

// F is the target's value, and x_j is the input x with group j blanked.
struct BlankOut {
  double value = 0.0;           // F(x)
  std::vector<double> blanked;  // F(x_j), one per group

  std::vector<double> scores() const;  // F(x) - F(x_j)
};

struct BlankedInput {
  std::string quantity;                 // "logit difference"
  std::string blank;                    // the replacement of blanked tokens
  std::optional<std::size_t> position;  // the predicting position; absent: no single one
  TokenGroups groups;                   // positions of each of the report's tokens (or words, or patches)
};

// Compares each of the report's methods except blank-out itself, by its values for `output_token`.
BlankOutAgreement blank_out_agreement(const Report& report, std::size_t output_token, const BlankOut& found,
                                      const BlankedInput& input);

// Adds a note for each, before all other notes: whether to believe the values comes first.
void note_agreement(const BlankOutAgreement& agreement, const InputText& input, std::vector<Note>& notes);

}  // namespace attnflow
