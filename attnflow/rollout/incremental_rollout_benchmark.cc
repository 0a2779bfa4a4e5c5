// Measures a step over a grid of layers L, positions p and prompt columns m. tools/bench/rollout.py fits O(L p m).
//
// Each token gives one random row of weights per layer. The timed work, in CPU seconds on one thread, is a batch of as
// many tokens as are computed together; a point is the median of consecutive batches, per token. Caches are swept
// before each batch, as by a model that reads its weights for every token, so that stored rows come from memory.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <functional>
#include <numeric>
#include <vector>

#include "attnflow/base/error.h"
#include "attnflow/base/random.h"
#include "attnflow/rollout/incremental_rollout.h"

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
constexpr std::uint64_t kSeed = 20;

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
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(p % (numbers.size() - end));
    const double sum = std::accumulate(first, first + static_cast<std::ptrdiff_t>(p + 1), 0.0);
    double* const row = rows.data() + (p - begin) * end;
    std::transform(first, first + static_cast<std::ptrdiff_t>(p + 1), row, [sum](double x) { return x / sum; });
  }
  return rows;
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

double sweep() {
  static const std::vector<double> numbers(kSwept, 1.0);
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

void measure(std::size_t layers, std::size_t columns, const std::vector<double>& numbers) {
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
    fmt::print("L {:>2}  p {:>4}  m {:>3}  {:>9.1f} us\n", layers, position, columns, 1e6 * median(seconds));
  }
}

void run() {
  const std::vector<double> numbers = random_numbers(2 * (kPositions.back() + kBatches * kBatch));
  for (const std::size_t layers : kLayers) {
    for (const std::size_t columns : kColumns) measure(layers, columns, numbers);
  }
}

}  // namespace
}  // namespace attnflow

int main() {
  try {
    attnflow::run();
  } catch (const attnflow::Error& error) {
    fmt::print(stderr, "rollout_benchmark: {}\n", error.what());
    return error.exit_code();
  }
}
