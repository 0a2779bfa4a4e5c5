#include <algorithm>
#include <utility>

#include "attnflow/analysis/image/explain_image.h"
#include "attnflow/image/encode_png.h"
#include "attnflow/image/resize.h"

namespace attnflow {
namespace {

constexpr std::size_t kLongestShown = 640;  // enough for a page

}  // namespace

PictureGiven shown_picture(const Picture& picture, std::string name) {
  const std::size_t longest = std::max(picture.width(), picture.height());
  ResizeOptions smaller;
  smaller.width = std::max<std::size_t>(1, picture.width() * kLongestShown / longest);
  smaller.height = std::max<std::size_t>(1, picture.height() * kLongestShown / longest);
  const Picture shown = longest <= kLongestShown ? picture : resize(picture, smaller);
  return {.picture = picture,
          .name = std::move(name),
          .png = encode_png(shown),
          .png_width = shown.width(),
          .png_height = shown.height()};
}

}  // namespace attnflow
