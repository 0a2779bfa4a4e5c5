#include "attnflow/model/blas_kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace attnflow::blas_kernels_test {
namespace {

TEST(BlasKernels, AreThoseOfTheOldestProcessorThatCanDoAsMuch) {
  EXPECT_EQ(internal::blas_kernels_for({}), "");
  EXPECT_EQ(internal::blas_kernels_for({.avx2 = true}), "Haswell");
  EXPECT_EQ(internal::blas_kernels_for({.avx2 = true, .avx512 = true}), "SkylakeX");
}

TEST(BlasKernels, AreWhatTheUserSays) {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  const char* const before = std::getenv(kVariable);
  const std::string kept = before == nullptr ? "" : before;
  ::setenv(kVariable, "Nehalem", 1);
  choose_blas_kernels();
  EXPECT_STREQ(std::getenv(kVariable), "Nehalem");
  if (before == nullptr) {
    ::unsetenv(kVariable);
  } else {
    ::setenv(kVariable, kept.c_str(), 1);
  }
}

}  // namespace
}  // namespace attnflow::blas_kernels_test
