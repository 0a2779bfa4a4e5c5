// Statistics of a mean over samples: its uncertainty, and whether two methods' means differ.
//
// Problem. A table cell (one method at one layer) is the mean of some number over samples, which cells share. A few may
// have no value in a cell (a constant vector has no correlation). A cell's values are x_1 .. x_n, NaN where missing:
//
//   mean     sum x_i / n
//   std      sqrt(sum (x_i - mean)^2 / (n - 1)), the sample standard deviation (of the samples, not of the mean)
//   interval percentile bootstrap (Efron, 1979) of the mean: draw n samples with replacement, take their mean, repeat;
//            the interval goes from the (1 - confidence) / 2 to the (1 + confidence) / 2 quantile of these means
//            (linear interpolation between neighbors, as in numpy.percentile).
//
// Two methods on the same samples are compared by their differences d_i = x_i - y_i, over the samples that have both:
//
//   interval         percentile bootstrap of the mean of d
//   sign-flip test   permutation test (Fisher, 1935). If the methods were exchangeable, each d_i could just as well be
//                    -d_i. p = (hits + 1) / (N + 1), where hits counts those of N random choices of signs whose |sum
//                    d_i| is at least as large as the observed one; equality up to rounding counts as a hit. Never 0
//                    (Phipson & Smyth, 2010).
//   Wilcoxon         signed-rank test (Wilcoxon, 1945): zero differences dropped, average ranks of |d|, normal
//                    approximation with tie correction, no continuity correction. The same as
//                    scipy.stats.wilcoxon(d, zero_method="wilcox", correction=False, method="approx").
//
// All p values are two-sided and not corrected for the number of comparisons.
//
// Method. One sweep computes all cells with the same draws: a resample is a vector of weights (how often each sample
// was drawn, or its sign), which multiplies all cells at once. So the interval of a difference is consistent with the
// resamples of its two cells. A resample with only samples that a cell lacks is excluded from that cell's quantiles.
//
// Cost: O(resamples * samples * cells) time (10,000 * 2,000 * 72: about a second), 8 bytes per resample and cell.
//
// Determinism: resample r has its own generator, seeded by (seed, r), so results do not depend on the number of
// threads. Errors: Error(kUsage) for wrong shapes, infinite values, no resamples, and a confidence outside (0, 1).
//
// References:
//   B. Efron, Bootstrap Methods: Another Look at the Jackknife, Annals of Statistics 7, 1979:
//     https://doi.org/10.1214/aos/1176344552
//   R. A. Fisher, The Design of Experiments, 1935
//   B. Phipson and G. K. Smyth, Permutation P-values Should Never Be Zero, Stat. Appl. Genet. Mol. Biol. 9, 2010:
//     https://doi.org/10.2202/1544-6115.1585
//   F. Wilcoxon, Individual Comparisons by Ranking Methods, Biometrics Bulletin 1, 1945:
//     https://doi.org/10.2307/3001968
//   E. B. Wilson, Probable Inference, the Law of Succession, and Statistical Inference, J. Am. Stat. Assoc. 22, 1927:
//     https://doi.org/10.1080/01621459.1927.10502953
//
// Example:
//
//     const Interval accuracy = wilson_interval(90, 100);  // 0.826 to 0.945
//     assert(accuracy.low > 0.825 && accuracy.high < 0.945);
//     const std::vector<double> raw = {0.1, 0.3, kMissing, 0.2}, rolled = {0.4, 0.6, 0.5, 0.3};  // one per sample
//     const Summary summary = summarize(rolled);
//     std::printf("%.2f in [%.2f, %.2f]\n", summary.mean, summary.low, summary.high);
//     const PairedComparison comparison = compare_paired(rolled, raw, {.seed = 1});
//     assert(comparison.difference.count == 3 && comparison.difference.left_out == 1);
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "attnflow/base/parallel_for.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

inline constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

// NaN for no values, or if any value is NaN (likewise for standard_deviation).
double mean(std::span<const double> values);

// The mean of the middle two for an even number; NaN for no values. Values must not be NaN.
double median(std::span<const double> values);

// With divisor n - 1; NaN for fewer than two values.
double standard_deviation(std::span<const double> values);

struct Interval {
  double low = kMissing;
  double high = kMissing;
};

// Returns Wilson's score interval (Wilson, 1927) for the probability underlying `successes` out of `count`: all p with
// |successes / count - p| <= z sqrt(p (1 - p) / count). Unlike mean +- z std, it stays in [0, 1] and keeps its
// confidence for few successes or failures. [0, 1] for a count of 0.
Interval wilson_interval(std::size_t successes, std::size_t count, double confidence = 0.95);

struct WilcoxonTest {
  std::size_t count = 0;  // nonzero differences
  std::size_t zeros = 0;  // differences that were dropped
  double statistic = 0;   // the smaller of the rank sums of positive and negative differences
  double p = 1;           // two-sided, normal approximation (rough for a count below about 10)
};

// Returns nothing if all differences are zero. Differences must be finite.
std::optional<WilcoxonTest> wilcoxon_signed_rank(std::span<const double> differences);

struct ResamplingOptions {
  std::uint64_t seed = 0;
  std::size_t resamples = 10000;  // for the bootstrap, and number of sign choices for the sign-flip test
  double confidence = 0.95;
  ParallelOptions parallel = {};  // threads, progress (in resamples, restarting at 0 for each sweep), cancellation
};

struct Summary {
  std::size_t count = 0;     // samples with a value
  std::size_t left_out = 0;  // samples without one
  double mean = kMissing;    // NaN when count is 0
  double std = kMissing;     // NaN when count is below 2
  double median = kMissing;  // NaN when count is 0
  double low = kMissing;     // the bootstrap interval of the mean; NaN when count is 0
  double high = kMissing;
};

// The bootstrap of fewer values says little of their mean.
inline constexpr std::size_t kFewestForInterval = 10;

// Returns one summary per cell. `values` is [cell, sample], NaN where a sample has no value in a cell.
std::vector<Summary> summarize(TensorView<const double> values, const ResamplingOptions& options = {});

Summary summarize(std::span<const double> values, const ResamplingOptions& options = {});

struct PairedComparison {
  Summary difference;                    // of first - second, over the samples that have both
  double sign_flip_p = kMissing;         // NaN when difference.count is 0
  std::optional<WilcoxonTest> wilcoxon;  // nothing if all differences are zero
};

// Compares first[c] with second[c], both [comparison, sample] with the same samples in order, NaN for missing values.
std::vector<PairedComparison> compare_paired(TensorView<const double> first, TensorView<const double> second,
                                             const ResamplingOptions& options = {});

PairedComparison compare_paired(std::span<const double> first, std::span<const double> second,
                                const ResamplingOptions& options = {});

}  // namespace attnflow
