// attnflow::Error as the Python exception of the same name.
#pragma once

namespace attnflow::python {

// From now on attnflow::Error is raised as attnflow.Error (python/attnflow/errors.py), with the kind and the message of
// the program, whose options are spelled as Python's arguments.
void raise_errors_in_python();

}  // namespace attnflow::python
