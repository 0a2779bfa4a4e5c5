#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>

namespace attnflow::internal {

// ASCII only.
inline std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// ".png" for "a.PNG"; "" without an extension.
inline std::string lower_extension(const std::filesystem::path& path) { return lower(path.extension().string()); }

}  // namespace attnflow::internal
