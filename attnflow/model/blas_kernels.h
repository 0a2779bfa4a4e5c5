// Chooses the OpenBLAS kernels that libtorch uses to multiply matrices.
//
// Debian's libtorch multiplies with OpenBLAS, which chooses its kernels by processor model number when it is loaded. A
// model newer than the library is treated as a processor of 2004: OpenBLAS 0.3.21 (Debian 12) runs a Xeon of 2023 with
// SSE3, at a seventh of its speed. The processor's instruction set is a better guide, and OPENBLAS_CORETYPE passes it
// to OpenBLAS. As a result, a processor known to OpenBLAS may get the kernels of an older one with the same
// instructions. Other libraries (MKL) do not read the variable.
//
// Source: OpenBLAS, driver/others/dynamic.c. https://github.com/OpenMathLib/OpenBLAS
#pragma once

#include <string>

namespace attnflow {

// Sets OPENBLAS_CORETYPE for libraries loaded from now on, unless it is already set or the processor has no vector
// instructions that make it worthwhile. Call it before a backend is loaded, while the program has one thread, because
// it writes to the environment.
void choose_blas_kernels();

namespace internal {

struct VectorInstructions {
  bool avx2 = false;    // and FMA
  bool avx512 = false;  // F, CD, BW, DQ and VL
};

// Returns OpenBLAS's name of the oldest processor that has these instructions, or an empty string.
std::string blas_kernels_for(const VectorInstructions& has);

}  // namespace internal

}  // namespace attnflow
