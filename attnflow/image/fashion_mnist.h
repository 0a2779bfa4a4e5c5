// Fashion-MNIST (Xiao, Rasul and Vollgraf, arXiv:1708.07747): 28 x 28 gray pictures of ten kinds of clothing, 60,000
// for training and 10,000 for testing.
#pragma once

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

const std::vector<std::string>& fashion_labels();

struct LabelledPictures {
  Tensor<std::uint8_t> pixels;      // [count, 28, 28], 0 black
  std::vector<std::size_t> labels;  // [count], below 10

  std::size_t count() const { return labels.size(); }
  std::span<const std::uint8_t> picture(std::size_t index) const {
    return pixels.span().subspan(index * kFashionEdge * kFashionEdge, kFashionEdge * kFashionEdge);
  }
};

// Throws Error(kBadFile) as read_idx does, and for pictures that are not 28 x 28, numbers of labels and pictures that
// differ, and a label above 9.
LabelledPictures read_fashion_pictures(const std::filesystem::path& pictures, const std::filesystem::path& labels);

enum class FashionPart { kTrain, kTest };

// Reads a part of the data set from `folder`, which holds {train,t10k}-images-idx3-ubyte and -labels-idx1-ubyte, with
// or without ".gz". Throws Error(kBadFile) as above, and when a file is missing (the message says where to get it).
LabelledPictures read_fashion_part(const std::filesystem::path& folder, FashionPart part);

Picture grey_picture(std::span<const std::uint8_t> grey);

}  // namespace attnflow
