#include "attnflow/base/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace attnflow {

std::size_t resolve_threads(std::size_t threads) {
  if (threads != 0) return threads;
  return std::max(1U, std::thread::hardware_concurrency());
}

void parallel_for(std::size_t count, const ParallelOptions& options,
                  const std::function<void(std::size_t, std::size_t)>& body) {
  if (count == 0) return;
  const std::size_t workers = std::min(count, resolve_threads(options.threads));
  std::atomic<std::size_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;  // guards first_failure, done and the calls of progress
  std::exception_ptr first_failure;
  std::size_t done = 0;

  const auto work = [&](std::size_t worker) {
    try {
      while (!failed.load(std::memory_order_relaxed)) {
        const std::size_t index = next.fetch_add(1, std::memory_order_relaxed);
        if (index >= count) return;
        if (options.stop_token.stop_requested()) throw Cancelled();
        body(index, worker);
        if (options.progress) {
          const std::scoped_lock lock(mutex);
          options.progress(++done, count);
        }
      }
    } catch (...) {
      const std::scoped_lock lock(mutex);
      if (!first_failure) first_failure = std::current_exception();
      failed.store(true, std::memory_order_relaxed);
    }
  };

  {
    std::vector<std::jthread> threads;
    threads.reserve(workers - 1);
    try {
      for (std::size_t worker = 1; worker < workers; ++worker) threads.emplace_back(work, worker);
    } catch (const std::system_error&) {
      // The system gives no more threads; those that there are do the work.
    }
    work(0);
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace attnflow
