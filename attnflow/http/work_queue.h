// A bounded queue of analyses and the threads that run them.
//
// Problem. An analysis takes from milliseconds to a minute and uses whole processors, while requests are unbounded. So
// at most `workers` jobs run at once and at most `max_waiting` wait; further jobs are rejected at once, which costs
// nothing and tells the client to retry.
//
// Order. First come, first served, except for jobs that need a resource that only one job at a time may use (a decoder
// holds the state of its sequence): such a job lets others pass while the resource is in use, and is next once it is
// free.
//
// Cancellation. A job whose stop token is triggered while it waits never runs. It is destroyed, which notifies its
// owner, when the next job is submitted or a worker next looks for work; until then it counts as waiting. A running job
// must check its token itself.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

namespace attnflow {

struct Job {
  std::function<void()> run;  // must not throw
  // Called when the job is queued and when it moves up, with the number of jobs before it. Must not block, throw or
  // call the queue. May be empty.
  std::function<void(std::size_t before)> moved = {};
  const void* exclusive = nullptr;  // jobs with the same value do not run at the same time; null: no restriction
  std::stop_token stop_token = {};
};

class WorkQueue {
 public:
  // workers >= 1.
  WorkQueue(std::size_t workers, std::size_t max_waiting);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  // Destroys waiting jobs and waits for running ones.
  ~WorkQueue();

  // Returns false and destroys `job` when the queue is full. A job that a free worker takes at once is not waiting.
  bool submit(Job job);

  std::size_t waiting() const;
  std::size_t running() const;
  // Seconds until half of the waiting jobs are expected to be done, judging by the jobs so far: 1 to 60.
  std::size_t retry_after() const;

 private:
  void work(const std::stop_token& stop);
  bool is_runnable(const Job& job) const;
  std::deque<Job> take_cancelled();
  void say_moved() const;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Job> waiting_;
  std::multiset<const void*> in_use_;
  std::size_t running_ = 0;
  double mean_seconds_ = 0.0;  // per job, weighted toward the latest
  const std::size_t max_waiting_;
  std::vector<std::jthread> workers_;
};

}  // namespace attnflow
