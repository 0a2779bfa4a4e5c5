// Progress where no bar can be drawn: in a log, a line now and then.
#ifndef ATTNFLOW_BASE_PROGRESS_LINES_H_
#define ATTNFLOW_BASE_PROGRESS_LINES_H_

#include <cstddef>
#include <optional>
#include <string>

namespace attnflow::internal {

class ProgressLines {
 public:
  // `what` is counted: "samples". The first line is an estimate: it comes after a second and the first unit, where
  // `every` seconds or more are left. Later ones come when `every` seconds have passed since the last, or a twentieth
  // of the whole time where that is more, but not in the last second. So short work says nothing, and long work does
  // not fill a log.
  explicit ProgressLines(std::string what, double every = 10.0);

  // At `seconds` of any clock `done` of `total` are done: "samples: 40 of 200, about 2 min left", or nothing. The first
  // call is the beginning of the work; one with less done than before is that of other work, which counts the same.
  std::optional<std::string> update(double seconds, std::size_t done, std::size_t total);

 private:
  std::string what_;
  double every_;
  std::optional<double> start_;
  std::size_t done_at_start_ = 0;
  std::size_t done_ = 0;  // at the last call
  double last_ = 0.0;
  bool estimated_ = false;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_BASE_PROGRESS_LINES_H_
