// What a vision model makes of a picture: a grid of patches, and tokens of its own before them.
//
// Definition. A vision transformer (Dosovitskiy et al., ICLR 2021) cuts a picture of h x w pixels into patches of
// p_h x p_w pixels that do not overlap, h / p_h rows of w / p_w patches, and makes a token of each, row by row. Before
// them stand tokens that belong to no place: the class token, the distillation token (DeiT: Touvron et al., ICML 2021),
// registers (Darcet et al., ICLR 2024). So, with `leading` tokens before the patches, patch (r, c) is token
//   leading + r * columns + c.
//
// Rows and columns follow from the picture and the patch, never from the number of tokens: its square root says nothing
// about a picture that is not square, nor how many tokens are no patches.
#ifndef ATTNFLOW_MODEL_IMAGE_INFO_H_
#define ATTNFLOW_MODEL_IMAGE_INFO_H_

#include <cstddef>
#include <vector>

namespace attnflow {

enum class TokenRole {
  kText,          // a token of a text
  kClass,         // collects what a classification head reads
  kDistillation,  // the same for what a teacher says
  kRegister,      // room to compute in
  kPatch,         // a place of the picture
};

// "text", "class", "distillation", "register", "patch".
const char* token_role_name(TokenRole role);

struct ImageInfo {
  std::size_t channels = 3;
  std::size_t height = 0;  // of the pictures that the model was trained on, in pixels
  std::size_t width = 0;
  std::size_t patch_height = 0;  // in pixels
  std::size_t patch_width = 0;
  std::vector<TokenRole> leading;  // roles of the tokens before the patches, in their order

  // The grid of the training pictures; pixels that make no whole patch are left out.
  std::size_t rows() const { return height / patch_height; }
  std::size_t columns() const { return width / patch_width; }

  friend bool operator==(const ImageInfo&, const ImageInfo&) = default;
};

// The tokens of one picture.
struct ImageTokens {
  std::vector<TokenRole> roles;  // [tokens]: those of ImageInfo::leading, then rows * columns times kPatch
  std::size_t rows = 0;          // of patches
  std::size_t columns = 0;

  std::size_t leading() const { return roles.size() - rows * columns; }
};

// The tokens of a picture of `height` x `width` pixels. Throws Error(kUsage) unless both are positive multiples of the
// patch: a rest would be a strip of the picture that no token sees.
ImageTokens image_tokens(const ImageInfo& image, std::size_t height, std::size_t width);

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_IMAGE_INFO_H_
