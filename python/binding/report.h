// attnflow::Report as a class of Python.
#ifndef ATTNFLOW_PYTHON_REPORT_H_
#define ATTNFLOW_PYTHON_REPORT_H_

#include <nanobind/nanobind.h>

namespace attnflow::python {

// Adds the class to the module. Its arrays are NumPy's, share the report's memory and keep it alive.
void bind_report(nanobind::module_& module);

}  // namespace attnflow::python

#endif  // ATTNFLOW_PYTHON_REPORT_H_
