#include "attnflow/graph/normalize.h"

#include <gtest/gtest.h>

#include "attnflow/graph/mixing.h"

namespace attnflow::normalize_test {
namespace {

TEST(NormalizeRows, DividesBySumsAndLeavesEmptyRows) {
  Tensor<double> values({2, 2}, {1.0, 3.0, 0.0, 0.0});
  EXPECT_EQ(normalize_rows(values.view()), (std::vector<double>{4.0, 1.0}));
  EXPECT_EQ(values, Tensor<double>({2, 2}, {0.25, 0.75, 0.0, 0.0}));
}

TEST(NormalizeReceptiveField, UniformAttentionBecomesUniform) {
  for (const bool causal : {false, true}) {
    const Tensor<double> uniform = uniform_graph(1, 6, causal, 0.3).top(1);
    Tensor<double> values = uniform;
    EXPECT_EQ(normalize_receptive_field(values.view(), uniform.view()).flagged, 0U);
    for (std::size_t i = 0; i < 6; ++i) {
      const std::size_t seen = causal ? i + 1 : 6;
      for (std::size_t j = 0; j < 6; ++j) {
        EXPECT_NEAR(values(i, j), j < seen ? 1.0 / static_cast<double>(seen) : 0.0, 1e-15);
      }
    }
  }
}

TEST(NormalizeReceptiveField, FlagsTinyBaselinesInsteadOfDividing) {
  Tensor<double> values({1, 3}, {0.5, 0.25, 0.0});
  const Tensor<double> baseline({1, 3}, {0.5, 1e-7, 0.0});
  const ReceptiveField field = normalize_receptive_field(values.view(), baseline.view());
  EXPECT_EQ(field.flagged, 1U);
  EXPECT_EQ(values, Tensor<double>({1, 3}, {1.0, 0.0, 0.0}));
  EXPECT_EQ(field.scale, Tensor<double>({1, 3}, {2.0, 0.0, 0.0}));
}

TEST(Words, ColumnsAreSummedAndRowsAveraged) {
  const Tensor<double> values({3, 3}, {0.5, 0.25, 0.25, 0.0, 0.5, 0.5, 1.0, 0.0, 0.0});
  const TokenGroups groups{{0}, {1, 2}};
  const Tensor<double> columns = sum_columns(values.view(), groups);
  EXPECT_EQ(columns, Tensor<double>({3, 2}, {0.5, 0.5, 0.0, 1.0, 1.0, 0.0}));
  EXPECT_EQ(average_rows(columns.view(), groups), Tensor<double>({2, 2}, {0.5, 0.5, 0.5, 0.5}));
}

}  // namespace
}  // namespace attnflow::normalize_test
