// How much memory the machine could still give this process.
#ifndef ATTNFLOW_BASE_AVAILABLE_MEMORY_H_
#define ATTNFLOW_BASE_AVAILABLE_MEMORY_H_

#include <cstddef>
#include <filesystem>
#include <optional>

namespace attnflow {

// Bytes that can be taken without swapping, or nothing where the system does not say. The least of
//   * what the kernel calls available: free memory and caches that it would give up (Linux, /proc/meminfo);
//   * what is left of the limits of the control groups that this process is in (versions 1 and 2);
//   * what is left of the limit on its address space (ulimit -v).
// An estimate: other processes take memory too. `root` is the root of the file system, for tests.
std::optional<std::size_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace attnflow

#endif  // ATTNFLOW_BASE_AVAILABLE_MEMORY_H_
