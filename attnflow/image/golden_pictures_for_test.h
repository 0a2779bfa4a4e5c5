// The golden pictures of tests/golden/pictures (see tests/golden/README.md).
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/files/files_for_test.h"
#include "attnflow/image/picture.h"

namespace attnflow::test {

inline std::filesystem::path pictures_folder() {
  return std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "tests" / "golden" / "pictures";
}

inline const nlohmann::json& pictures_index() {
  static const nlohmann::json index = nlohmann::json::parse(get(pictures_folder() / "index.json"));
  return index;
}

inline std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// A uint8 array from a golden file, in its stored shape.
inline Tensor<std::uint8_t> golden_bytes(const std::string& file, const std::string& key) {
  const Array array = read_npz(pictures_folder() / file, key);
  EXPECT_EQ(array.dtype, DType::kU8);
  std::vector<std::uint8_t> values;
  for (const std::byte byte : array.bytes) values.push_back(std::to_integer<std::uint8_t>(byte));
  return {array.shape, std::move(values)};
}

inline int largest_difference(const Tensor<std::uint8_t>& a, const Tensor<std::uint8_t>& b) {
  EXPECT_EQ(a.shape(), b.shape());
  if (a.shape() != b.shape()) return 256;
  int largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(int{a.data()[i]} - int{b.data()[i]}));
  return largest;
}

inline Picture plain_picture(std::size_t height, std::size_t width, std::uint8_t red, std::uint8_t green,
                             std::uint8_t blue) {
  Picture picture{Tensor<std::uint8_t>({height, width, 3})};
  for (std::size_t i = 0; i < picture.rgb.size(); ++i) {
    picture.rgb.data()[i] = i % 3 == 0 ? red : i % 3 == 1 ? green : blue;
  }
  return picture;
}

}  // namespace attnflow::test
