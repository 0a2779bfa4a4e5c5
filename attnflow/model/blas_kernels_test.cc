#include "attnflow/model/blas_kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "attnflow/model/model_for_test.h"

namespace attnflow::blas_kernels_test {
namespace {

TEST(BlasKernels, AreThoseOfTheOldestProcessorThatCanDoAsMuch) {
  EXPECT_EQ(internal::blas_kernels_for({}), "");
  EXPECT_EQ(internal::blas_kernels_for({.avx2 = true}), "Haswell");
  EXPECT_EQ(internal::blas_kernels_for({.avx2 = true, .avx512 = true}), "SkylakeX");
}

TEST(BlasKernels, AreWhatTheUserSays) {
  const test::Environment variable("OPENBLAS_CORETYPE", "Nehalem");
  choose_blas_kernels();
  EXPECT_STREQ(std::getenv("OPENBLAS_CORETYPE"), "Nehalem");
}

}  // namespace
}  // namespace attnflow::blas_kernels_test
