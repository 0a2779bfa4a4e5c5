#pragma once

#include <nanobind/nanobind.h>

namespace attnflow::python {

// Adds attnflow::EvidenceReport, and the function that makes one with a loaded model, to the module.
void bind_evaluation(nanobind::module_& module);

}  // namespace attnflow::python
