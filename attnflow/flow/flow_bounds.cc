#include "attnflow/flow/flow_bounds.h"

#include "attnflow/flow/blocking_flow.h"
#include "attnflow/flow/layered_network.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attnflow/flow/flow_bounds.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace attnflow::internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using Units = hn::CappedTag<std::int64_t, kBlock>;

inline std::int64_t plus(std::int64_t a, std::int64_t b) { return a >= kManyUnits - b ? kManyUnits : a + b; }

std::int64_t sum_minima(const std::int64_t* a, const std::int64_t* b, std::size_t count, std::int64_t start) {
  const Units d;
  const auto many = hn::Set(d, kManyUnits);
  auto sum = hn::Zero(d);
  std::size_t e = 0;
  for (; e + hn::Lanes(d) <= count; e += hn::Lanes(d)) {
    sum = hn::Min(many, hn::Add(sum, hn::Min(hn::LoadU(d, a + e), hn::LoadU(d, b + e))));
  }
  alignas(64) std::int64_t lanes[kBlock];
  hn::Store(sum, d, lanes);
  std::int64_t total = start;
  for (std::size_t lane = 0; lane < hn::Lanes(d); ++lane) total = plus(total, lanes[lane]);
  for (; e < count; ++e) total = plus(total, a[e] < b[e] ? a[e] : b[e]);
  return total;
}

void add_rows(const std::int64_t* row, std::size_t count, std::int64_t* to) {
  const Units d;
  const auto limit = hn::Set(d, kManyUnits / 2);
  std::size_t e = 0;
  for (; e + hn::Lanes(d) <= count; e += hn::Lanes(d)) {
    hn::StoreU(hn::Min(limit, hn::Add(hn::LoadU(d, to + e), hn::LoadU(d, row + e))), d, to + e);
  }
  for (; e < count; ++e) to[e] = kManyUnits / 2 - to[e] < row[e] ? kManyUnits / 2 : to[e] + row[e];
}

std::int64_t push_one_layer(const PushedLayer& layer, const std::int64_t* from, std::int64_t* to) {
  const Units d;
  const hn::RebindToFloat<Units> df;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t q = 0; q < layer.stride; ++q) to[q] = 0;
  std::int64_t arrived = 0;
  for (std::size_t p = 0; p < layer.nodes; ++p) {
    const std::int64_t here = from[p];
    const std::int64_t mass = layer.mass[p];
    if (here == 0 || mass >= kManyUnits) continue;  // a saturated sum is not a sum
    const std::int64_t* row = layer.capacity + p * layer.stride;
    if (here >= mass) {
      for (std::size_t q = 0; q < layer.stride; q += lanes) {
        hn::StoreU(hn::Add(hn::LoadU(d, to + q), hn::LoadU(d, row + q)), d, to + q);
      }
      arrived += mass;
      continue;
    }
    // Rounded down by more than the rounding errors of this line, of row[q] to a double and of the product can add.
    const double part = static_cast<double>(here) / static_cast<double>(mass) * (1.0 - 0x1p-50);
    const auto parts = hn::Set(df, part);
    auto sent = hn::Zero(d);
    for (std::size_t q = 0; q < layer.stride; q += lanes) {
      const auto x = hn::ConvertTo(d, hn::Mul(hn::ConvertTo(df, hn::LoadU(d, row + q)), parts));
      hn::StoreU(hn::Add(hn::LoadU(d, to + q), x), d, to + q);
      sent = hn::Add(sent, x);
    }
    const std::int64_t went = hn::GetLane(hn::SumOfLanes(d, sent));
    arrived += went;
    // The rest, a few units, goes to the widest arc if there is room.
    const std::size_t q = layer.widest[p];
    const std::int64_t on_it = static_cast<std::int64_t>(static_cast<double>(row[q]) * part);
    if (row[q] - on_it >= here - went) {
      to[q] += here - went;
      arrived += here - went;
    }
  }
  return arrived;
}

void add_one_source(const RowSource& source, std::int64_t* minima, std::int64_t* column, std::int64_t* threshold) {
  const Units d;
  const auto many = hn::Set(d, kManyUnits);
  const auto low = hn::Set(d, source.low);
  const auto high = hn::Set(d, source.high);
  std::size_t q = 0;
  for (; q + hn::Lanes(d) <= source.count; q += hn::Lanes(d)) {
    const auto arcs = hn::LoadU(d, source.arcs + q);
    const auto before = hn::LoadU(d, column + q);
    hn::StoreU(hn::Min(hn::LoadU(d, threshold + q), hn::Add(low, before)), d, threshold + q);
    hn::StoreU(hn::Min(many, hn::Add(hn::LoadU(d, minima + q), hn::Min(arcs, high))), d, minima + q);
    hn::StoreU(hn::Min(many, hn::Add(before, arcs)), d, column + q);
  }
  for (; q < source.count; ++q) {
    const std::int64_t arc = source.arcs[q];
    const std::int64_t bound = source.low + column[q];
    threshold[q] = bound < threshold[q] ? bound : threshold[q];
    minima[q] = plus(minima[q], arc < source.high ? arc : source.high);
    column[q] = plus(column[q], arc);
  }
}

std::int64_t sum_parts(const std::int64_t* row, const double* part, std::size_t count) {
  const Units d;
  const hn::RebindToFloat<Units> df;
  auto sum = hn::Zero(d);
  std::size_t e = 0;
  for (; e + hn::Lanes(d) <= count; e += hn::Lanes(d)) {
    sum = hn::Add(sum, hn::ConvertTo(d, hn::Mul(hn::ConvertTo(df, hn::LoadU(d, row + e)), hn::LoadU(df, part + e))));
  }
  std::int64_t total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; e < count; ++e) total += static_cast<std::int64_t>(static_cast<double>(row[e]) * part[e]);
  return total;
}

std::int64_t take_some(const std::int64_t* row, std::size_t count, std::int64_t wanted, std::int64_t* left) {
  const Units d;
  const hn::RebindToFloat<Units> df;
  const std::int64_t all = sum_minima(row, left, count, 0);
  if (all <= wanted) {
    std::size_t e = 0;
    for (; e + hn::Lanes(d) <= count; e += hn::Lanes(d)) {
      const auto has = hn::LoadU(d, left + e);
      hn::StoreU(hn::Sub(has, hn::Min(hn::LoadU(d, row + e), has)), d, left + e);
    }
    for (; e < count; ++e) left[e] -= row[e] < left[e] ? row[e] : left[e];
    return all;
  }
  const double part = static_cast<double>(wanted) / static_cast<double>(all) * (1.0 - 0x1p-50);
  const auto parts = hn::Set(df, part);
  auto sum = hn::Zero(d);
  std::size_t e = 0;
  for (; e + hn::Lanes(d) <= count; e += hn::Lanes(d)) {
    const auto has = hn::LoadU(d, left + e);
    const auto could = hn::Min(hn::LoadU(d, row + e), has);
    const auto taken = hn::ConvertTo(d, hn::Mul(hn::ConvertTo(df, could), parts));
    hn::StoreU(hn::Sub(has, taken), d, left + e);
    sum = hn::Add(sum, taken);
  }
  std::int64_t rest = wanted - hn::GetLane(hn::SumOfLanes(d, sum));
  for (; e < count; ++e) {
    const std::int64_t could = row[e] < left[e] ? row[e] : left[e];
    const auto taken = static_cast<std::int64_t>(static_cast<double>(could) * part);
    left[e] -= taken;
    rest -= taken;
  }
  for (e = 0; e < count && rest > 0; ++e) {
    const auto taken = static_cast<std::int64_t>(static_cast<double>(row[e]) * part);
    std::int64_t more = row[e] - taken;
    if (left[e] < more) more = left[e];
    if (rest < more) more = rest;
    if (more <= 0) continue;
    left[e] -= more;
    rest -= more;
  }
  return wanted - rest;
}

}  // namespace HWY_NAMESPACE
}  // namespace attnflow::internal
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attnflow::internal {

HWY_EXPORT(sum_minima);
HWY_EXPORT(add_rows);
HWY_EXPORT(push_one_layer);
HWY_EXPORT(add_one_source);
HWY_EXPORT(sum_parts);
HWY_EXPORT(take_some);

std::int64_t sum_of_minima(const std::int64_t* a, const std::int64_t* b, std::size_t count, std::int64_t start) {
  return HWY_DYNAMIC_DISPATCH(sum_minima)(a, b, count, start);
}

void add_row(const std::int64_t* row, std::size_t count, std::int64_t* to) {
  HWY_DYNAMIC_DISPATCH(add_rows)(row, count, to);
}

std::int64_t push_down(const PushedLayer& layer, const std::int64_t* from, std::int64_t* to) {
  return HWY_DYNAMIC_DISPATCH(push_one_layer)(layer, from, to);
}

void add_source(const RowSource& source, std::int64_t* minima, std::int64_t* column, std::int64_t* threshold) {
  HWY_DYNAMIC_DISPATCH(add_one_source)(source, minima, column, threshold);
}

namespace {

void add_to_columns(std::span<const std::int64_t> row, std::vector<double>& sums) {
  for (std::size_t q = 0; q < row.size(); ++q) sums[q] += static_cast<double>(row[q]);
}

}  // namespace

std::vector<double> sums_of_columns(const Tensor<std::int64_t>& arcs) {
  std::vector<double> sums(arcs.extent(1), 0.0);
  for (std::size_t p = 0; p < arcs.extent(0); ++p) add_to_columns(arcs[p].span(), sums);
  return sums;
}

std::vector<double> sums_of_columns(const ArcBlock& arcs) {
  std::vector<double> sums(arcs.below(), 0.0);
  for (std::size_t p = 0; p < arcs.above(); ++p) add_to_columns(arcs.row(p), sums);
  return sums;
}

std::int64_t sum_of_parts(const std::int64_t* row, const double* part, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(sum_parts)(row, part, count);
}

std::int64_t take_parts(const std::int64_t* row, std::size_t count, std::int64_t wanted, std::int64_t* left) {
  return HWY_DYNAMIC_DISPATCH(take_some)(row, count, wanted, left);
}

}  // namespace attnflow::internal
#endif  // HWY_ONCE
