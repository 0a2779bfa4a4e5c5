#include "attnflow/image/fashion_mnist.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "attnflow/files/files_for_test.h"
#include "attnflow/image/idx_for_test.h"

namespace attnflow::fashion_mnist_test {
namespace {

using test::expect_error;

TEST(FashionMnist, RefusesWhatItIsNot) {
  const test::TempFolder folder;
  const auto pictures = [&](const std::vector<std::uint32_t>& shape) {
    std::size_t count = 1;
    for (const std::uint32_t extent : shape) count *= extent;
    return test::put(folder / "p", test::idx(shape, std::vector<std::uint8_t>(count)));
  };
  const auto labels = [&](const std::vector<std::uint8_t>& values) {
    return test::put(folder / "l", test::idx({static_cast<std::uint32_t>(values.size())}, values));
  };
  expect_error(ErrorKind::kBadFile, {"p: expected images of 28 x 28 pixels, shape"}, [&] {
    read_fashion_pictures(pictures({2, 28, 27}), labels({1, 2}));
  });
  expect_error(ErrorKind::kBadFile, {"p: ", "28 x 28"}, [&] {
    read_fashion_pictures(pictures({28, 28}), labels({1, 2}));
  });
  expect_error(ErrorKind::kBadFile, {"l: ", "each of the 2 images"}, [&] {
    read_fashion_pictures(pictures({2, 28, 28}), labels({1, 2, 3}));
  });
  expect_error(ErrorKind::kBadFile, {"l: expected labels from 0 to 9, found 10"}, [&] {
    read_fashion_pictures(pictures({2, 28, 28}), labels({1, 10}));
  });
  EXPECT_EQ(read_fashion_pictures(pictures({2, 28, 28}), labels({1, 9})).labels, (std::vector<std::size_t>{1, 9}));
  for (const FashionPart part : {FashionPart::kTrain, FashionPart::kTest}) {
    expect_error(ErrorKind::kBadFile, {"-images-idx3-ubyte.gz", "dataset-fashion-mnist", "--data"},
                 [&] { read_fashion_part(folder.path(), part); });
  }
}

TEST(FashionMnist, ReadsAPartPackedOrNot) {
  const test::TempFolder folder;
  std::vector<std::uint8_t> pixels(2 * kFashionEdge * kFashionEdge, 7);
  pixels.back() = 200;
  test::put(folder / "t10k-images-idx3-ubyte.gz", test::gzip(test::idx({2, 28, 28}, pixels)));
  test::put(folder / "t10k-labels-idx1-ubyte", test::idx({2}, std::array<std::uint8_t, 2>{3, 9}));
  const LabelledPictures part = read_fashion_part(folder.path(), FashionPart::kTest);
  EXPECT_EQ(part.count(), 2U);
  EXPECT_EQ(part.labels[1], 9U);
  EXPECT_EQ(fashion_labels()[part.labels[1]], "Ankle boot");
  const Picture picture = grey_picture(part.picture(1));
  EXPECT_EQ(picture.rgb.shape(), (Shape{28, 28, 3}));
  EXPECT_EQ(picture.rgb(0, 0, 2), 7);
  EXPECT_EQ(picture.rgb(27, 27, 0), 200);
}

}  // namespace
}  // namespace attnflow::fashion_mnist_test
