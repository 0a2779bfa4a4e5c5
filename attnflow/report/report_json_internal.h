// Shared by the two halves of report_json.h; not part of the library's interface.
#ifndef ATTNFLOW_REPORT_REPORT_JSON_INTERNAL_H_
#define ATTNFLOW_REPORT_REPORT_JSON_INTERNAL_H_

#include "attnflow/report/report.h"

namespace attnflow::internal {

// Whether the fields other than arrays say that `graph` is the same as `raw`.
bool graph_equals_raw_by_rule(const Report& report);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_REPORT_REPORT_JSON_INTERNAL_H_
