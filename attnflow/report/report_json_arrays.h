// Reads the arrays of a report document, plain and compact; internal.
#pragma once

#include "attnflow/report/report.h"
#include "attnflow/report/report_json.h"
#include "attnflow/report/report_json_field.h"

namespace attnflow::internal {

// Reads `arrays` into a report whose other fields are complete.
void read_report_arrays(const Field& arrays, const ReportReadOptions& options, Report& report);

}  // namespace attnflow::internal
