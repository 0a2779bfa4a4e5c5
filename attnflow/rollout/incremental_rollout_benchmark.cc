// How the cost of a generated token grows: time of one step of IncrementalRollout over a grid of layers L, positions p
// and prompt columns m, with a fit of the law stated in incremental_rollout.h, O(L p m).
//
// Before timing, the rows are compared with the product of the whole matrices. Then each token gives one random row of
// weights per layer. The timed work, in CPU seconds on one thread, is a batch of as many tokens as are computed
// together; a point is the median of several consecutive batches, per token. Before each batch the caches are swept, as
// by a model that reads all its weights for every token, so that the stored rows come from memory for every point
// alike. There are two least-squares fits, and one that separates the work per stored row from the work per column:
//
//   t = a L p m + b                                   coefficient of determination R^2
//   t / (L p) = a m + c
//   log t = c + alpha log L + beta log p + gamma log m    exponents with their standard errors
//
// The grid contains every combination, so log L, log p and log m are uncorrelated and each exponent is a regression in
// one variable.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/graph/mixing.h"
#include "attnflow/rollout/incremental_rollout.h"
#include "attnflow/rollout/rollout.h"

namespace attnflow {
namespace {

// p is at least 4 m: the prompt's own rows are shorter than m, which matters if there are few others.
constexpr std::array<std::size_t, 3> kLayers = {6, 12, 24};
constexpr std::array<std::size_t, 3> kPositions = {1024, 2048, 4096};
constexpr std::array<std::size_t, 4> kColumns = {32, 64, 128, 256};
constexpr std::size_t kBatch = IncrementalRollout::kBatchRows;
constexpr std::size_t kBatches = 5;                    // timed per point, with p in their middle
constexpr std::size_t kSwept = std::size_t{16} << 20;  // numbers read before each: 128 MiB
constexpr std::size_t kChunk = 128;                    // rows passed at once when not timed
constexpr std::size_t kHeads = 9;                      // for the additional measurement of head fusion
constexpr double kTolerance = 1e-12;                   // for the comparison with rollout()
constexpr std::uint64_t kSeed = 20;

// Positive random numbers, from which rows of weights are taken.
std::vector<double> random_numbers(std::size_t count) {
  Random random(kSeed);
  std::vector<double> numbers(count);
  for (double& number : numbers) number = 0.01 + random.uniform();
  return numbers;
}

// Causal rows [begin, end) that sum to 1: [query, key].
Tensor<double> random_rows(const std::vector<double>& numbers, std::size_t begin, std::size_t end) {
  Tensor<double> rows({end - begin, end});
  for (std::size_t p = begin; p < end; ++p) {
    // Each position starts elsewhere, so that rows differ.
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(p % (numbers.size() - end));
    const double sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(p + 1), 0.0);
    double* const row = rows.data() + (p - begin) * end;
    std::transform(first, first + static_cast<std::ptrdiff_t>(p + 1), row, [sum](double x) { return x / sum; });
  }
  return rows;
}

// Returns the largest difference from rollout() with the same weights.
double check_answers() {
  constexpr std::size_t kTokens = 200;
  constexpr std::size_t kPrompt = 90;
  constexpr std::size_t kDepth = 5;
  const std::vector<double> numbers = random_numbers(2 * kTokens);
  AttentionGraph graph;
  graph.weights = Tensor<double>({kDepth, kTokens, kTokens});
  IncrementalRollout found({.layers = kDepth, .columns = kPrompt, .mixing = {}});
  for (std::size_t p = 0; p < kTokens; ++p) {
    const Tensor<double> row = random_rows(numbers, p, p + 1);
    for (std::size_t l = 1; l <= kDepth; ++l) {
      std::copy_n(row.data(), p + 1, graph.weights.data() + ((l - 1) * kTokens + p) * kTokens);
      found.fused_layer(l, p, row.view());
    }
  }
  const Tensor<double> expected = rollout(graph);
  double largest = 0.0;
  for (std::size_t l = 1; l <= kDepth; ++l) {
    for (std::size_t p = 0; p < kTokens; ++p) {
      const auto row = found.row(l, p);
      for (std::size_t j = 0; j < row.size(); ++j) {
        const double difference = std::abs(row[j] - expected(l - 1, p, j));
        largest = difference <= largest ? largest : difference;  // keeps NaN
      }
    }
  }
  return largest;
}

double cpu_seconds(const std::function<void()>& work) {
  timespec start = {};
  timespec end = {};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &start);
  work();
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  return static_cast<double>(end.tv_sec - start.tv_sec) + 1e-9 * static_cast<double>(end.tv_nsec - start.tv_nsec);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Reads more data than caches hold.
double sweep() {
  static const std::vector<double> numbers(kSwept, 1.0);
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

struct Point {
  std::size_t layers;
  std::size_t position;
  std::size_t columns;
  double seconds;  // per token

  double product() const { return static_cast<double>(layers * position * columns); }
};

// Measures all positions of the grid, one after another in one sequence.
void measure(std::size_t layers, std::size_t columns, const std::vector<double>& numbers, std::vector<Point>& points) {
  IncrementalRollout rollout({.layers = layers, .columns = columns, .mixing = {}, .threads = 1});
  const auto feed = [&](const Tensor<double>& rows) {
    const std::size_t begin = rollout.tokens();
    for (std::size_t l = 1; l <= layers; ++l) rollout.fused_layer(l, begin, rows.view());
  };
  for (const std::size_t position : kPositions) {
    const std::size_t first = position - kBatches * kBatch / 2;
    while (rollout.tokens() < first) {
      const std::size_t begin = rollout.tokens();
      feed(random_rows(numbers, begin, std::min(first, begin + kChunk)));
    }
    rollout.row(layers, first - 1);  // so that no rows are waiting
    std::vector<double> seconds;
    for (std::size_t batch = 0; batch < kBatches; ++batch) {
      std::vector<Tensor<double>> rows;
      for (std::size_t p = rollout.tokens(); rows.size() < kBatch; ++p) rows.push_back(random_rows(numbers, p, p + 1));
      if (sweep() != static_cast<double>(kSwept)) throw Error(ErrorKind::kOther, "the sweep did not read its numbers");
      seconds.push_back(cpu_seconds([&] {
                          for (const Tensor<double>& row : rows) feed(row);
                        }) /
                        static_cast<double>(kBatch));
    }
    points.push_back({layers, position, columns, median(seconds)});
  }
}

struct Line {
  double slope;
  double intercept;
  double slope_error;  // standard error
  double determination;
};

Line fit_line(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double x_mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double y_mean = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0.0;
  double xy = 0.0;
  double yy = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
    yy += (y[i] - y_mean) * (y[i] - y_mean);
  }
  const double slope = xy / xx;
  const double left = std::max(0.0, yy - slope * xy);
  return {slope, y_mean - slope * x_mean, std::sqrt(left / (n - 2.0) / xx), 1.0 - left / yy};
}

// Time of head fusion, which precedes the rollout, for one token at the grid's last position.
double fusion_seconds(std::size_t layers, std::size_t position) {
  const Tensor<float> attention({kHeads, 1, position + 1},
                                std::vector<float>(kHeads * (position + 1), 1.0F / static_cast<float>(position + 1)));
  std::vector<double> seconds;
  for (std::size_t step = 0; step < kBatches; ++step) {
    seconds.push_back(cpu_seconds([&] {
      for (std::size_t l = 0; l < layers; ++l) fused_rows(attention.view(), {}, 0);
    }));
  }
  return median(seconds);
}

void report(const std::vector<Point>& points) {
  std::vector<double> product;
  std::vector<double> seconds;
  std::vector<double> log_seconds;
  std::vector<double> columns;
  std::vector<double> row_seconds;  // per stored row of one layer
  for (const Point& point : points) {
    product.push_back(point.product());
    seconds.push_back(point.seconds);
    log_seconds.push_back(std::log(point.seconds));
    columns.push_back(static_cast<double>(point.columns));
    row_seconds.push_back(point.seconds / static_cast<double>(point.layers * point.position));
  }
  const Line law = fit_line(product, seconds);
  fmt::print("t = a L p m + b: a = {:.3f} ns, b = {:.1f} us, R^2 = {:.4f} ({} points, {:.2g} to {:.2g} products)\n",
             1e9 * law.slope, 1e6 * law.intercept, law.determination, points.size(),
             *std::min_element(product.begin(), product.end()), *std::max_element(product.begin(), product.end()));

  const Line stored = fit_line(columns, row_seconds);
  fmt::print("t / (L p) = a m + c: a = {:.3f} ns, c = {:.2f} ns, R^2 = {:.4f}\n", 1e9 * stored.slope,
             1e9 * stored.intercept, stored.determination);

  // One variable at a time, but with standard errors from the residuals of all three together.
  const auto logs = [&](const auto& value) {
    std::vector<double> result;
    for (const Point& point : points) result.push_back(std::log(static_cast<double>(value(point))));
    return result;
  };
  const std::array<std::vector<double>, 3> x = {logs([](const Point& p) { return p.layers; }),
                                                logs([](const Point& p) { return p.position; }),
                                                logs([](const Point& p) { return p.columns; })};
  std::array<Line, 3> lines = {};
  std::vector<double> rest = log_seconds;
  double constant = std::accumulate(rest.begin(), rest.end(), 0.0) / static_cast<double>(rest.size());
  for (std::size_t v = 0; v < x.size(); ++v) {
    lines[v] = fit_line(x[v], log_seconds);
    const double mean = std::accumulate(x[v].begin(), x[v].end(), 0.0) / static_cast<double>(x[v].size());
    constant -= lines[v].slope * mean;
    for (std::size_t i = 0; i < rest.size(); ++i) rest[i] -= lines[v].slope * x[v][i];
  }
  double left = 0.0;
  for (const double r : rest) left += (r - constant) * (r - constant);
  constexpr std::size_t kParameters = 4;
  const double variance = left / static_cast<double>(points.size() - kParameters);
  constexpr std::array<const char*, 3> kNames = {"L", "p", "m"};
  fmt::print("log t = c + exponents:");
  for (std::size_t v = 0; v < x.size(); ++v) {
    const double mean = std::accumulate(x[v].begin(), x[v].end(), 0.0) / static_cast<double>(x[v].size());
    double spread = 0.0;
    for (const double value : x[v]) spread += (value - mean) * (value - mean);
    fmt::print(" {} {:.3f} +- {:.3f}{}", kNames[v], lines[v].slope, std::sqrt(variance / spread),
               v + 1 < x.size() ? "," : "\n");
  }
}

int run() {
  const double difference = check_answers();
  if (!(difference < kTolerance)) {
    fmt::print(stderr, "the rows differ from rollout() by {}\n", difference);
    return static_cast<int>(ErrorKind::kOther);
  }
  fmt::print("rows of 200 tokens: largest difference from the product of whole matrices {:.1e}\n", difference);
  const std::vector<double> numbers = random_numbers(2 * (kPositions.back() + kBatches * kBatch));
  std::vector<Point> points;
  for (const std::size_t layers : kLayers) {
    for (const std::size_t columns : kColumns) measure(layers, columns, numbers, points);
  }
  for (const Point& point : points) {
    fmt::print("L {:>2}  p {:>4}  m {:>3}  {:>9.1f} us  {:.3f} ns a product\n", point.layers, point.position,
               point.columns, 1e6 * point.seconds, 1e9 * point.seconds / point.product());
  }
  report(points);
  fmt::print("beside it, fusing {} heads at L {} and p {}: {:.1f} us\n", kHeads, kLayers.back(), kPositions.back(),
             1e6 * fusion_seconds(kLayers.back(), kPositions.back()));
  return 0;
}

}  // namespace
}  // namespace attnflow

int main() {
  try {
    return attnflow::run();
  } catch (const attnflow::Error& error) {
    fmt::print(stderr, "rollout_benchmark: {}\n", error.what());
    return error.exit_code();
  }
}
