// Fashion-MNIST (Xiao, Rasul and Vollgraf, arXiv:1708.07747): 28 x 28 grey pictures of ten kinds of clothing, 60,000 to
// train on and 10,000 for test.
#ifndef ATTNFLOW_IMAGE_FASHION_MNIST_H_
#define ATTNFLOW_IMAGE_FASHION_MNIST_H_

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "attnflow/image/picture.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

inline constexpr std::size_t kFashionEdge = 28;  // pixels

// The names of the labels 0 to 9, as the authors of the data set give them.
const std::vector<std::string>& fashion_labels();

struct LabelledPictures {
  Tensor<std::uint8_t> pixels;      // [count, 28, 28], 0 black
  std::vector<std::size_t> labels;  // [count], below 10

  std::size_t count() const { return labels.size(); }
  std::span<const std::uint8_t> picture(std::size_t index) const {
    return pixels.span().subspan(index * kFashionEdge * kFashionEdge, kFashionEdge * kFashionEdge);
  }
};

// Pictures and labels of two IDX files (idx_file.h). Throws Error(kBadFile): as read_idx; pictures that are not 28 x
// 28; another number of labels than of pictures; a label above 9.
LabelledPictures read_fashion_pictures(const std::filesystem::path& pictures, const std::filesystem::path& labels);

enum class FashionPart { kTrain, kTest };

// A part of the data set in `folder`, which holds {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, with ".gz" or
// without. Throws Error(kBadFile): a file is missing (the message says where to get them), or as above.
LabelledPictures read_fashion_part(const std::filesystem::path& folder, FashionPart part);

// One of them as a file of the same grey values would be read.
Picture grey_picture(std::span<const std::uint8_t> grey);

}  // namespace attnflow

#endif  // ATTNFLOW_IMAGE_FASHION_MNIST_H_
