#include "attnflow/model/image_info.h"

#include <gtest/gtest.h>

#include "attnflow/base/error.h"
#include "attnflow/files/files_for_test.h"

namespace attnflow::image_info_test {
namespace {

using test::expect_error;

const ImageInfo kOblong = {3, 32, 48, 8, 16, {TokenRole::kClass, TokenRole::kRegister}};

TEST(ImageInfo, TokensFollowFromThePictureAndThePatch) {
  EXPECT_EQ(kOblong.rows(), 4U);
  EXPECT_EQ(kOblong.columns(), 3U);
  const ImageTokens tokens = image_tokens(kOblong, 16, 80);
  EXPECT_EQ(tokens.rows, 2U);
  EXPECT_EQ(tokens.columns, 5U);
  ASSERT_EQ(tokens.roles.size(), 12U);
  EXPECT_EQ(tokens.leading(), 2U);
  EXPECT_EQ(tokens.roles[0], TokenRole::kClass);
  EXPECT_EQ(tokens.roles[1], TokenRole::kRegister);
  for (std::size_t t = 2; t < 12; ++t) EXPECT_EQ(tokens.roles[t], TokenRole::kPatch);
}

TEST(ImageInfo, NamesOfRoles) {
  EXPECT_STREQ(token_role_name(TokenRole::kText), "text");
  EXPECT_STREQ(token_role_name(TokenRole::kClass), "class");
  EXPECT_STREQ(token_role_name(TokenRole::kDistillation), "distillation");
  EXPECT_STREQ(token_role_name(TokenRole::kRegister), "register");
  EXPECT_STREQ(token_role_name(TokenRole::kPatch), "patch");
}

TEST(ImageInfo, RefusesPicturesThatThePatchesDoNotFit) {
  const auto tokens = [](std::size_t height, std::size_t width) { return image_tokens(kOblong, height, width); };
  expect_error(ErrorKind::kUsage, {"8 x 16", "found 12 x 32", "8 x 32"}, [&] { tokens(12, 32); });
  expect_error(ErrorKind::kUsage, {"found 8 x 8", "8 x 16"}, [&] { tokens(8, 8); });
  expect_error(ErrorKind::kUsage, {"found 0 x 16"}, [&] { tokens(0, 16); });
  expect_error(ErrorKind::kUsage, {"found 8 x 0"}, [&] { tokens(8, 0); });
  ImageInfo dots = kOblong;
  dots.patch_height = dots.patch_width = 1;
  const std::size_t huge = std::size_t{1} << 40;
  expect_error(ErrorKind::kUsage, {"fits in memory"}, [&] { image_tokens(dots, huge, huge); });
}

}  // namespace
}  // namespace attnflow::image_info_test
