#include "attnflow/base/idle_processors.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string>
#include <system_error>
#include <thread>

namespace attnflow {

std::size_t usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0) {
    return static_cast<std::size_t>(CPU_COUNT(&set));
  }
  return std::max(1U, std::thread::hardware_concurrency());
}

std::optional<std::size_t> runnable_tasks(std::string_view loadavg) {
  for (int averages = 0; averages < 3; ++averages) {
    const std::size_t space = loadavg.find(' ');
    if (space == 0 || space == std::string_view::npos) return std::nullopt;
    loadavg.remove_prefix(space + 1);
  }
  std::size_t tasks = 0;
  const auto [end, error] = std::from_chars(loadavg.data(), loadavg.data() + loadavg.size(), tasks);
  if (error != std::errc{} || end == loadavg.data() + loadavg.size() || *end != '/') return std::nullopt;
  return tasks;
}

std::size_t idle_processors() {
  constexpr int kReadings = 3;
  const std::size_t usable = usable_processors();
  const long online = sysconf(_SC_NPROCESSORS_ONLN);
  if (online < 0 || static_cast<std::size_t>(online) != usable) return usable;
  std::optional<std::size_t> least;
  for (int reading = 0; reading < kReadings; ++reading) {
    if (reading > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::ifstream file("/proc/loadavg");
    std::string line;
    if (!std::getline(file, line)) return usable;
    const std::optional<std::size_t> tasks = runnable_tasks(line);
    if (!tasks) return usable;
    least = std::min(least.value_or(*tasks), *tasks);
  }
  const std::size_t others = *least > 0 ? *least - 1 : 0;
  return others < usable ? usable - others : 1;
}

}  // namespace attnflow
