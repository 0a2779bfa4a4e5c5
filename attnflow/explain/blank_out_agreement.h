// How the maps of a report agree with what the model says once tokens are blanked (report/report_scores.h has the
// definition). Whoever has the model runs it; this says what the runs mean.
//
// It costs a run of the model for each token, so that it is given where blank-out is asked for, beside every
// explanation of one prediction that takes no more than kAgreementWork for it, and beside maps of attention that end in
// the prediction where it takes no more than kCheckWork.
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

// Floating-point operations, as 2 for each parameter and token of a run: some seconds on two processors.
inline constexpr double kAgreementWork = 2e11;
// Beside maps that nobody asked to explain a prediction: some tenths of a second.
inline constexpr double kCheckWork = 2e10;

// Whether blanking each of `groups` in an input of `tokens` stays within so many operations.
bool agreement_is_cheap(std::uint64_t parameters, std::size_t tokens, std::size_t groups, double work = kAgreementWork);

// With F the target's value and x_j the input x whose group j is blanked.
struct BlankOut {
  double value = 0.0;           // F(x)
  std::vector<double> blanked;  // F(x_j), one a group

  std::vector<double> scores() const;  // F(x) - F(x_j)
};

// What was blanked, and what F is.
struct BlankedInput {
  std::string quantity;                 // "logit difference"
  std::string blank;                    // what stood in for blanked tokens
  std::optional<std::size_t> position;  // the position that predicts; absent: no single one does
  TokenGroups groups;                   // the positions of each token (or word, or patch) of the report
};

// One of each method of the report but blank-out itself: their rows of `output_token`.
BlankOutAgreement blank_out_agreement(const Report& report, std::size_t output_token, const BlankOut& found,
                                      const BlankedInput& input);

// A note for each of them, before all others: whether to believe what is shown comes first.
void note_agreement(const BlankOutAgreement& agreement, const InputText& input, std::vector<Note>& notes);

}  // namespace attnflow
