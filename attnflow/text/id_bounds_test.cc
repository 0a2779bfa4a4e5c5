#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "attnflow/text/model_folder_for_test.h"
#include "attnflow/text/tokenizer.h"

namespace attnflow::id_bounds_test {
namespace {

class IdBounds : public ModelFolder {};

TEST_F(IdBounds, AnIdHas32Bits) {
  write("tokenizer.json", R"({"model": {"type": "WordLevel", "vocab": {"a": 0, "b": 4294967295}, "unk_token": "a"}})");
  const Tokenizer tokenizer = Tokenizer::load(folder_);
  EXPECT_EQ(tokenizer.id_to_token(0), "a");
  EXPECT_EQ(tokenizer.id_to_token(4294967295), "b");
  EXPECT_EQ(tokenizer.readable(4294967295), "b");
  for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{1}, std::int64_t{4294967296}}) {
    EXPECT_EQ(tokenizer.id_to_token(id), std::nullopt) << id;
  }
}

}  // namespace
}  // namespace attnflow::id_bounds_test
