#include "attnflow/metrics/statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>

#include "attnflow/base/fail.h"
#include "attnflow/base/random.h"
#include "attnflow/metrics/rank_correlation.h"

namespace attnflow {
namespace {

enum Stream : std::uint64_t { kBootstrap = 0, kSignFlip = 1 };

void check_values(double confidence) {
  if (!(confidence > 0 && confidence < 1))
    fail_with(ErrorKind::kUsage, "expected a confidence between 0 and 1; found {}", confidence);
}

void check_values(const ResamplingOptions& options) {
  check_values(options.confidence);
  if (options.resamples == 0) throw Error(ErrorKind::kUsage, "expected at least one resample; found 0");
}

void check_values(TensorView<const double> values) {
  if (values.rank() != 2) {
    throw Error(ErrorKind::kUsage,
                "expected values of shape [cell, sample]; found shape " + shape_to_string(values.shape()));
  }
  for (const double value : values.span()) {
    if (std::isinf(value)) {
      throw Error(ErrorKind::kUsage, "expected finite values, or NaN where a sample has none; found an infinite one");
    }
  }
}

std::vector<double> without_missing(std::span<const double> values) {
  std::vector<double> present;
  std::copy_if(values.begin(), values.end(), std::back_inserter(present), [](double x) { return !std::isnan(x); });
  return present;
}

// Linear interpolation between neighbors.
double quantile(const std::vector<double>& sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  if (below + 1 >= sorted.size()) return sorted.back();
  return std::lerp(sorted[below], sorted[below + 1], place - static_cast<double>(below));
}

double two_sided_p(double z) { return std::erfc(std::abs(z) / std::sqrt(2.0)); }

// The z with P(|Z| <= z) = confidence, by bisection: two_sided_p(10) is less than the smallest 1 - confidence.
double normal_bound(double confidence) {
  double low = 0;
  double high = 10;
  while (true) {
    const double middle = 0.5 * (low + high);
    if (middle <= low || middle >= high) return middle;
    (two_sided_p(middle) > 1 - confidence ? low : high) = middle;
  }
}

// The values with samples as the outer dimension, so that one weight multiplies a whole row of cells.
struct SampleRows {
  std::size_t samples = 0;
  std::size_t cells = 0;
  std::vector<double> values;                     // [sample, cell], 0 where missing
  std::vector<std::vector<std::size_t>> missing;  // by cell: the samples without a value
};

SampleRows sample_rows(TensorView<const double> values) {
  SampleRows rows;
  rows.cells = values.extent(0);
  rows.samples = values.extent(1);
  rows.values.resize(values.size());
  rows.missing.resize(rows.cells);
  for (std::size_t cell = 0; cell < rows.cells; ++cell) {
    for (std::size_t sample = 0; sample < rows.samples; ++sample) {
      const double value = values(cell, sample);
      if (std::isnan(value)) {
        rows.missing[cell].push_back(sample);
      } else {
        rows.values[sample * rows.cells + cell] = value;
      }
    }
  }
  return rows;
}

// sums[cell] = sum over samples of weight * value. The inner loop runs over cells, whose sums are independent, so the
// compiler can vectorize it without changing the order of any sum.
void weighted_sums(const SampleRows& rows, const std::vector<double>& weights, std::span<double> sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t sample = 0; sample < rows.samples; ++sample) {
    const double weight = weights[sample];
    if (weight == 0) continue;
    const double* values = rows.values.data() + sample * rows.cells;
    double* sum = sums.data();
    for (std::size_t cell = 0; cell < rows.cells; ++cell) sum[cell] += weight * values[cell];
  }
}

void draw_multiplicities(Random& random, std::vector<double>& weights) {
  std::fill(weights.begin(), weights.end(), 0.0);
  for (std::size_t draw = 0; draw < weights.size(); ++draw) weights[random.below(weights.size())] += 1;
}

void draw_signs(Random& random, std::vector<double>& weights) {
  std::uint64_t bits = 0;
  for (std::size_t sample = 0; sample < weights.size(); ++sample) {
    bits = sample % 64 == 0 ? random.next() : bits >> 1;
    weights[sample] = (bits & 1) != 0 ? 1.0 : -1.0;
  }
}

template <typename Draw, typename Body>
void for_each_resample(const SampleRows& rows, const ResamplingOptions& options, Stream stream, const Draw& draw,
                       const Body& body) {
  const std::uint64_t seed = stream_seed(options.seed, stream);
  std::vector<std::vector<double>> weights(resolve_threads(options.parallel.threads));
  parallel_for(options.resamples, options.parallel, [&](std::size_t resample, std::size_t worker) {
    weights[worker].resize(rows.samples);
    Random random(stream_seed(seed, resample));
    draw(random, weights[worker]);
    body(resample, weights[worker]);
  });
}

std::vector<Interval> bootstrap_means(const SampleRows& rows, const ResamplingOptions& options) {
  std::vector<Interval> intervals(rows.cells);
  if (rows.samples == 0 || rows.cells == 0) return intervals;
  Tensor<double> means({options.resamples, rows.cells});
  for_each_resample(rows, options, kBootstrap, draw_multiplicities,
                    [&](std::size_t resample, const std::vector<double>& weights) {
                      const std::span<double> mean = means[resample].span();
                      weighted_sums(rows, weights, mean);
                      for (std::size_t cell = 0; cell < rows.cells; ++cell) {
                        double drawn = static_cast<double>(rows.samples);
                        for (const std::size_t sample : rows.missing[cell]) drawn -= weights[sample];
                        mean[cell] = drawn > 0 ? mean[cell] / drawn : kMissing;
                      }
                    });
  std::vector<double> sorted;
  for (std::size_t cell = 0; cell < rows.cells; ++cell) {
    sorted.clear();
    for (std::size_t resample = 0; resample < options.resamples; ++resample) {
      const double value = means(resample, cell);
      if (!std::isnan(value)) sorted.push_back(value);
    }
    if (sorted.empty()) continue;
    std::sort(sorted.begin(), sorted.end());
    intervals[cell] = {quantile(sorted, 0.5 * (1 - options.confidence)),
                       quantile(sorted, 0.5 * (1 + options.confidence))};
  }
  return intervals;
}

std::vector<double> sign_flip_test(const SampleRows& rows, const ResamplingOptions& options) {
  std::vector<double> p(rows.cells, kMissing);
  if (rows.samples == 0 || rows.cells == 0) return p;
  std::vector<double> observed(rows.cells);
  weighted_sums(rows, std::vector<double>(rows.samples, 1.0), observed);
  // A sum of n terms has an error of at most n u sum |d_i|, u = 2^-53; two sums are compared.
  std::vector<double> threshold(rows.cells);
  for (std::size_t sample = 0; sample < rows.samples; ++sample) {
    for (std::size_t cell = 0; cell < rows.cells; ++cell) {
      threshold[cell] += std::abs(rows.values[sample * rows.cells + cell]);
    }
  }
  for (std::size_t cell = 0; cell < rows.cells; ++cell) {
    threshold[cell] = std::abs(observed[cell]) - 0x1p-52 * static_cast<double>(rows.samples) * threshold[cell];
  }
  Tensor<std::uint8_t> hit({options.resamples, rows.cells});
  for_each_resample(rows, options, kSignFlip, draw_signs, [&](std::size_t resample, const std::vector<double>& signs) {
    std::vector<double> sums(rows.cells);
    weighted_sums(rows, signs, sums);
    for (std::size_t cell = 0; cell < rows.cells; ++cell) {
      hit(resample, cell) = std::abs(sums[cell]) >= threshold[cell] ? 1 : 0;
    }
  });
  for (std::size_t cell = 0; cell < rows.cells; ++cell) {
    if (rows.missing[cell].size() == rows.samples) continue;
    std::size_t hits = 0;
    for (std::size_t resample = 0; resample < options.resamples; ++resample) hits += hit(resample, cell);
    p[cell] = static_cast<double>(hits + 1) / static_cast<double>(options.resamples + 1);
  }
  return p;
}

std::vector<Summary> summarize_rows(TensorView<const double> values, const SampleRows& rows,
                                    const ResamplingOptions& options) {
  const std::vector<Interval> intervals = bootstrap_means(rows, options);
  std::vector<Summary> summaries(rows.cells);
  for (std::size_t cell = 0; cell < rows.cells; ++cell) {
    const std::vector<double> present = without_missing(values[cell].span());
    summaries[cell] = {.count = present.size(),
                       .left_out = rows.samples - present.size(),
                       .mean = mean(present),
                       .std = standard_deviation(present),
                       .median = median(present),
                       .low = intervals[cell].low,
                       .high = intervals[cell].high};
  }
  return summaries;
}

TensorView<const double> one_cell(std::span<const double> values) { return {values.data(), {1, values.size()}}; }

}  // namespace

double mean(std::span<const double> values) {
  if (values.empty()) return kMissing;
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::span<const double> values) {
  if (values.empty()) return kMissing;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return kMissing;
  const double middle = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

Interval wilson_interval(std::size_t successes, std::size_t count, double confidence) {
  check_values(confidence);
  if (successes > count)
    fail_with(ErrorKind::kUsage, "expected at most {} successes of {}; found {}", count, count, successes);
  if (count == 0) return {0, 1};
  const double z = normal_bound(confidence);
  const double k = static_cast<double>(successes);
  const double n = static_cast<double>(count);
  const double middle = k + 0.5 * z * z;
  const double half = z * std::sqrt(k * (n - k) / n + 0.25 * z * z);
  // The ends are set exactly in the cases where rounding would leave a small error.
  return {successes == 0 ? 0.0 : (middle - half) / (n + z * z),
          successes == count ? 1.0 : (middle + half) / (n + z * z)};
}

std::optional<WilcoxonTest> wilcoxon_signed_rank(std::span<const double> differences) {
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double difference : differences) {
    if (!std::isfinite(difference)) fail_with(ErrorKind::kUsage, "expected finite differences; found {}", difference);
    if (difference == 0) continue;
    sizes.push_back(std::abs(difference));
    positive.push_back(difference > 0);
  }
  if (sizes.empty()) return std::nullopt;
  const std::vector<double> ranks = average_ranks(sizes);
  double sum_positive = 0;
  double sum_negative = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) (positive[i] ? sum_positive : sum_negative) += ranks[i];

  // Under exchangeable signs the statistic has mean sum r / 2 and variance sum r^2 / 4, tie correction included.
  double variance = 0;
  for (const double rank : ranks) variance += 0.25 * rank * rank;
  WilcoxonTest test;
  test.count = sizes.size();
  test.zeros = differences.size() - sizes.size();
  test.statistic = std::min(sum_positive, sum_negative);
  test.p = two_sided_p((test.statistic - 0.5 * (sum_positive + sum_negative)) / std::sqrt(variance));
  return test;
}

std::vector<Summary> summarize(TensorView<const double> values, const ResamplingOptions& options) {
  check_values(options);
  check_values(values);
  return summarize_rows(values, sample_rows(values), options);
}

Summary summarize(std::span<const double> values, const ResamplingOptions& options) {
  return summarize(one_cell(values), options).front();
}

std::vector<PairedComparison> compare_paired(TensorView<const double> first, TensorView<const double> second,
                                             const ResamplingOptions& options) {
  check_values(options);
  check_values(first);
  check_values(second);
  if (first.shape() != second.shape()) {
    fail_with(ErrorKind::kUsage, "expected two arrays of the same shape to compare; found {} and {}",
              shape_to_string(first.shape()), shape_to_string(second.shape()));
  }
  Tensor<double> differences(first.shape());
  std::transform(first.span().begin(), first.span().end(), second.span().begin(), differences.span().begin(),
                 std::minus<>());
  check_values(differences.view());
  const SampleRows rows = sample_rows(differences.view());
  const std::vector<Summary> summaries = summarize_rows(differences.view(), rows, options);
  const std::vector<double> sign_flip_p = sign_flip_test(rows, options);
  std::vector<PairedComparison> comparisons(rows.cells);
  for (std::size_t c = 0; c < rows.cells; ++c) {
    comparisons[c] = {summaries[c], sign_flip_p[c], wilcoxon_signed_rank(without_missing(differences[c].span()))};
  }
  return comparisons;
}

PairedComparison compare_paired(std::span<const double> first, std::span<const double> second,
                                const ResamplingOptions& options) {
  return compare_paired(one_cell(first), one_cell(second), options).front();
}

}  // namespace attnflow
