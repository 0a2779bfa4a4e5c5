#include "attnflow/tensor/tensor.h"

#include <gtest/gtest.h>

#include <limits>

namespace attnflow::tensor_test {
namespace {

TEST(Tensor, IsRowMajorAndStartsAtZero) {
  Tensor<int> tensor({2, 3});
  EXPECT_EQ(tensor(1, 2), 0);
  tensor(1, 0) = 7;
  EXPECT_EQ(tensor.data()[3], 7);
  EXPECT_EQ(tensor[1](0), 7);
  EXPECT_EQ(tensor[1].shape(), (Shape{3}));
}

TEST(Tensor, ViewsShareMemoryAndBecomeConst) {
  Tensor<float> tensor({2, 2, 2});
  const TensorView<float> view = tensor[1];
  view(1, 1) = 5.0F;
  EXPECT_EQ(tensor(1, 1, 1), 5.0F);
  const TensorView<const float> constant = view;
  EXPECT_EQ(constant(1, 1), 5.0F);
}

TEST(Tensor, EmptyOnesHaveNoElements) {
  EXPECT_TRUE(Tensor<int>().empty());
  EXPECT_TRUE(Tensor<int>({3, 0, 2}).empty());
  EXPECT_EQ(Tensor<int>(Shape{}).size(), 1U);
}

TEST(Tensor, RefusesSizesThatOverflow) {
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max() / 2;
  EXPECT_THROW(Tensor<int>({kHuge, 3}), Error);
  EXPECT_EQ(shape_to_string(Shape{2, 3}), "[2, 3]");
  EXPECT_EQ(shape_to_string(Shape{}), "[]");
}

}  // namespace
}  // namespace attnflow::tensor_test
