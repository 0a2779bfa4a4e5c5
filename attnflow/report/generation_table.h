// The tables of report_table.h for a generation; internal.
#pragma once

#include <string>

#include "attnflow/report/report_table.h"

namespace attnflow::internal {

std::string generation_terminal_table(const Report& report, const TableOptions& options);
std::string generation_markdown_table(const Report& report, OptionNames option_names);

}  // namespace attnflow::internal
