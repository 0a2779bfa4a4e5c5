// The memory that the machine could still give this process.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>

namespace attnflow {

// Returns the bytes that can be allocated without swapping, if the system reports them: the minimum of
//   * the kernel's estimate of available memory: free memory and caches that it would release (Linux, /proc/meminfo);
//   * the remainder of the limits of this process's control groups (versions 1 and 2);
//   * the remainder of the limit on its address space (ulimit -v).
// It is an estimate: other processes allocate memory too. `root` is the root of the file system, for tests.
std::optional<std::size_t> available_memory(const std::filesystem::path& root = "/");

}  // namespace attnflow
