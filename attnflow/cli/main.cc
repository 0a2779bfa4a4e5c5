// attnflow: which input tokens did each output of a Transformer depend on?
//
// Standard output is data, standard error is messages. Exit codes are those of attnflow::ErrorKind.

#include <cstdlib>

#include "attnflow/cli/attnflow.h"
#include "attnflow/cli/messages.h"
#include "attnflow/cli/run_app.h"
#include "attnflow/model/blas_kernels.h"

namespace {

// Skips the destructors of global objects: libtorch's take a tenth of a small run, and all files are closed. Sanitizers
// look for leaks after main(), so this then returns.
void leave() {
#ifndef ATTNFLOW_SANITIZE
  std::_Exit(0);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  attnflow::choose_blas_kernels();
  attnflow::reserve_standard_descriptors();
  const int code = attnflow::run_attnflow(attnflow::command_arguments(argc, argv));
  if (code == 0) leave();
  return code;
}
