// The matrix product used by rollout.
#pragma once

#include <cstddef>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// C = A B for float64 row-major A [rows, inner] and B [inner, columns]: 2 rows * inner * columns operations, less for
// rows of A that end in zeros (half for causal attention).
//
// Each C[i, j] adds A[i, k] B[k, j] for k = 0, 1, ... one at a time, so the bits are the same for any number of
// threads, block size and vector width (a machine with fused multiply-add rounds once per term instead of twice). A
// BLAS call's order of summation would depend on all three. Vector code is selected at run time (Highway).
void multiply(TensorView<const double> a, TensorView<const double> b, TensorView<double> c, std::size_t threads = 1);

}  // namespace attnflow
