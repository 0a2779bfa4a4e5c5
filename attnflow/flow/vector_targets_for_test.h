// Lets tests run every version of vector code, which is selected at run time, that this machine supports.
#pragma once

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <cstdint>
#include <string>
#include <vector>

namespace attnflow::internal {

inline std::vector<std::int64_t> vector_targets() { return hwy::SupportedAndGeneratedTargets(); }

class VectorTarget {
 public:
  explicit VectorTarget(std::int64_t target) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    EXPECT_EQ(hwy::SupportedTargets(), target) << hwy::TargetName(target);
  }
  ~VectorTarget() {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  VectorTarget(const VectorTarget&) = delete;
  VectorTarget& operator=(const VectorTarget&) = delete;
};

template <class F>
void for_each_vector_target(const F& f) {
  for (const std::int64_t target : vector_targets()) {
    SCOPED_TRACE(hwy::TargetName(target));
    const VectorTarget scope(target);
    f();
  }
}

inline std::string vector_target_names() {
  std::string names;
  for (const std::int64_t target : vector_targets()) {
    if (!names.empty()) names += ", ";
    names += hwy::TargetName(target);
  }
  return names;
}

}  // namespace attnflow::internal
