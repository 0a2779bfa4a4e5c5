// Which prompt tokens a filter leaves out of rankings, rule by rule.
#pragma once

#include <vector>

#include "attnflow/attribution/input.h"
#include "attnflow/report/report.h"
#include "attnflow/text/token_filter.h"

namespace attnflow {

// Throws Error(kUsage) as filter_tokens() does.
std::vector<ExcludedTokens> excluded_tokens(const InputText& input, const TokenFilterOptions& filter);

}  // namespace attnflow
