#include "attnflow/metrics/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/metrics/golden_evaluate_for_test.h"

namespace attnflow::statistics_test {
namespace {

using Values = std::vector<double>;

// Compares bits, so that NaN equals NaN.
bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
bool same(const Summary& a, const Summary& b) {
  return a.count == b.count && a.left_out == b.left_out && same(a.mean, b.mean) && same(a.std, b.std) &&
         same(a.median, b.median) && same(a.low, b.low) && same(a.high, b.high);
}

Tensor<double> random_cells(std::size_t cells, std::size_t samples, double missing, std::uint64_t seed) {
  Random random(seed);
  Tensor<double> values({cells, samples});
  for (double& value : values.span()) value = random.uniform() < missing ? kMissing : 0.4 + 0.3 * random.normal();
  return values;
}

TEST(Statistics, MeanAndStandardDeviation) {
  for (const nlohmann::json& example : golden_cases("samples")) {
    const Values values = example.at("values").get<Values>();
    EXPECT_NEAR(mean(values), example.at("mean").get<double>(), 1e-12);
    EXPECT_NEAR(standard_deviation(values), example.at("std").get<double>(), 1e-12);
  }
  EXPECT_TRUE(std::isnan(mean({})));
  EXPECT_TRUE(std::isnan(standard_deviation(Values{1})));
  EXPECT_EQ(standard_deviation(Values{2, 2}), 0.0);
  EXPECT_EQ(median(Values{3, 1, 2}), 2.0);
  EXPECT_EQ(median(Values{4, 1, 2, 9}), 3.0);
  EXPECT_TRUE(std::isnan(median({})));
  EXPECT_EQ(summarize(Values{3, kMissing, 1, 2, 2}, {}).median, 2.0);
}

TEST(Statistics, WilsonAgreesWithSciPy) {
  for (const nlohmann::json& example : golden_cases("wilson")) {
    const Interval interval = wilson_interval(example.at("successes"), example.at("count"), example.at("confidence"));
    EXPECT_NEAR(interval.low, example.at("low").get<double>(), 1e-12) << example;
    EXPECT_NEAR(interval.high, example.at("high").get<double>(), 1e-12) << example;
  }
  EXPECT_EQ(wilson_interval(0, 9).low, 0.0);
  EXPECT_EQ(wilson_interval(9, 9).high, 1.0);
  EXPECT_EQ(wilson_interval(0, 0).low, 0.0);
  EXPECT_EQ(wilson_interval(0, 0).high, 1.0);
  EXPECT_THROW(wilson_interval(1, 2, kMissing), Error);
}

TEST(Statistics, WilcoxonAgreesWithSciPy) {
  std::size_t with_zeros = 0;
  for (const nlohmann::json& example : golden_cases("wilcoxon")) {
    SCOPED_TRACE(example.at("name").get<std::string>());
    const Values differences = example.at("differences").get<Values>();
    const std::optional<WilcoxonTest> test = wilcoxon_signed_rank(differences);
    ASSERT_TRUE(test);
    EXPECT_EQ(test->count, example.at("count").get<std::size_t>());
    EXPECT_EQ(test->count + test->zeros, differences.size());
    EXPECT_EQ(test->statistic, example.at("statistic").get<double>());
    EXPECT_NEAR(test->p, example.at("p").get<double>(), 1e-12);
    if (test->zeros != 0) ++with_zeros;
  }
  EXPECT_GE(with_zeros, 3U);
  EXPECT_FALSE(wilcoxon_signed_rank({}));
  EXPECT_FALSE(wilcoxon_signed_rank(Values{0, 0}));
  EXPECT_THROW(wilcoxon_signed_rank(Values{1, kMissing}), Error);
}

Interval naive_bootstrap(const Values& values, const ResamplingOptions& options) {
  Values means;
  for (std::size_t resample = 0; resample < options.resamples; ++resample) {
    Random random(stream_seed(stream_seed(options.seed, 0), resample));
    long double sum = 0;
    std::size_t count = 0;
    for (std::size_t draw = 0; draw < values.size(); ++draw) {
      const double value = values[random.below(values.size())];
      if (std::isnan(value)) continue;
      sum += static_cast<long double>(value);
      ++count;
    }
    if (count != 0) means.push_back(static_cast<double>(sum / static_cast<long double>(count)));
  }
  if (means.empty()) return {};
  std::sort(means.begin(), means.end());
  const auto at = [&](double q) {
    const double place = q * static_cast<double>(means.size() - 1);
    const auto below = static_cast<std::size_t>(std::floor(place));
    const std::size_t above = std::min(below + 1, means.size() - 1);
    const double share = place - static_cast<double>(below);
    return means[below] * (1 - share) + means[above] * share;
  };
  return {at(0.5 - 0.5 * options.confidence), at(0.5 + 0.5 * options.confidence)};
}

TEST(Bootstrap, IsItsDefinitionInEveryCell) {
  for (const std::size_t samples : {1U, 2U, 5U, 60U}) {
    for (const double missing : {0.0, 0.2, 0.9}) {
      const Tensor<double> values = random_cells(5, samples, missing, samples);
      const ResamplingOptions options{.seed = 11, .resamples = 300, .confidence = 0.9};
      const std::vector<Summary> summaries = summarize(values.view(), options);
      ASSERT_EQ(summaries.size(), 5U);
      for (std::size_t cell = 0; cell < 5; ++cell) {
        const Values one(values[cell].span().begin(), values[cell].span().end());
        const Interval expected = naive_bootstrap(one, options);
        const Summary& found = summaries[cell];
        EXPECT_EQ(found.count + found.left_out, samples);
        EXPECT_EQ(std::isnan(found.low), found.count == 0);
        if (found.count == 0) {
          EXPECT_TRUE(std::isnan(found.mean) && std::isnan(found.high) && std::isnan(expected.low));
          continue;
        }
        EXPECT_NEAR(found.low, expected.low, 1e-14);
        EXPECT_NEAR(found.high, expected.high, 1e-14);
        EXPECT_TRUE(same(found, summarize(one, options)));  // a cell does not depend on the others
      }
    }
  }
}

// The quantile q of B means has standard deviation sqrt(q (1 - q) / B) / density there: 0.0085 std of the mean for q =
// 0.025 and B = 10^5, on both sides. The tolerance is six of those.
TEST(Bootstrap, AgreesWithSciPyUpToChance) {
  for (const nlohmann::json& example : golden_cases("samples")) {
    const Values values = example.at("values").get<Values>();
    const std::size_t resamples = example.at("bootstrap_resamples");
    const Summary summary = summarize(values, {.seed = 3, .resamples = resamples});
    const double unit = summary.std / std::sqrt(static_cast<double>(values.size()));
    const double chance = 6 * std::sqrt(2.0) * 0.0085 * unit;
    EXPECT_EQ(resamples, 100000U);
    EXPECT_NEAR(summary.low, example.at("bootstrap_low").get<double>(), chance);
    EXPECT_NEAR(summary.high, example.at("bootstrap_high").get<double>(), chance);
    EXPECT_GT(summary.high - summary.low, 2 * unit);
  }
}

// SciPy counts all sign choices whose sum is at least as large. Tolerance: six standard deviations of 10^5 flips.
TEST(SignFlip, AgreesWithAllSignChoices) {
  for (const nlohmann::json& example : golden_cases("samples")) {
    const Values differences = example.at("differences").get<Values>();
    const Values zeros(differences.size(), 0.0);
    const PairedComparison found = compare_paired(differences, zeros, {.seed = 5, .resamples = 100000});
    const double p = example.at("sign_flip_p").get<double>();
    EXPECT_NEAR(found.sign_flip_p, p, 6 * std::sqrt(p * (1 - p) / 100000));
  }
}

TEST(SignFlip, TiesCountAsHitsAndPIsNeverZero) {
  // Sums of +-0.1 take few values, but only exact arithmetic sees that: |sum| >= 5 of 5 happens twice in 32.
  const Values tenths(5, 0.1);
  const PairedComparison equal = compare_paired(tenths, Values(5, 0.0), {.resamples = 100000});
  EXPECT_NEAR(equal.sign_flip_p, 2.0 / 32, 6 * std::sqrt(2.0 / 32 / 100000));
  const PairedComparison far = compare_paired(Values(200, 1.0), Values(200, 0.5), {.resamples = 999});
  EXPECT_EQ(far.sign_flip_p, 0.001);
  const PairedComparison none = compare_paired(tenths, tenths, {.resamples = 99});
  EXPECT_EQ(none.sign_flip_p, 1.0);
  EXPECT_FALSE(none.wilcoxon);
  EXPECT_EQ(none.difference.mean, 0.0);
}

TEST(ComparePaired, UsesTheSamplesThatHaveBoth) {
  Tensor<double> first({2, 4}, {1, kMissing, 3, 5, kMissing, 1, kMissing, 1});
  Tensor<double> second({2, 4}, {0, 1, kMissing, 2, 1, kMissing, kMissing, kMissing});
  const std::vector<PairedComparison> found = compare_paired(first.view(), second.view(), {.resamples = 50});
  EXPECT_EQ(found[0].difference.count, 2U);
  EXPECT_EQ(found[0].difference.left_out, 2U);
  EXPECT_EQ(found[0].difference.mean, 2.0);
  EXPECT_EQ(found[0].wilcoxon.value().count, 2U);
  EXPECT_EQ(found[1].difference.count, 0U);
  EXPECT_TRUE(std::isnan(found[1].sign_flip_p));
  EXPECT_FALSE(found[1].wilcoxon);
}

// A difference's interval uses the draws of the two cells, so shifting one method by a constant shifts it.
TEST(ComparePaired, SharesDrawsWithTheSummaries) {
  const Tensor<double> values = random_cells(1, 50, 0, 9);
  const Tensor<double> zeros({1, 50});
  const Summary alone = summarize(values.view(), {.seed = 2}).front();
  const PairedComparison pair = compare_paired(values.view(), zeros.view(), {.seed = 2}).front();
  EXPECT_TRUE(same(alone, pair.difference));
}

TEST(Resampling, DoesNotDependOnThreads) {
  const Tensor<double> first = random_cells(7, 130, 0.1, 7);
  const Tensor<double> second = random_cells(7, 130, 0.1, 8);
  ResamplingOptions options{.seed = 1, .resamples = 500, .parallel = {.threads = 1}};
  const std::vector<PairedComparison> one = compare_paired(first.view(), second.view(), options);
  options.parallel.threads = 5;
  const std::vector<PairedComparison> five = compare_paired(first.view(), second.view(), options);
  options.seed = 2;
  const std::vector<PairedComparison> other = compare_paired(first.view(), second.view(), options);
  for (std::size_t c = 0; c < one.size(); ++c) {
    EXPECT_TRUE(same(one[c].difference, five[c].difference));
    EXPECT_EQ(one[c].sign_flip_p, five[c].sign_flip_p);
    EXPECT_FALSE(same(one[c].difference, other[c].difference));
  }
}

TEST(Resampling, ReportsProgressAndCanBeCancelled) {
  const Tensor<double> values = random_cells(2, 10, 0, 1);
  std::size_t calls = 0;
  ResamplingOptions options{.resamples = 30};
  options.parallel.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(done, ++calls);
    EXPECT_EQ(total, 30U);
  };
  summarize(values.view(), options);
  EXPECT_EQ(calls, 30U);
  std::stop_source source;
  source.request_stop();
  options.parallel.stop_token = source.get_token();
  EXPECT_THROW(summarize(values.view(), options), Cancelled);
}

TEST(Resampling, RefusesWhatItCannotUse) {
  const Tensor<double> values = random_cells(2, 10, 0, 1);
  const Tensor<double> other({2, 9});
  for (const double confidence : {0.0, 1.0, -1.0, kMissing}) {
    EXPECT_THROW(summarize(values.view(), {.confidence = confidence}), Error);
  }
  EXPECT_THROW(compare_paired(values.view(), other.view()), Error);
  const Tensor<double> huge({1, 1}, {1.5e308});
  const Tensor<double> negative({1, 1}, {-1.5e308});
  EXPECT_THROW(compare_paired(huge.view(), negative.view()), Error);
  EXPECT_TRUE(summarize(Tensor<double>({0, 4}).view()).empty());
  EXPECT_EQ(summarize(Values{}).count, 0U);
}

}  // namespace
}  // namespace attnflow::statistics_test
