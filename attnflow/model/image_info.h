// Defines a vision model's tokens for an image: a grid of patches, preceded by special tokens.
//
// Definition. A vision transformer (Dosovitskiy et al., ICLR 2021) cuts an image of h x w pixels into non-overlapping
// patches of p_h x p_w pixels, h / p_h rows of w / p_w patches, and makes each into a token, row by row. Tokens without
// a location precede them: the class token, the distillation token (DeiT: Touvron et al., ICML 2021), registers (Darcet
// et al., ICLR 2024). So, with `leading` tokens before the patches, patch (r, c) is token
//   leading + r * columns + c.
//
// Rows and columns follow from the sizes of the image and the patch. The square root of the number of tokens is wrong
// for an image that is not square, and does not show how many tokens are not patches.
#pragma once

#include <cstddef>
#include <vector>

namespace attnflow {

enum class TokenRole {
  kText,          // a text token
  kClass,         // collects the input of a classification head
  kDistillation,  // the same for the distillation head, trained on a teacher
  kRegister,      // extra space for computation
  kPatch,         // a location in the image
};

// "text", "class", "distillation", "register", "patch".
const char* token_role_name(TokenRole role);

struct ImageInfo {
  std::size_t channels = 3;
  std::size_t height = 0;  // of the training images, in pixels
  std::size_t width = 0;
  std::size_t patch_height = 0;  // in pixels
  std::size_t patch_width = 0;
  std::vector<TokenRole> leading;  // roles of the tokens before the patches, in order

  // The grid of the training images; pixels that do not fill a whole patch are left out.
  std::size_t rows() const { return height / patch_height; }
  std::size_t columns() const { return width / patch_width; }

  friend bool operator==(const ImageInfo&, const ImageInfo&) = default;
};

// The tokens of one image.
struct ImageTokens {
  std::vector<TokenRole> roles;  // [tokens]: those of ImageInfo::leading, followed by kPatch rows * columns times
  std::size_t rows = 0;          // of patches
  std::size_t columns = 0;

  std::size_t leading() const { return roles.size() - rows * columns; }
};

// Returns the tokens of an image of `height` x `width` pixels. Throws Error(kUsage) unless both are positive multiples
// of the patch size: no token would see the remainder.
ImageTokens image_tokens(const ImageInfo& image, std::size_t height, std::size_t width);

}  // namespace attnflow
