// The methods beside the graph that a report asks for, and what blank-out says of all its maps.
//
// Questions are a TextQuestion or an ImageQuestion. In order: check_methods(), before the model runs; the report's
// arrays of methods that aggregate; score_methods().
//
// Agreement (report/report_scores.h) costs a run of the model for each token. It is given where blank-out is asked for,
// beside every explanation of one prediction that takes no more than kAgreementWork for it, and beside maps of
// attention that end in the prediction where it takes no more than kCheckWork.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/methods/blank_out.h"
#include "attnflow/analysis/methods/method_question.h"
#include "attnflow/explain/blank_out_agreement.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Throws Error(kUsage) or Error(kUnsupportedModel) for a method that the model has nothing for: no head that predicts,
// no gradients. `steps`: MethodQuestion::steps.
template <typename Input>
void check_methods(const Settings& settings, ModelOf<Input>& model, std::size_t steps);

// What one method beside the graph says, as one row. Throws as the method does, and Error(kUsage) for one that
// aggregates. `blanked`: what blank_out() said of the same question, where it is known already.
template <typename Question>
MethodScores method_scores(Method method, const Question& question, const std::optional<BlankOut>& blanked = {});

// Fills Report::scores in the order of settings.methods, and Report::agreement with its notes. A question without
// `blanked` has no agreement. Throws as the methods do; Cancelled.
template <typename Question>
void score_methods(Report& report, const Question& question);

// "logit difference": what a target's value is, for people.
std::string target_quantity(ScoreTarget::Kind kind);

// What blank_out_agreement() has to know of a question.
template <typename Question>
BlankedInput blanked_input(const Question& question);

// A note where integrated gradients miss much of what they share out: then they say little about single tokens.
void note_integration_error(const std::vector<MethodScores>& all, std::size_t steps, std::vector<Note>& notes);

}  // namespace attnflow
