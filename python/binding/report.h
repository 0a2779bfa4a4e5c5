#pragma once

#include <nanobind/nanobind.h>

namespace attnflow::python {

// Adds attnflow::Report to the module. Its arrays are NumPy's, share the report's memory and keep it alive.
void bind_report(nanobind::module_& module);

}  // namespace attnflow::python
