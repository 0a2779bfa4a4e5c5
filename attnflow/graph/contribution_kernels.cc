#include "attnflow/graph/contribution_kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnflow/graph/contribution_kernels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attnflow::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Floats = hn::CappedTag<float, kVectorBlock / 2>;
using Doubles = hn::CappedTag<double, kVectorBlock / 4>;

double sum_lanes(hn::Vec<Floats> v) {
  const Floats d;
  alignas(64) float lanes[kVectorBlock / 2];
  hn::Store(v, d, lanes);
  double sum = 0.0;
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) sum += static_cast<double>(lanes[lane]);
  return sum;
}

// Keeps two vectors of columns, from column c of a panel, times kRows rows in registers over the whole inner loop.
template <std::size_t kRows>
void project_rows(const Projection& p, std::size_t first, const float* panel, std::size_t c) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  const float* values = p.values + first * p.value_stride;
  float* out = p.out + first * p.out_stride + c;
  hn::Vec<Floats> low[kRows];
  hn::Vec<Floats> high[kRows];
  for (std::size_t r = 0; r < kRows; ++r) low[r] = high[r] = hn::Zero(d);
  for (std::size_t k = 0; k < p.width; ++k) {
    const auto o_low = hn::LoadU(d, panel + k * kVectorBlock);
    const auto o_high = hn::LoadU(d, panel + k * kVectorBlock + lanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto value = hn::Set(d, values[r * p.value_stride + k]);
      low[r] = hn::MulAdd(value, o_low, low[r]);
      high[r] = hn::MulAdd(value, o_high, high[r]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    hn::StoreU(low[r], d, out + r * p.out_stride);
    hn::StoreU(high[r], d, out + r * p.out_stride + lanes);
  }
}

void project_all(const Projection& p) {
  const std::size_t step = 2 * hn::Lanes(Floats());
  for (std::size_t c = 0; c < p.length; c += step) {
    const float* panel = p.projection + c / kVectorBlock * kVectorBlock * p.width + c % kVectorBlock;
    std::size_t first = 0;
    for (; first + 4 <= p.rows; first += 4) project_rows<4>(p, first, panel, c);
    for (; first < p.rows; ++first) project_rows<1>(p, first, panel, c);
  }
}

HWY_INLINE hn::Vec<Floats> gain(hn::Vec<Floats> t, hn::Vec<Floats> twice, hn::Vec<Floats> sign) {
  const auto s = hn::Xor(t, sign);
  return hn::Min(s, hn::Sub(twice, s));
}

template <std::size_t kCount>
void gains(const GroupOutputs& outputs, const float* vectors, std::size_t vector_stride, std::size_t vector_count,
           const std::array<const float*, kGroup>& weights, std::size_t length,
           const std::array<double*, kGroup>& sums) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<Floats> sum[kCount];
  for (std::size_t g = 0; g < kCount; ++g) sum[g] = hn::Zero(d);
  for (std::size_t c = 0; c < length; c += 2 * lanes) {
    hn::Vec<Floats> low[kCount];
    hn::Vec<Floats> high[kCount];
    for (std::size_t g = 0; g < kCount; ++g) low[g] = high[g] = hn::Zero(d);
    for (std::size_t m = 0; m < vector_count; ++m) {
      const auto v_low = hn::LoadU(d, vectors + m * vector_stride + c);
      const auto v_high = hn::LoadU(d, vectors + m * vector_stride + c + lanes);
      for (std::size_t g = 0; g < kCount; ++g) {
        const auto weight = hn::Set(d, weights[g][m]);
        low[g] = hn::MulAdd(weight, v_low, low[g]);
        high[g] = hn::MulAdd(weight, v_high, high[g]);
      }
    }
    for (std::size_t g = 0; g < kCount; ++g) {
      sum[g] = hn::Add(sum[g], gain(low[g], hn::LoadU(d, outputs.twice[g] + c), hn::LoadU(d, outputs.signs[g] + c)));
      sum[g] = hn::Add(sum[g], gain(high[g], hn::LoadU(d, outputs.twice[g] + c + lanes),
                                    hn::LoadU(d, outputs.signs[g] + c + lanes)));
    }
  }
  for (std::size_t g = 0; g < kCount; ++g) *sums[g] += sum_lanes(sum[g]);
}

void group_gains(const GroupOutputs& outputs, const float* vectors, std::size_t vector_stride, std::size_t vector_count,
                 const std::array<const float*, kGroup>& weights, std::size_t length,
                 const std::array<double*, kGroup>& sums) {
  switch (outputs.count) {
    case 4:
      return gains<4>(outputs, vectors, vector_stride, vector_count, weights, length, sums);
    case 3:
      return gains<3>(outputs, vectors, vector_stride, vector_count, weights, length, sums);
    case 2:
      return gains<2>(outputs, vectors, vector_stride, vector_count, weights, length, sums);
    default:
      return gains<1>(outputs, vectors, vector_stride, vector_count, weights, length, sums);
  }
}

template <std::size_t kCount>
void gains_of_one(const GroupOutputs& outputs, const float* vector, const std::array<float, kGroup>& weights,
                  std::size_t length, const std::array<double*, kGroup>& sums) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<Floats> low[kCount];
  hn::Vec<Floats> high[kCount];
  hn::Vec<Floats> weight[kCount];
  for (std::size_t g = 0; g < kCount; ++g) {
    low[g] = high[g] = hn::Zero(d);
    weight[g] = hn::Set(d, weights[g]);
  }
  for (std::size_t c = 0; c < length; c += 2 * lanes) {
    const auto v_low = hn::LoadU(d, vector + c);
    const auto v_high = hn::LoadU(d, vector + c + lanes);
    for (std::size_t g = 0; g < kCount; ++g) {
      low[g] = hn::Add(low[g], gain(hn::Mul(weight[g], v_low), hn::LoadU(d, outputs.twice[g] + c),
                                    hn::LoadU(d, outputs.signs[g] + c)));
      high[g] = hn::Add(high[g], gain(hn::Mul(weight[g], v_high), hn::LoadU(d, outputs.twice[g] + c + lanes),
                                      hn::LoadU(d, outputs.signs[g] + c + lanes)));
    }
  }
  for (std::size_t g = 0; g < kCount; ++g) *sums[g] += sum_lanes(hn::Add(low[g], high[g]));
}

void group_gains_of_one(const GroupOutputs& outputs, const float* vector, const std::array<float, kGroup>& weights,
                        std::size_t length, const std::array<double*, kGroup>& sums) {
  switch (outputs.count) {
    case 4:
      return gains_of_one<4>(outputs, vector, weights, length, sums);
    case 3:
      return gains_of_one<3>(outputs, vector, weights, length, sums);
    case 2:
      return gains_of_one<2>(outputs, vector, weights, length, sums);
    default:
      return gains_of_one<1>(outputs, vector, weights, length, sums);
  }
}

void subtract(const float* from, const float* vectors, std::size_t vector_stride, std::size_t vector_count,
              const float* weights, std::size_t length, float* out) {
  const Floats d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t c = 0; c < length; c += 2 * lanes) {
    auto low = hn::Zero(d);
    auto high = hn::Zero(d);
    for (std::size_t m = 0; m < vector_count; ++m) {
      const auto weight = hn::Set(d, weights[m]);
      low = hn::MulAdd(weight, hn::LoadU(d, vectors + m * vector_stride + c), low);
      high = hn::MulAdd(weight, hn::LoadU(d, vectors + m * vector_stride + c + lanes), high);
    }
    hn::StoreU(hn::Sub(hn::LoadU(d, from + c), low), d, out + c);
    hn::StoreU(hn::Sub(hn::LoadU(d, from + c + lanes), high), d, out + c + lanes);
  }
}

template <std::size_t kCount>
void products_of(const float* vectors, std::size_t vector_stride, std::size_t m, std::size_t first, std::size_t length,
                 double* products) {
  const Doubles d;
  const hn::Rebind<float, Doubles> df;
  const std::size_t lanes = hn::Lanes(d);
  hn::Vec<Doubles> sum[kCount];
  for (std::size_t k = 0; k < kCount; ++k) sum[k] = hn::Zero(d);
  for (std::size_t c = 0; c < length; c += lanes) {
    const auto a = hn::PromoteTo(d, hn::LoadU(df, vectors + m * vector_stride + c));
    for (std::size_t k = 0; k < kCount; ++k) {
      sum[k] = hn::MulAdd(a, hn::PromoteTo(d, hn::LoadU(df, vectors + (first + k) * vector_stride + c)), sum[k]);
    }
  }
  for (std::size_t k = 0; k < kCount; ++k) products[k] += hn::GetLane(hn::SumOfLanes(d, sum[k]));
}

void products(const float* vectors, std::size_t vector_stride, std::size_t vector_count, std::size_t length,
              double* out) {
  for (std::size_t m = 0; m < vector_count; ++m) {
    std::size_t k = 0;
    for (; k + 4 <= m + 1; k += 4, out += 4) products_of<4>(vectors, vector_stride, m, k, length, out);
    for (; k <= m; ++k, ++out) products_of<1>(vectors, vector_stride, m, k, length, out);
  }
}

void forms_of_block(const double* a, const double* forms, std::size_t vector_count, double* out) {
  const Doubles d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t j = 0; j < kFormBlock; j += 2 * lanes) {
    auto low = hn::Zero(d);
    auto high = hn::Zero(d);
    const double* form = forms + j;
    for (std::size_t m = 0; m < vector_count; ++m) {
      auto inner_low = hn::Zero(d);
      auto inner_high = hn::Zero(d);
      for (std::size_t k = 0; k <= m; ++k, form += kFormBlock) {
        inner_low = hn::MulAdd(hn::LoadU(d, form), hn::LoadU(d, a + k * kFormBlock + j), inner_low);
        inner_high = hn::MulAdd(hn::LoadU(d, form + lanes), hn::LoadU(d, a + k * kFormBlock + j + lanes), inner_high);
      }
      low = hn::MulAdd(inner_low, hn::LoadU(d, a + m * kFormBlock + j), low);
      high = hn::MulAdd(inner_high, hn::LoadU(d, a + m * kFormBlock + j + lanes), high);
    }
    hn::StoreU(low, d, out + j);
    hn::StoreU(high, d, out + j + lanes);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attnflow::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnflow::internal {

HWY_EXPORT(project_all);
HWY_EXPORT(group_gains);
HWY_EXPORT(group_gains_of_one);
HWY_EXPORT(subtract);
HWY_EXPORT(products);
HWY_EXPORT(forms_of_block);

void project_values(const Projection& projection) { HWY_DYNAMIC_DISPATCH(project_all)(projection); }

void add_gains(const GroupOutputs& outputs, const float* vectors, std::size_t vector_stride, std::size_t vector_count,
               const std::array<const float*, kGroup>& weights, std::size_t length,
               const std::array<double*, kGroup>& sums) {
  HWY_DYNAMIC_DISPATCH(group_gains)(outputs, vectors, vector_stride, vector_count, weights, length, sums);
}

void add_gains_of_one(const GroupOutputs& outputs, const float* vector, const std::array<float, kGroup>& weights,
                      std::size_t length, const std::array<double*, kGroup>& sums) {
  HWY_DYNAMIC_DISPATCH(group_gains_of_one)(outputs, vector, weights, length, sums);
}

void subtract_sum(const float* from, const float* vectors, std::size_t vector_stride, std::size_t vector_count,
                  const float* weights, std::size_t length, float* out) {
  HWY_DYNAMIC_DISPATCH(subtract)(from, vectors, vector_stride, vector_count, weights, length, out);
}

void add_inner_products(const float* vectors, std::size_t vector_stride, std::size_t vector_count, std::size_t length,
                        double* products) {
  HWY_DYNAMIC_DISPATCH(products)(vectors, vector_stride, vector_count, length, products);
}

void quadratic_forms(const double* a, const double* forms, std::size_t vector_count, double* out) {
  HWY_DYNAMIC_DISPATCH(forms_of_block)(a, forms, vector_count, out);
}

}  // namespace attnflow::internal
#endif  // HWY_ONCE
