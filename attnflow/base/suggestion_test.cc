#include "attnflow/base/suggestion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace attnflow::internal::suggestion_test {
namespace {

TEST(Suggestion, NamesTheNearestNameAndNothingThatIsFar) {
  const std::vector<std::string> names = {"raw", "rollout", "flow", "mean", "min", "receptive-field", "--method"};
  struct Case {
    std::string typed;
    std::string meant;
  };
  for (const auto& [typed, meant] : std::vector<Case>{{"rolout", "rollout"},
                                                      {"rollotu", "rollout"},
                                                      {"ROLLOUT", "rollout"},
                                                      {"ro", "rollout"},
                                                      {"men", "mean"},
                                                      {"receptive_field", "receptive-field"},
                                                      {"receptive", "receptive-field"},
                                                      {"--metod", "--method"},
                                                      {"wolf", ""},
                                                      {"r", ""},
                                                      {"", ""},
                                                      {"--", ""},
                                                      {"-0.5", ""},
                                                      {"attention", ""},
                                                      {std::string(100'000, 'r'), ""}}) {
    EXPECT_EQ(nearest_name(typed, names), meant) << typed.substr(0, 20);
  }
  EXPECT_EQ(did_you_mean("flwo", names), "; did you mean flow?");
  EXPECT_EQ(did_you_mean("gradient", names), "");
  EXPECT_EQ(nearest_name("flow", {}), "");
  EXPECT_EQ(not_among("--map", {"smooth", "patches"}, "smoth"),
            "--map: expected smooth or patches, found 'smoth'; did you mean smooth?");
  EXPECT_EQ(not_among("--blank", {"auto", "unk", "pad"}, "zero"), "--blank: expected auto, unk or pad, found 'zero'");
}

}  // namespace
}  // namespace attnflow::internal::suggestion_test
