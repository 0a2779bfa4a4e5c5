// attnflow::Error as the Python exception of the same name.
#pragma once

#include <nanobind/nanobind.h>

namespace attnflow::python {

// Throws what Python's attnflow.Error says as attnflow::Error; does nothing for other exceptions. With the
// interpreter's lock.
void throw_own_error(nanobind::python_error& error);

// Makes attnflow::Error raise attnflow.Error with the same kind and message, options spelled as Python's arguments.
void raise_errors_in_python();

}  // namespace attnflow::python
