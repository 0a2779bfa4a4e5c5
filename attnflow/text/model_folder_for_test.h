// Helpers shared by the tests of this module: the tokenizers in testdata, folders built file by file, expected errors.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/base/error_for_test.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow {

inline std::filesystem::path testdata() {
  return std::filesystem::path(ATTNFLOW_SOURCE_DIR) / "attnflow/text/testdata";
}

inline nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream stream(path);
  EXPECT_TRUE(stream) << path;
  return nlohmann::json::parse(stream);
}

inline std::vector<std::int64_t> ids_of(const Encoding& encoding) {
  std::vector<std::int64_t> ids;
  for (const EncodedToken& token : encoding.tokens) ids.push_back(token.id);
  return ids;
}

inline void expect_mentions(const std::string& message, std::string_view part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

class ModelFolder : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("attnflow-text-") + info->test_suite_name() + "-" + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, std::string_view content) const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
  }
  void copy_from(const char* tokenizer, const char* name) const {
    std::filesystem::copy_file(testdata() / tokenizer / name, folder_ / name,
                               std::filesystem::copy_options::overwrite_existing);
  }
  std::string load_error(const std::string& model_type = "") const {
    return test::refusal(ErrorKind::kBadFile, [&] { (void)Tokenizer::load(folder_, model_type); });
  }
  void expect_refused(const std::string& name, std::string_view content, std::string_view part) const {
    write(name, content);
    expect_mentions(load_error(), part);
  }
  void write_byte_level(std::string_view vocabulary, std::string_view merges) const {
    write("vocab.json", vocabulary);
    write("merges.txt", merges);
  }

  std::filesystem::path folder_;
};

}  // namespace attnflow
