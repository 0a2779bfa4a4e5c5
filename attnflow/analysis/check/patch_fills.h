// Replacements for a part of a picture, made from the picture itself, for the check.
//
// Problem. A patch in the preprocessing's mean color, the usual blank, is an object of its own: a gray square on a dark
// ground or a white shirt is seldom seen in training, and the prediction moves because of its edges. A replacement
// should have colors that this place of this picture could have had.
//
// Method. Four kinds, none of which brings in anything that the rest of the picture does not have:
//
//   mean of its neighbors                    one color, that of the patches around it
//   mean of the picture                      one color, that of the whole picture
//   interpolated from the pixels around it   each pixel is the mean of the nearest pixels outside in its row and its
//                                            column, weighted by nearness: no edges
//   blurred                                  each pixel is the mean of a square around it, two patches wide: the colors
//                                            stay, and details go
//
// Cost: O(area) for each, after one pass over the picture. Deterministic.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "attnflow/model/image_info.h"
#include "attnflow/model/model.h"

namespace attnflow::internal {

enum class PatchFill { kNeighbors, kPicture, kInterpolated, kBlurred };

// The best alone come first (docs/check.md).
inline constexpr std::array kPatchFills = {PatchFill::kNeighbors, PatchFill::kPicture, PatchFill::kInterpolated,
                                           PatchFill::kBlurred};

// "mean of its neighbors"
const char* name_of(PatchFill fill);

// The pixels of rows [top, bottom) and columns [left, right), of all channels.
struct PixelBox {
  std::size_t top = 0;
  std::size_t left = 0;
  std::size_t bottom = 0;
  std::size_t right = 0;
};

class PatchFiller {
 public:
  // `input` must outlive the filler.
  PatchFiller(const PixelInput& input, const ImageInfo& info);

  // The picture with the box filled; nothing if the box is the whole picture, and the fill needs what is around it.
  std::optional<PixelInput> filled(const PixelBox& box, PatchFill fill) const;

 private:
  float value(const PixelBox& box, PatchFill fill, std::size_t channel, std::size_t row, std::size_t column) const;
  float interpolated(const PixelBox& box, std::size_t channel, std::size_t row, std::size_t column) const;
  // The sum over a box, by the sums of everything above and to the left of a pixel.
  double sum(std::size_t channel, const PixelBox& box) const;
  // The box with this many more pixels on each side, within the picture.
  PixelBox grown(const PixelBox& box, std::size_t rows, std::size_t columns) const;

  const PixelInput& input_;
  std::size_t patch_height_;
  std::size_t patch_width_;
  std::size_t height_;
  std::size_t width_;
  Tensor<double> sums_;  // [channel, row, column], with a row and a column of zeros first
};

}  // namespace attnflow::internal
