#include "attnflow/files/mapped_file.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

namespace attnflow::internal::mapped_file_test {
namespace {

TEST(MappedFile, ReleasedPartsAreReadAgain) {
  const std::string path = testing::TempDir() + "mapped_file_test.bin";
  std::string content(100'000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 7 % 251);
  std::ofstream(path, std::ios::binary) << content;
  const MappedFile file(path, "test");
  const auto text = [&] {
    return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  };
  ASSERT_EQ(text(), content);
  file.release(file.bytes());
  EXPECT_EQ(text(), content);
  file.release(file.bytes().subspan(5'000, 50'000));
  file.release(file.bytes().subspan(99'999));
  file.release({});
  EXPECT_EQ(text(), content);
}

TEST(MappedFile, MemoryElsewhereIsNotTouched) {
  const std::string path = testing::TempDir() + "mapped_file_test.bin";
  std::ofstream(path, std::ios::binary) << "attnflow";
  const MappedFile file(path, "test");
  std::vector<std::byte> own(100'000, std::byte{3});
  file.release(own);
  EXPECT_EQ(own, std::vector<std::byte>(100'000, std::byte{3}));
  MappedFile().release(own);
  EXPECT_EQ(own.front(), std::byte{3});
}

}  // namespace
}  // namespace attnflow::internal::mapped_file_test
