#pragma once

#include <cstddef>
#include <cstdlib>
#include <iostream>
#include <string_view>

namespace attnflow {

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ATTNFLOW_ADDRESS_SANITIZER
#elif __has_feature(thread_sanitizer)
#define ATTNFLOW_THREAD_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(ATTNFLOW_ADDRESS_SANITIZER)
inline constexpr double kShareInPercent = 10.0;  // each case takes ten times as long
#elif defined(__SANITIZE_THREAD__) || defined(ATTNFLOW_THREAD_SANITIZER)
inline constexpr double kShareInPercent = 3.0;  // even slower, and one thread does most of the work
#else
inline constexpr double kShareInPercent = 100.0;
#endif

// Returns `all` cases, or a share of them under a sanitizer. The environment variable ATTNFLOW_TEST_SHARE overrides the
// share, in percent (may exceed 100). Prints the number.
inline std::size_t share_of(std::size_t all, std::string_view what) {
  const char* wanted = std::getenv("ATTNFLOW_TEST_SHARE");
  const double percent = wanted != nullptr ? std::atof(wanted) : kShareInPercent;
  const auto share = static_cast<std::size_t>(static_cast<double>(all) * percent / 100.0);
  const std::size_t count = share > 0 ? share : 1;
  std::cout << "             " << count << " of " << all << " " << what << "\n";
  return count;
}

}  // namespace attnflow
