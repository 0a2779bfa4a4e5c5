#include "attnflow/image/fashion_mnist.h"

#include <fmt/format.h>

#include <algorithm>

#include "attnflow/base/error.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/image/idx_file.h"

namespace attnflow {
namespace {

std::filesystem::path find_file(const std::filesystem::path& folder, const std::string& name) {
  std::filesystem::path packed = folder / (name + ".gz");
  if (internal::is_listed(packed)) return packed;
  if (internal::is_listed(folder / name)) return folder / name;
  internal::fail_file(
      folder.string(),
      fmt::format("expected {}.gz of the Fashion-MNIST data set, found no such file. On Debian, install "
                  "the package dataset-fashion-mnist, or give its folder with --data",
                  name));
}

}  // namespace

const std::vector<std::string>& fashion_labels() {
  static const std::vector<std::string> labels = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                                  "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
  return labels;
}

LabelledPictures read_fashion_pictures(const std::filesystem::path& pictures, const std::filesystem::path& labels) {
  LabelledPictures read;
  read.pixels = read_idx(pictures);
  const Shape& shape = read.pixels.shape();
  if (shape.size() != 3 || shape[1] != kFashionEdge || shape[2] != kFashionEdge) {
    internal::fail_file(pictures.string(),
                        fmt::format("expected images of {} x {} pixels, shape [count, {}, {}], found shape {}",
                                    kFashionEdge, kFashionEdge, kFashionEdge, kFashionEdge, shape_to_string(shape)));
  }
  const Tensor<std::uint8_t> numbers = read_idx(labels);
  if (numbers.shape() != Shape{shape[0]}) {
    internal::fail_file(labels.string(), fmt::format("expected a label for each of the {} images of {}, found shape {}",
                                                     shape[0], pictures.string(), shape_to_string(numbers.shape())));
  }
  for (const std::uint8_t number : numbers.span()) {
    if (number >= fashion_labels().size()) {
      internal::fail_file(labels.string(),
                          fmt::format("expected labels from 0 to {}, found {}", fashion_labels().size() - 1, number));
    }
    read.labels.push_back(number);
  }
  return read;
}

LabelledPictures read_fashion_part(const std::filesystem::path& folder, FashionPart part) {
  const std::string name = part == FashionPart::kTrain ? "train" : "t10k";
  const std::filesystem::path pictures = find_file(folder, name + "-images-idx3-ubyte");
  return read_fashion_pictures(pictures, find_file(folder, name + "-labels-idx1-ubyte"));
}

Picture grey_picture(std::span<const std::uint8_t> grey) {
  constexpr std::size_t kColors = 3;
  Picture picture{.rgb = Tensor<std::uint8_t>({kFashionEdge, kFashionEdge, kColors})};
  auto out = picture.rgb.span().begin();
  for (const std::uint8_t value : grey) out = std::fill_n(out, kColors, value);
  return picture;
}

}  // namespace attnflow
