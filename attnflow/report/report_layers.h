// Reports with fewer layers, for documents that have no room for all; not part of the library's interface.
#ifndef ATTNFLOW_REPORT_REPORT_LAYERS_H_
#define ATTNFLOW_REPORT_REPORT_LAYERS_H_

#include "attnflow/report/report.h"

namespace attnflow::internal {

// Leaves every other layer out of raw, rollout and flow, never the last: of flow every other of
// its own layers, where it has such.
void halve_layers(Report* report);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_REPORT_REPORT_LAYERS_H_
