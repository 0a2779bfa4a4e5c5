// A report's check: which tokens are replaced, by what, and what it says of the report's maps.
//
// Tokens of a text are replaced by others (replacement_check.h), and patches of a picture by what could have been there
// (patch_check.h); where nothing is known, they are blanked (methods/blank_out.h).
//
// The check is made with every explanation of one prediction, and with maps of attention that end in one. What it may
// take is a number of operations, 2 for each parameter and token that runs, so that the same text is checked in the
// same way on every machine. If all tokens would take more, those that a map ranks first are checked and a few others.
#pragma once

#include <cstddef>
#include <optional>

#include "attnflow/analysis/methods/method_question.h"
#include "attnflow/explain/check_maps.h"
#include "attnflow/report/report.h"

namespace attnflow {

// Operations for the check of an explanation of a prediction: some seconds on two processors.
inline constexpr double kExplanationCheckWork = 1e12;
// Likewise for maps not meant to explain a prediction: some tenths of a second.
inline constexpr double kMapCheckWork = 4e10;

// Operations of a second on two processors.
inline constexpr double kCheckWorkOfASecond = 1e11;

// The operations that the check may take, less those reserved for others; nothing: any number.
template <typename Question>
std::optional<double> check_limit(const Question& question);

// The operations that running `tokens` tokens takes.
double run_work(const ModelInfo& info, double tokens);

// The operations that checking all tokens or patches takes.
template <typename Question>
double check_work(const Report& report, const Question& question);

template <typename Question>
CheckedInput checked_input(const Question& question);

// Returns nothing where nothing can be checked, or little within `work` operations (absent: no limit). `blanked`: the
// result of blank_out() for the same question, if already known. Throws as the model does; Cancelled.
template <typename Question>
std::optional<ReportCheck> make_check(const Report& report, std::size_t output_token, const Question& question,
                                      std::optional<double> work, const std::optional<BlankOut>& blanked = {});

}  // namespace attnflow
