#include "attnflow/base/parallel_for.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace attnflow {
namespace {

// Must not throw.
using Work = std::function<void(std::size_t worker)>;

class Helpers {
 public:
  // Calls work(0) here and work(1) to work(workers - 1) on helpers, as far as these arrive before work(0) is done.
  void run(std::size_t workers, const Work& work) {
    Loop loop(work, workers - 1);
    std::size_t wake = 0;
    {
      const std::scoped_lock lock(mutex_);
      start(workers - 1);
      loops_.push_back(&loop);
      wake = std::min(workers - 1, asleep_);
    }
    for (; wake > 0; --wake) called_.notify_one();
    work(0);
    std::unique_lock lock(mutex_);
    if (loop.wanted > 0) std::erase(loops_, &loop);
    loop.left.wait(lock, [&] { return loop.running == 0; });
  }

 private:
  // A running loop, on its caller's stack. Its mutable state is guarded by mutex_.
  struct Loop {
    Loop(const Work& share, std::size_t helpers) : work(share), wanted(helpers) { std::fegetenv(&environment); }

    const Work& work;
    std::fenv_t environment;
    std::size_t wanted;           // helpers that have not arrived yet; while positive, the loop is in loops_
    std::size_t next_worker = 1;  // number of the next helper to arrive
    std::size_t running = 0;      // helpers that have arrived and not left
    std::condition_variable left;
  };

  // Starts helpers until there are `count`. Called with mutex_ held.
  void start(std::size_t count) {
    try {
      for (; started_ < count; ++started_) std::thread([this] { help(); }).detach();
    } catch (const std::system_error&) {
      // The system provides no more threads; the existing ones do the work.
    }
  }

  [[noreturn]] void help() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++asleep_;
      called_.wait(lock, [&] { return !loops_.empty(); });
      --asleep_;
      Loop& loop = *loops_.front();
      const std::size_t worker = loop.next_worker++;
      ++loop.running;
      if (--loop.wanted == 0) loops_.erase(loops_.begin());
      lock.unlock();
      std::fesetenv(&loop.environment);
      loop.work(worker);
      lock.lock();
      if (--loop.running == 0) loop.left.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable called_;
  std::vector<Loop*> loops_;  // loops that want helpers, longest-waiting first
  std::size_t started_ = 0;
  std::size_t asleep_ = 0;
};

// Never destroyed: the helpers sleep in it until the process ends. Null before the first loop, and again in the child
// of a fork, which has its parent's memory but not its threads.
std::atomic<Helpers*> process_helpers = nullptr;

Helpers& helpers() {
  [[maybe_unused]] static const int registered =
      pthread_atfork(nullptr, nullptr, [] { process_helpers.store(nullptr); });
  Helpers* found = process_helpers.load();
  if (found == nullptr) {
    auto* const made = new Helpers;
    if (process_helpers.compare_exchange_strong(found, made)) return *made;
    delete made;  // another thread was faster
  }
  return *found;
}

}  // namespace

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

  if (workers == 1) {
    work(0);
  } else {
    helpers().run(workers, work);
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

}  // namespace attnflow
