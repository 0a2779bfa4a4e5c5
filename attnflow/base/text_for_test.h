#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow::test {

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

inline void expect_parts(std::string_view text, const std::vector<std::string_view>& parts) {
  for (const std::string_view part : parts) EXPECT_TRUE(contains(text, part)) << "no \"" << part << "\" in: " << text;
}

inline void expect_no_parts(std::string_view text, const std::vector<std::string_view>& parts) {
  for (const std::string_view part : parts) EXPECT_FALSE(contains(text, part)) << "\"" << part << "\" in: " << text;
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace attnflow::test
