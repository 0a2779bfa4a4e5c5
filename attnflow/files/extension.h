// The extension of a file's name, which determines its format.
#pragma once

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>

namespace attnflow::internal {

// ".png" for "a.PNG"; "" without an extension.
inline std::string lower_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return extension;
}

}  // namespace attnflow::internal
