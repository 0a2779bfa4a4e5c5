#include "attnflow/http/work_queue.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <utility>

namespace attnflow {

WorkQueue::WorkQueue(std::size_t workers, std::size_t max_waiting) : max_waiting_(max_waiting) {
  for (std::size_t w = 0; w < workers; ++w) {
    workers_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

WorkQueue::~WorkQueue() {
  for (std::jthread& worker : workers_) worker.request_stop();
  std::deque<Job> dropped;
  {
    const std::scoped_lock lock(mutex_);
    dropped.swap(waiting_);
  }
}

bool WorkQueue::submit(Job job) {
  std::deque<Job> cancelled;  // destroyed after the lock below is released
  {
    const std::scoped_lock lock(mutex_);
    cancelled = take_cancelled();
    const std::size_t idle = workers_.size() - std::min(workers_.size(), running_);
    if (waiting_.size() >= max_waiting_ + idle) return false;
    if (job.moved) job.moved(waiting_.size());
    waiting_.push_back(std::move(job));
  }
  changed_.notify_one();
  return true;
}

std::size_t WorkQueue::waiting() const {
  const std::scoped_lock lock(mutex_);
  return waiting_.size();
}

std::size_t WorkQueue::running() const {
  const std::scoped_lock lock(mutex_);
  return running_;
}

std::size_t WorkQueue::retry_after() const {
  constexpr double kLongest = 60.0;
  const std::scoped_lock lock(mutex_);
  const double half = mean_seconds_ * static_cast<double>(waiting_.size() + 1) / 2.0;
  return static_cast<std::size_t>(std::clamp(std::ceil(half / static_cast<double>(workers_.size())), 1.0, kLongest));
}

bool WorkQueue::is_runnable(const Job& job) const {
  return job.exclusive == nullptr || !in_use_.contains(job.exclusive);
}

std::deque<Job> WorkQueue::take_cancelled() {
  std::deque<Job> cancelled;
  const auto kept = std::stable_partition(waiting_.begin(), waiting_.end(),
                                          [](const Job& job) { return !job.stop_token.stop_requested(); });
  std::move(kept, waiting_.end(), std::back_inserter(cancelled));
  waiting_.erase(kept, waiting_.end());
  return cancelled;
}

void WorkQueue::say_moved() const {
  for (std::size_t i = 0; i < waiting_.size(); ++i) {
    if (waiting_[i].moved) waiting_[i].moved(i);
  }
}

void WorkQueue::work(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto has_work = [this] {
      return std::any_of(waiting_.begin(), waiting_.end(),
                         [this](const Job& job) { return job.stop_token.stop_requested() || is_runnable(job); });
    };
    if (!changed_.wait(lock, stop, has_work)) return;
    std::deque<Job> cancelled = take_cancelled();
    const auto next =
        std::find_if(waiting_.begin(), waiting_.end(), [this](const Job& job) { return is_runnable(job); });
    if (next == waiting_.end()) {
      lock.unlock();
      cancelled.clear();
      lock.lock();
      continue;
    }
    Job job = std::move(*next);
    waiting_.erase(next);
    ++running_;
    if (job.exclusive != nullptr) in_use_.insert(job.exclusive);
    say_moved();
    lock.unlock();
    cancelled.clear();
    const void* const exclusive = job.exclusive;
    const auto begin = std::chrono::steady_clock::now();
    job.run();
    job = {};
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    lock.lock();
    constexpr double kNewest = 0.2;
    mean_seconds_ += kNewest * (took.count() - mean_seconds_);
    --running_;
    if (exclusive != nullptr) in_use_.erase(in_use_.find(exclusive));
    changed_.notify_all();
  }
}

}  // namespace attnflow
