// attnflow::Error as the Python exception of the same name.
#pragma once

namespace attnflow::python {

// Makes attnflow::Error raise attnflow.Error with the same kind and message, options spelled as Python's arguments.
void raise_errors_in_python();

}  // namespace attnflow::python
