// Reports with fewer layers, for documents that have no room for all; not part of the library's interface.
#ifndef ATTNFLOW_REPORT_REPORT_LAYERS_H_
#define ATTNFLOW_REPORT_REPORT_LAYERS_H_

#include "attnflow/report/generation_report.h"
#include "attnflow/report/report.h"

namespace attnflow::internal {

// Leaves every other layer out of raw, rollout and flow (of a generation: of raw and rollout), never the last.
void halve_layers(Report* report);
void halve_layers(GenerationReport* report);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_REPORT_REPORT_LAYERS_H_
