// Progress as occasional lines, for logs and other places without a progress bar.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace attnflow::internal {

class ProgressLines {
 public:
  // `what` names the units: "samples". The first line, an estimate, is written after one second and the first unit, if
  // `every` seconds or more remain. Later lines follow when `every` seconds, or a twentieth of the whole time if that
  // is longer, have passed, but not in the last second. So short work writes nothing, and long work does not fill a
  // log.
  explicit ProgressLines(std::string what, double every = 10.0);

  // Reports that `done` of `total` units are done at `seconds` of any clock. Returns a line "samples: 40 of 200, about
  // 2 min left", or nothing. The first call marks the beginning of the work; a call with a smaller `done` than before
  // begins new work with the same units.
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
