#include "attnflow/model/image_info.h"

#include <algorithm>
#include <array>

#include "attnflow/base/checked_size.h"
#include "attnflow/model/fail.h"

namespace attnflow {

const char* token_role_name(TokenRole role) {
  constexpr std::array kNames = {"text", "class", "distillation", "register", "patch"};  // in the order of TokenRole
  return kNames.at(static_cast<std::size_t>(role));
}

ImageTokens image_tokens(const ImageInfo& image, std::size_t height, std::size_t width) {
  const bool fits = height > 0 && width > 0 && height % image.patch_height == 0 && width % image.patch_width == 0;
  if (!fits) {
    const auto nearest = [](std::size_t pixels, std::size_t patch) {
      return std::max(pixels / patch, std::size_t{1}) * patch;
    };
    internal::fail(ErrorKind::kUsage,
                   "expected an image whose height and width are multiples of the model's patch size of {} x "
                   "{} pixels, found {} x {}. Resize or crop it, for example to {} x {}",
                   image.patch_height, image.patch_width, height, width, nearest(height, image.patch_height),
                   nearest(width, image.patch_width));
  }
  ImageTokens tokens;
  tokens.rows = height / image.patch_height;
  tokens.columns = width / image.patch_width;
  const auto patches = checked_multiply(tokens.rows, tokens.columns);
  if (!patches) {
    internal::fail(ErrorKind::kUsage, "expected an image that fits in memory, found {} x {} pixels", height, width);
  }
  tokens.roles = image.leading;
  tokens.roles.resize(tokens.roles.size() + *patches, TokenRole::kPatch);
  return tokens;
}

}  // namespace attnflow
