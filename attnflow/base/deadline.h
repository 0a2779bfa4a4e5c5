// A point in time after which optional work is skipped.
//
// Example:
//
//     const Deadline deadline = Deadline::in(std::chrono::hours(1));
//     assert(!deadline.passed());
//     assert(Deadline(Deadline::Clock::now()).passed());
//     assert(!Deadline().passed());  // never
#pragma once

#include <chrono>

namespace attnflow {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;  // never
  explicit Deadline(Clock::time_point time) : time_(time) {}
  // `seconds` from now; 0 or more than a hundred years: never.
  static Deadline in(std::chrono::duration<double> seconds) {
    constexpr std::chrono::duration<double> kMost(3e9);
    if (!(seconds > seconds.zero()) || seconds > kMost) return {};
    return Deadline(Clock::now() + std::chrono::duration_cast<Clock::duration>(seconds));
  }
  bool passed() const { return time_ != Clock::time_point::max() && Clock::now() >= time_; }

 private:
  Clock::time_point time_ = Clock::time_point::max();
};

}  // namespace attnflow
