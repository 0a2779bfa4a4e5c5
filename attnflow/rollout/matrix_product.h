// The matrix product under rollout.
#ifndef ATTNFLOW_ROLLOUT_MATRIX_PRODUCT_H_
#define ATTNFLOW_ROLLOUT_MATRIX_PRODUCT_H_

#include <cstddef>

#include "attnflow/tensor/tensor.h"

namespace attnflow {

// C = A B for float64 row-major A [rows, inner] and B [inner, columns]: 2 rows * inner * columns operations, minus
// those of A's rows that end in zeros (causal attention does half the work).
//
// Each C[i, j] adds A[i, k] B[k, j] for k = 0, 1, ... in that order, one at a time, so the result has the same bits for
// any number of threads, any block size and any vector width (a machine with fused multiply-add rounds once a term
// instead of twice). That is why this is not a BLAS call: their order of summation depends on all three.
// Vector code is chosen at run time (Highway).
void multiply(TensorView<const double> a, TensorView<const double> b, TensorView<double> c, std::size_t threads = 1);

}  // namespace attnflow

#endif  // ATTNFLOW_ROLLOUT_MATRIX_PRODUCT_H_
