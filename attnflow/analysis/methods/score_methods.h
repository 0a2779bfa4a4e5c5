// A report's methods outside the graph, and the check of all its maps (analysis/check/make_check.h).
//
// Questions are a TextQuestion or an ImageQuestion. Order: check_methods(), before the model runs; the report's arrays
// of methods that aggregate; score_methods().
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attnflow/analysis/methods/blank_out.h"
#include "attnflow/analysis/methods/method_question.h"
#include "attnflow/explain/check_maps.h"
#include "attnflow/model/model.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Throws Error(kUsage) or Error(kUnsupportedModel) for a method that the model does not support: no head that predicts,
// no gradients. `steps`: MethodQuestion::steps.
template <typename Input>
void check_methods(const Settings& settings, ModelOf<Input>& model, std::size_t steps);

// One method's scores, as one row. Throws as the method does, and Error(kUsage) for one that aggregates. `blanked`: the
// result of blank_out() for the same question, if already known.
template <typename Question>
MethodScores method_scores(Method method, const Question& question, const std::optional<BlankOut>& blanked = {});

// Fills Report::scores in the order of settings.methods, and Report::check. Throws as the methods and make_check() do;
// Error(kBadFile) if a check that must be made has no finite values; Cancelled.
template <typename Question>
void score_methods(Report& report, const Question& question);

// With CheckWhen::kAlways, throws for maps that end in no prediction: Error(kUnsupportedModel) if the model makes none,
// else Error(kUsage), which says where it makes one. Call once the report has its predictions. `class_token`: where a
// class of the whole input is read.
void require_check(CheckWhen when, const Report& report, const ModelInfo& info, std::size_t output_token,
                   std::size_t class_token);

// Adds a note if integrated gradients miss much of the total: then they say little about single tokens.
void note_integration_error(const std::vector<MethodScores>& all, std::size_t steps, std::vector<Note>& notes);

}  // namespace attnflow
