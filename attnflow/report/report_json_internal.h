// Shared by the two halves of report_json.h; not part of the library's interface.
#ifndef ATTNFLOW_REPORT_REPORT_JSON_INTERNAL_H_
#define ATTNFLOW_REPORT_REPORT_JSON_INTERNAL_H_

#include <cstdint>

#include "attnflow/report/report.h"

namespace attnflow::internal {

// Whether the fields other than arrays say that `graph` is the same as `raw`.
bool graph_equals_raw_by_rule(const Report& report);

// To IEEE 754 binary16 (files/half.h goes the other way), rounded to nearest, ties to even, in one step (by way of
// float there would be two).
std::uint16_t half_from_double(double value);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_REPORT_REPORT_JSON_INTERNAL_H_
