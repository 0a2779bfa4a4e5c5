#include "attnflow/base/available_memory.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

namespace attnflow::available_memory_test {
namespace {

namespace fs = std::filesystem;

class MadeUpRoot {
 public:
  MadeUpRoot() {
    std::string name = (fs::temp_directory_path() / "attnflow-memory-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  MadeUpRoot(const MadeUpRoot&) = delete;
  MadeUpRoot& operator=(const MadeUpRoot&) = delete;
  ~MadeUpRoot() { fs::remove_all(path_); }
  const fs::path& path() const { return path_; }
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
  }

 private:
  fs::path path_;
};

TEST(AvailableMemory, WhatTheKernelSays) {
  const MadeUpRoot root;
  EXPECT_EQ(available_memory(root.path()), std::nullopt);
  root.write("proc/meminfo", "MemTotal:       8000 kB\nMemFree:         100 kB\nMemAvailable:   3000 kB\n");
  EXPECT_EQ(available_memory(root.path()), 3000U * 1024U);
  root.write("proc/meminfo", "MemAvailable: lots\n");
  EXPECT_EQ(available_memory(root.path()), std::nullopt);
}

TEST(AvailableMemory, TheTightestControlGroupCounts) {
  const MadeUpRoot root;
  root.write("proc/meminfo", "MemAvailable:   3000 kB\n");
  root.write("proc/self/cgroup", "0::/jobs/one\n");
  root.write("sys/fs/cgroup/jobs/one/memory.max", "max\n");
  root.write("sys/fs/cgroup/jobs/one/memory.current", "500000\n");
  EXPECT_EQ(available_memory(root.path()), 3000U * 1024U);
  root.write("sys/fs/cgroup/jobs/memory.max", "1000000\n");
  root.write("sys/fs/cgroup/jobs/memory.current", "700000\n");
  EXPECT_EQ(available_memory(root.path()), 300'000U);
  root.write("sys/fs/cgroup/jobs/memory.stat", "anon 400000\nactive_file 50000\ninactive_file 200000\n");
  EXPECT_EQ(available_memory(root.path()), 550'000U);
  root.write("sys/fs/cgroup/jobs/memory.current", "2000000\n");
  EXPECT_EQ(available_memory(root.path()), 0U);
}

TEST(AvailableMemory, TheFirstVersionOfControlGroups) {
  const MadeUpRoot root;
  root.write("proc/meminfo", "MemAvailable:   3000 kB\n");
  root.write("proc/self/cgroup", "12:cpu,cpuacct:/x\n9:memory:/y\n1:name=systemd:/z\n");
  root.write("sys/fs/cgroup/memory/y/memory.limit_in_bytes", "1000\n");
  root.write("sys/fs/cgroup/memory/y/memory.usage_in_bytes", "400\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/memory/memory.usage_in_bytes", "400\n");
  EXPECT_EQ(available_memory(root.path()), 600U);
}

TEST(AvailableMemory, OfThisMachine) {
  const auto bytes = available_memory();
  ASSERT_TRUE(bytes.has_value());
  EXPECT_GT(*bytes, std::size_t{1} << 20);
  EXPECT_LT(*bytes, std::size_t{1} << 50);
}

}  // namespace
}  // namespace attnflow::available_memory_test
