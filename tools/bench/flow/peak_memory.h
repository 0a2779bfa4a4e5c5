// Peak memory of this process.
#pragma once

#include <fstream>
#include <stdexcept>
#include <string>

namespace attnflow_bench {

// In KiB. Not getrusage(): its value survives exec, so a small program started by a large one looks large.
inline long peak_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    long kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  throw std::runtime_error("peak memory: expected a line VmHWM in /proc/self/status, found none; Linux is needed");
}

}  // namespace attnflow_bench
