#include "attnflow/model/blas_kernels.h"

#include <cstdlib>

namespace attnflow {
namespace {

internal::VectorInstructions instructions_of_this_processor() {
  internal::VectorInstructions has;
#if defined(__x86_64__)
  has.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  has.avx512 = has.avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl");
#endif
  return has;
}

}  // namespace

std::string internal::blas_kernels_for(const VectorInstructions& has) {
  if (has.avx512) return "SkylakeX";
  return has.avx2 ? "Haswell" : "";
}

void choose_blas_kernels() {
  const std::string kernels = internal::blas_kernels_for(instructions_of_this_processor());
  constexpr int kKeep = 0;
  if (!kernels.empty()) ::setenv("OPENBLAS_CORETYPE", kernels.c_str(), kKeep);
}

}  // namespace attnflow
