#include "attnflow/model/torch/split_work.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "attnflow/base/parallel_for.h"

// OpenBLAS, which Debian's libtorch multiplies with, has its own threads. The symbol is weak because other libraries,
// which follow libtorch's setting, lack it.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int threads);

namespace attnflow::internal {

void keep_calls_on_one_thread() {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(1);
  at::set_num_threads(1);
  at::init_num_threads();  // for the calling thread, which may belong to the caller's program
}

void split_work(std::size_t threads, std::int64_t count, const std::function<void(std::int64_t block)>& body) {
  parallel_for(static_cast<std::size_t>(count), {.threads = threads}, [&](std::size_t block, std::size_t worker) {
    const c10::InferenceMode no_gradients;  // applies to one thread
    // On workers other than 0, the caller, OpenMP would use the whole machine until libtorch passes its own setting on,
    // which it does only before some of its calls.
    if (worker != 0) at::init_num_threads();
    body(static_cast<std::int64_t>(block));
  });
}

}  // namespace attnflow::internal
