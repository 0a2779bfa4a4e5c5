// Which kernels of OpenBLAS libtorch multiplies matrices with.
//
// Debian's libtorch multiplies by OpenBLAS, which chooses its kernels when it is opened, by the processor's model
// number. One that is newer than the library is taken for a processor of 2004: OpenBLAS 0.3.21 (Debian 12) runs a Xeon
// of 2023 by SSE3, at a seventh of its speed. What the processor can do is the better guide, and OPENBLAS_CORETYPE
// tells OpenBLAS. A processor that it
// knows may so get the kernels of an older one with the same instructions. Other libraries (MKL) do not read it.
//
// Source: OpenBLAS, driver/others/dynamic.c. https://github.com/OpenMathLib/OpenBLAS
#ifndef ATTNFLOW_MODEL_BLAS_KERNELS_H_
#define ATTNFLOW_MODEL_BLAS_KERNELS_H_

#include <string>

namespace attnflow {

// Sets OPENBLAS_CORETYPE for what is opened from now on, unless it is set or the processor has no vector instructions
// that are worth it. Call it before a backend is opened, while the program has one thread: it writes to the
// environment.
void choose_blas_kernels();

namespace internal {

struct VectorInstructions {
  bool avx2 = false;    // and FMA
  bool avx512 = false;  // F, CD, BW, DQ and VL
};

// OpenBLAS's name of the oldest processor that has them; empty: none is named.
std::string blas_kernels_for(const VectorInstructions& has);

}  // namespace internal

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_BLAS_KERNELS_H_
