#include "attnflow/explain/certificates.h"

#include <gtest/gtest.h>

#include "attnflow/base/error.h"

namespace attnflow::certificates_test {
namespace {

TEST(Certificates, AreAPairOfTokens) {
  EXPECT_EQ(to_text(parse_certificate("cls,5").output_token), "cls");
  EXPECT_EQ(to_text(parse_certificate("cls,5").input_token), "5");
  EXPECT_EQ(to_text(parse_certificate("auto,last").output_token), "auto");
  for (const char* wrong : {"", "5", "5,", ",5", "1,2,3", "1;2", "all,1", "1,auto", "1,all", "-1,2", "a,b", "1, 2"}) {
    EXPECT_THROW(parse_certificate(wrong), Error) << wrong;
  }
}

}  // namespace
}  // namespace attnflow::certificates_test
