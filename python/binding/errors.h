// attnflow::Error as the Python exception of the same name.
#pragma once

namespace attnflow::python {

// Makes attnflow::Error raise attnflow.Error (python/attnflow/errors.py), with the program's kind and message, in which
// options are spelled as Python's arguments.
void raise_errors_in_python();

}  // namespace attnflow::python
