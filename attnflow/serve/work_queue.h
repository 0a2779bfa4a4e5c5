// A bounded queue of analyses and the threads that run them.
//
// Problem. An analysis takes between milliseconds and a minute and uses whole processors; a server gets as many
// requests as people send. So at most `workers` run at once, at most `max_waiting` wait, and what comes beyond that is
// refused at once, which costs nothing and tells the client to come back.
//
// Order. First come, first served, but for jobs that need something which only one job at a time may use (a decoder
// keeps the sequence it is at): such a job lets others pass while that is in use. It is next as soon as it is free.
//
// Cancelling. A job whose stop token is triggered while it waits never runs: it is destroyed, which is how its owner
// learns. One that runs has to look at its token itself.
#ifndef ATTNFLOW_SERVE_WORK_QUEUE_H_
#define ATTNFLOW_SERVE_WORK_QUEUE_H_

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
  // Called when it is put into the queue and when it moves up, with the number of jobs before it. Must not block, throw
  // or call the queue. May be empty.
  std::function<void(std::size_t before)> moved = {};
  const void* exclusive = nullptr;  // jobs with the same one do not run at the same time; null: with any
  std::stop_token stop_token = {};
};

class WorkQueue {
 public:
  // workers >= 1.
  WorkQueue(std::size_t workers, std::size_t max_waiting);
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;
  // Destroys the jobs that wait and waits for those that run.
  ~WorkQueue();

  // False, and `job` destroyed, when as many wait as may. A job that a free worker will take at once does not wait.
  bool submit(Job job);

  std::size_t waiting() const;
  std::size_t running() const;
  // In how many seconds half of what waits will have been worked on, as far as the jobs so far tell: 1 to 60.
  std::size_t retry_after() const;

 private:
  void work(const std::stop_token& stop);
  bool is_runnable(const Job& job) const;
  // Takes out the jobs that were cancelled; the caller destroys them without the lock.
  std::deque<Job> take_cancelled();
  void say_moved() const;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Job> waiting_;
  std::multiset<const void*> in_use_;
  std::size_t running_ = 0;
  double mean_seconds_ = 0.0;  // of a job, the last ones counting most
  const std::size_t max_waiting_;
  std::vector<std::jthread> workers_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_SERVE_WORK_QUEUE_H_
