// The inner loops of contributions (graph/contribution_mixing.h), as vector code selected at run time (Highway).
//
// Vectors of the residual stream are zero-padded to a multiple of kVectorBlock, so that no loop has a tail. Every
// number is computed in its own fixed order, which does not depend on what else is computed in the same call.
#pragma once

#include <array>
#include <cstddef>

namespace attnflow::internal {

inline constexpr std::size_t kVectorBlock = 32;  // floats: two of the widest vectors used
inline constexpr std::size_t kGroup = 4;         // queries that share the loaded data of a key
inline constexpr std::size_t kFormBlock = 64;    // keys whose quadratic forms are computed together

// out[r, c] = sum_k values[r, k] projection[k, c]; length is a multiple of kVectorBlock. The projection is stored in
// panels of kVectorBlock columns, [panel, width, kVectorBlock], so that it is read sequentially.
struct Projection {
  const float* values = nullptr;
  std::size_t value_stride = 0;  // between rows
  std::size_t rows = 0;
  std::size_t width = 0;
  const float* projection = nullptr;
  std::size_t length = 0;
  float* out = nullptr;
  std::size_t out_stride = 0;
};
void project_values(const Projection& projection);

// A slice of the outputs y of up to kGroup queries: 2 |y|, and the signs as -0 and 0.
struct GroupOutputs {
  std::size_t count = 0;
  std::array<const float*, kGroup> twice = {};
  std::array<const float*, kGroup> signs = {};
};

// Computes |y|_1 - |y - t|_1 over a slice, for t = sum_m weights[m] vectors[m]. Coordinate by coordinate, with s =
// sign(y) t,
//
//     |y| - |y - t| = min(s, 2 |y| - s),
//
// which loses nothing if t is small compared to y. The result is added to sums[g] for query g of the group, whose
// weights are weights[g] [number of vectors].
void add_gains(const GroupOutputs& outputs, const float* vectors, std::size_t vector_stride, std::size_t vector_count,
               const std::array<const float*, kGroup>& weights, std::size_t length,
               const std::array<double*, kGroup>& sums);

// Likewise for t = weights[g] vector.
void add_gains_of_one(const GroupOutputs& outputs, const float* vector, const std::array<float, kGroup>& weights,
                      std::size_t length, const std::array<double*, kGroup>& sums);

// out = from - sum_m weights[m] vectors[m] over a slice.
void subtract_sum(const float* from, const float* vectors, std::size_t vector_stride, std::size_t vector_count,
                  const float* weights, std::size_t length, float* out);

// Adds vectors' inner products over a slice to `products`, in float64, in the order (0, 0), (1, 0), (1, 1), (2, 0) ...
void add_inner_products(const float* vectors, std::size_t vector_stride, std::size_t vector_count, std::size_t length,
                        double* products);

// Computes sum_m a_m (sum_(k <= m) form_mk a_k) for kFormBlock keys: a [vector, kFormBlock], forms [pair, kFormBlock]
// in the order of add_inner_products(), those of different vectors doubled.
void quadratic_forms(const double* a, const double* forms, std::size_t vector_count, double* out);

}  // namespace attnflow::internal
