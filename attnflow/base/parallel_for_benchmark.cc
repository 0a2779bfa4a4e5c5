// Measures the overhead of a loop, for parallel_for, whose helpers sleep between loops, and for threads that are
// started and joined for each loop. A forward pass is a sequence of such loops with single-threaded work in between, so
// each loop here follows a pause in which the helpers fall asleep; the pause is not counted.
//
// Arguments: the number of threads, and the microseconds taken by each of the bodies, of which there are as many as
// threads.
#include <benchmark/benchmark.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "attnflow/base/parallel_for.h"

namespace attnflow {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono_literals::operator""us;

void work_for(std::chrono::microseconds time) {
  const auto end = Clock::now() + time;
  while (Clock::now() < end) {
  }
}

template <typename Loop>
void time_loop(benchmark::State& state, const Loop& loop) {
  const auto threads = static_cast<std::size_t>(state.range(0));
  const std::chrono::microseconds each(state.range(1));
  std::atomic<std::size_t> sum{0};
  const auto body = [&](std::size_t index) {
    sum += index + 1;
    work_for(each);
  };
  loop(threads, body);
  if (sum != threads * (threads + 1) / 2) state.SkipWithError("an index was left out");
  for (auto _ : state) {
    work_for(200us);
    const auto begin = Clock::now();
    loop(threads, body);
    state.SetIterationTime(std::chrono::duration<double>(Clock::now() - begin).count());
  }
}

void sleeping_helpers(benchmark::State& state) {
  time_loop(state, [](std::size_t threads, const auto& body) {
    parallel_for(threads, {.threads = threads}, [&](std::size_t index, std::size_t) { body(index); });
  });
}

void fresh_threads(benchmark::State& state) {
  time_loop(state, [](std::size_t threads, const auto& body) {
    std::atomic<std::size_t> next{0};
    const auto share = [&] {
      for (std::size_t index = next++; index < threads; index = next++) body(index);
    };
    std::vector<std::jthread> started;
    for (std::size_t i = 1; i < threads; ++i) started.emplace_back(share);
    share();
  });
}

void arguments(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"threads", "us"})->UseManualTime()->Unit(benchmark::kMicrosecond);
  for (const std::int64_t threads : {2, 8}) {
    for (const std::int64_t microseconds : {0, 50, 500}) benchmark->Args({threads, microseconds});
  }
}
BENCHMARK(sleeping_helpers)->Apply(arguments);
BENCHMARK(fresh_threads)->Apply(arguments);

}  // namespace
}  // namespace attnflow
