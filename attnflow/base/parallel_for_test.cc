#include "attnflow/base/parallel_for.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iterator>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace attnflow {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(ParallelFor, VisitsEveryIndexOnceWithItsOwnWorker) {
  for (const std::size_t threads : {1, 3, 50}) {
    std::vector<int> visits(37, 0);
    std::vector<int> busy(threads, 0);
    parallel_for(37, {.threads = threads}, [&](std::size_t index, std::size_t worker) {
      ASSERT_LT(worker, threads);
      EXPECT_EQ(++busy[worker], 1);
      ++visits[index];
      --busy[worker];
    });
    EXPECT_EQ(visits, std::vector<int>(37, 1));
  }
  parallel_for(0, {}, [](std::size_t, std::size_t) { FAIL() << "called for nothing"; });
}

// All bodies of a loop wait for each other, which works only if each has its own thread; then each calls body(index).
bool all_at_once(
    std::size_t threads, const std::function<void(std::size_t)>& body = [](std::size_t) {}) {
  std::atomic<std::size_t> here{0};
  std::atomic<bool> complete{true};
  parallel_for(threads, {.threads = threads}, [&](std::size_t index, std::size_t) {
    ++here;
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (here < threads && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
    if (here < threads) complete = false;
    body(index);
  });
  return complete;
}

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

TEST(ParallelFor, RunsOnAsManyThreadsAsAskedFor) {
  for (const std::size_t threads : {1, 2, 3, 9, 4}) EXPECT_TRUE(all_at_once(threads)) << threads;
}

TEST(ParallelFor, TheCallerIsWorkerZero) {
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<std::thread::id> ids(200);
  std::vector<std::size_t> workers(ids.size());
  parallel_for(ids.size(), {.threads = 3}, [&](std::size_t index, std::size_t worker) {
    ids[index] = std::this_thread::get_id();
    workers[index] = worker;
  });
  for (std::size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(ids[i] == caller, workers[i] == 0) << i;
}

TEST(ParallelFor, HelpersStayAndSleep) {
  ASSERT_TRUE(all_at_once(4));
  const std::size_t threads = threads_of_this_process();
  for (int i = 0; i < 1000; ++i) parallel_for(4, {.threads = 4}, [](std::size_t, std::size_t) {});
  EXPECT_EQ(threads_of_this_process(), threads);
  std::this_thread::sleep_for(20ms);         // until the last thread that was woken sleeps again
  const std::clock_t before = std::clock();  // of all threads
  std::this_thread::sleep_for(200ms);
  EXPECT_LT(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC, 0.05);
}

TEST(ParallelFor, LoopsInsideLoops) {
  constexpr std::size_t kOuter = 20;
  constexpr std::size_t kMiddle = 5;
  constexpr std::size_t kInner = 7;
  std::vector<std::atomic<int>> visits(kOuter * kMiddle * kInner);
  parallel_for(kOuter, {.threads = 4}, [&](std::size_t i, std::size_t) {
    parallel_for(kMiddle, {.threads = 3}, [&](std::size_t j, std::size_t) {
      std::vector<int> busy(6, 0);
      parallel_for(kInner, {.threads = busy.size()}, [&](std::size_t k, std::size_t worker) {
        EXPECT_EQ(++busy[worker], 1);
        ++visits[(i * kMiddle + j) * kInner + k];
        --busy[worker];
      });
    });
  });
  for (const auto& count : visits) ASSERT_EQ(count, 1);
}

TEST(ParallelFor, LoopsOfSeveralThreadsAtATime) {
  std::vector<std::vector<int>> visits(5, std::vector<int>(50, 0));
  {
    std::vector<std::jthread> callers;
    for (auto& mine : visits) {
      callers.emplace_back([&mine] {
        for (int repeat = 0; repeat < 100; ++repeat)
          parallel_for(mine.size(), {.threads = 3}, [&](std::size_t index, std::size_t) { ++mine[index]; });
      });
    }
  }
  for (const auto& mine : visits) EXPECT_EQ(mine, std::vector<int>(50, 100));
}

TEST(ParallelFor, HelpersHaveTheRoundingModeOfTheCaller) {
  const auto modes = [] {
    std::vector<int> found(4, -1);
    EXPECT_TRUE(all_at_once(found.size(), [&](std::size_t index) { found[index] = std::fegetround(); }));
    return found;
  };
  const int before = std::fegetround();
  std::fesetround(FE_UPWARD);
  const std::vector<int> upward = modes();
  std::fesetround(before);
  EXPECT_EQ(upward, std::vector<int>(4, FE_UPWARD));
  EXPECT_EQ(modes(), std::vector<int>(4, before));
}

// The sanitizer does not let a child of a multithreaded process start threads.
#if !defined(__SANITIZE_THREAD__)
TEST(ParallelFor, AChildProcessStartsHelpersOfItsOwn) {
  ASSERT_TRUE(all_at_once(3));
  const pid_t child = fork();
  ASSERT_NE(child, -1);
  if (child == 0) _exit(all_at_once(3) && all_at_once(5) ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(all_at_once(3));
}
#endif

TEST(ParallelFor, ReportsProgressOfEachIndex) {
  std::vector<std::size_t> counts;
  parallel_for(20,
               {.threads = 3,
                .progress =
                    [&](std::size_t done, std::size_t total) {
                      EXPECT_EQ(total, 20U);
                      counts.push_back(done);
                    }},
               [](std::size_t, std::size_t) {});
  ASSERT_EQ(counts.size(), 20U);
  for (std::size_t i = 0; i < counts.size(); ++i) EXPECT_EQ(counts[i], i + 1);
}

TEST(ParallelFor, PassesOnTheFirstFailure) {
  EXPECT_THROW(parallel_for(100, {.threads = 4},
                            [](std::size_t index, std::size_t) {
                              if (index == 13) throw std::runtime_error("13");
                            }),
               std::runtime_error);
  for (int repeat = 0; repeat < 50; ++repeat) {
    EXPECT_THROW(parallel_for(4, {.threads = 4}, [](std::size_t, std::size_t) { throw std::runtime_error("all"); }),
                 std::runtime_error);
    std::atomic<int> calls{0};
    parallel_for(100, {.threads = 4}, [&](std::size_t, std::size_t) { ++calls; });
    EXPECT_EQ(calls, 100);
  }
}

TEST(ParallelFor, Cancels) {
  std::stop_source stop;
  int calls = 0;
  EXPECT_THROW(parallel_for(10, {.threads = 1, .stop_token = stop.get_token()},
                            [&](std::size_t index, std::size_t) {
                              ++calls;
                              if (index == 3) stop.request_stop();
                            }),
               Cancelled);
  EXPECT_EQ(calls, 4);
}

}  // namespace
}  // namespace attnflow
