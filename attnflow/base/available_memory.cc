#include "attnflow/base/available_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/base/parse_number.h"

namespace attnflow {
namespace {

namespace fs = std::filesystem;

// Nothing for "max", or if the file does not exist.
std::optional<std::size_t> number_in(const fs::path& path) {
  std::ifstream file(path);
  std::string word;
  file >> word;
  return internal::parse_number(word);
}

std::optional<std::size_t> entry_of(const fs::path& path, std::string_view name) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string key;
    std::string value;
    if (words >> key >> value && key == name) return internal::parse_number(value);
  }
  return std::nullopt;
}

std::size_t difference(std::size_t a, std::size_t b) { return a > b ? a - b : 0; }

std::optional<std::size_t> least(std::optional<std::size_t> a, std::optional<std::size_t> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// File caches counted as used are released before an allocation fails.
std::optional<std::size_t> left_in_group(const fs::path& folder, const char* limit_file, const char* used_file,
                                         const char* inactive, const char* active) {
  const auto limit = number_in(folder / limit_file);
  const auto used = number_in(folder / used_file);
  if (!limit || !used) return std::nullopt;
  const std::size_t caches =
      entry_of(folder / "memory.stat", inactive).value_or(0) + entry_of(folder / "memory.stat", active).value_or(0);
  return difference(*limit, difference(*used, caches));
}

// A group's limit also applies to the groups inside it, so every folder on the way up counts.
std::optional<std::size_t> left_in_control_groups(const fs::path& root) {
  std::optional<std::size_t> left;
  std::ifstream file(root / "proc/self/cgroup");
  std::string line;  // "hierarchy:controllers:path"
  while (std::getline(file, line)) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool second_version = controllers.empty();
    if (!second_version && ("," + controllers + ",").find(",memory,") == std::string::npos) continue;
    const fs::path top = root / (second_version ? "sys/fs/cgroup" : "sys/fs/cgroup/memory");
    fs::path below = fs::path(line.substr(second + 1)).relative_path();
    while (true) {
      left = least(left, second_version ? left_in_group(top / below, "memory.max", "memory.current", "inactive_file",
                                                        "active_file")
                                        : left_in_group(top / below, "memory.limit_in_bytes", "memory.usage_in_bytes",
                                                        "total_inactive_file", "total_active_file"));
      if (below.empty()) break;
      below = below.parent_path();
    }
  }
  return left;
}

std::optional<std::size_t> left_of_address_space(const fs::path& root) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  const auto pages = number_in(root / "proc/self/statm");
  const long page = sysconf(_SC_PAGESIZE);
  if (!pages || page <= 0) return std::nullopt;
  return difference(limit.rlim_cur, *pages * static_cast<std::size_t>(page));
}

}  // namespace

std::optional<std::size_t> available_memory(const fs::path& root) {
  std::optional<std::size_t> kibibytes = entry_of(root / "proc/meminfo", "MemAvailable:");
  if (kibibytes) *kibibytes *= 1024;
  return least(least(kibibytes, left_in_control_groups(root)), left_of_address_space(root));
}

}  // namespace attnflow
