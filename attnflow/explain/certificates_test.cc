#include "attnflow/explain/certificates.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "attnflow/base/error.h"

namespace attnflow::certificates_test {
namespace {

std::vector<CertificatePair> pairs_of(const std::vector<std::string>& texts) {
  std::vector<CertificatePair> pairs;
  from_value(texts, pairs);
  return pairs;
}

TEST(Certificates, AreAPairOfTokens) {
  const std::vector<std::string> texts = {"cls,5", "auto,last"};
  const std::vector<CertificatePair> pairs = pairs_of(texts);
  ASSERT_EQ(pairs.size(), 2U);
  EXPECT_EQ(pairs[0].output_token.kind, OutputToken::Kind::kClass);
  EXPECT_EQ(pairs[0].input_token.position, 5U);
  EXPECT_EQ(pairs[1].output_token.kind, OutputToken::Kind::kAuto);
  EXPECT_EQ(to_value(pairs), OptionValue(texts));
  for (const char* wrong : {"", "5", "5,", ",5", "1,2,3", "1;2", "all,1", "1,auto", "1,all", "-1,2", "a,b", "1, 2"}) {
    EXPECT_THROW(pairs_of({wrong}), Error) << wrong;
  }
}

}  // namespace
}  // namespace attnflow::certificates_test
