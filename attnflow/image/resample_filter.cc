#include "attnflow/image/resample_filter.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attnflow::internal {
namespace {

// The order of the operations in these functions is PIL's: any other order may change a weight's last bit.
double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

double bilinear(double x) {
  x = std::fabs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

double hamming(double x) {
  x = std::fabs(x);
  if (x == 0.0) return 1.0;
  if (x >= 1.0) return 0.0;
  x *= std::numbers::pi;
  // PIL's constants are floats.
  return std::sin(x) / x * (0.54F + 0.46F * std::cos(x));
}

double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::fabs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

double sinc(double x) {
  if (x == 0.0) return 1.0;
  x *= std::numbers::pi;
  return std::sin(x) / x;
}

double lanczos(double x) { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

struct Filter {
  double (*value)(double) = nullptr;
  double support = 0.0;
};

Filter filter_of(Resampling resampling) {
  switch (resampling) {
    case Resampling::kBox:
      return {box, 0.5};
    case Resampling::kHamming:
      return {hamming, 1.0};
    case Resampling::kBicubic:
      return {bicubic, 2.0};
    case Resampling::kLanczos:
      return {lanczos, 3.0};
    case Resampling::kBilinear:
    case Resampling::kNearest:
      break;
  }
  return {bilinear, 1.0};
}

// A position along a row, rounded as PIL does: toward zero, and to at least zero.
std::size_t sample_of(double place) { return place <= 0.0 ? 0 : static_cast<std::size_t>(place); }

std::int32_t fixed_point(double weight) {
  constexpr double kOne = 1 << kWeightBits;
  return static_cast<std::int32_t>(weight < 0 ? -0.5 + weight * kOne : 0.5 + weight * kOne);
}

}  // namespace

ResampleWeights resample_weights(Resampling resampling, std::size_t from, std::size_t to, std::size_t begin,
                                 std::size_t count) {
  const Filter filter = filter_of(resampling);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double filter_scale = std::max(scale, 1.0);
  const double support = filter.support * filter_scale;
  const double inverse = 1.0 / filter_scale;
  ResampleWeights result;
  result.outputs.reserve(count);
  std::vector<double> weights;
  for (std::size_t i = begin; i < begin + count; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const std::size_t first = sample_of(center - support + 0.5);
    const std::size_t end = std::min(from, sample_of(center + support + 0.5));
    double sum = 0.0;
    weights.clear();
    for (std::size_t j = first; j < end; ++j) {
      weights.push_back(filter.value((static_cast<double>(j) - center + 0.5) * inverse));
      sum += weights.back();
    }
    result.outputs.push_back({first, weights.size(), result.weights.size()});
    for (const double weight : weights) result.weights.push_back(fixed_point(sum != 0.0 ? weight / sum : weight));
  }
  return result;
}

std::vector<std::size_t> nearest_samples(std::size_t from, std::size_t to, std::size_t begin, std::size_t count) {
  std::vector<std::size_t> samples;
  samples.reserve(count);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  // PIL adds up the steps, and this rounds in the same way.
  double place = scale * 0.5;
  for (std::size_t i = 0; i < begin + count; ++i, place += scale) {
    if (i >= begin) samples.push_back(std::min(from, static_cast<std::size_t>(place)));
  }
  return samples;
}

}  // namespace attnflow::internal
