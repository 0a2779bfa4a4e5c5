// Chooses the OpenBLAS kernels that libtorch uses to multiply matrices.
//
// Debian's libtorch multiplies with OpenBLAS, which chooses its kernels by processor model number when it is loaded. It
// treats a newer model as a processor of 2004: OpenBLAS 0.3.21 (Debian 12) runs a Xeon of 2023 with SSE3, at a seventh
// of its speed. OPENBLAS_CORETYPE chooses by instruction set instead, so a known processor may get the kernels of an
// older one with the same instructions. Other libraries (MKL) do not read it.
//
// Source: OpenBLAS, driver/others/dynamic.c. https://github.com/OpenMathLib/OpenBLAS
#pragma once

#include <string>

namespace attnflow {

// Sets OPENBLAS_CORETYPE unless it is already set or the processor lacks the vector instructions that would make it
// worthwhile. Call it before a backend is loaded and while the program has one thread: it writes to the environment.
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
