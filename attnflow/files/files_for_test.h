// Helpers shared by the file tests: a temporary folder, bytes built by hand, and checks of an error's kind and words.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/base/error_for_test.h"

namespace attnflow::test {

class TempFolder {
 public:
  TempFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attnflow-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot create " + pattern);
    path_ = pattern;
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }
  // The sorted names of its entries; shows that no temporary file is left.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

inline std::filesystem::path put(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  EXPECT_TRUE(file) << path;
  return path;
}

inline std::string get(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
std::string bytes_of(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

// Reads copies of `good` in which `round` % 4 + `least` random bytes differ, every `cut`-th of them cut short (0:
// none), with `read`, which may throw Error(kBadFile) only. The cases are the same each time.
template <typename Read>
void expect_harmless_damage(const std::string& good, int rounds, int least, int cut, const Read& read) {
  std::mt19937 random(20);
  for (int round = 0; round < rounds; ++round) {
    std::string file = good.substr(0, cut != 0 && round % cut == 0 ? random() % good.size() : good.size());
    for (int k = round % 4 + least; k > 0 && !file.empty(); --k)
      file[random() % file.size()] = static_cast<char>(random());
    try {
      read(file);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadFile) << error.what();
    }
  }
}

}  // namespace attnflow::test
