// Pictures as PNG files.
#ifndef ATTNFLOW_IMAGE_ENCODE_PNG_H_
#define ATTNFLOW_IMAGE_ENCODE_PNG_H_

#include <string>

#include "attnflow/image/picture.h"

namespace attnflow {

// The bytes of a PNG file: 8-bit RGB, not interlaced, nothing but the picture in it (no time, no text). Same picture,
// same bytes, with one version of zlib. Throws Error(kOther): a side of more than 10^6 pixels, which readers refuse, or
// out of memory.
std::string encode_png(const Picture& picture);

}  // namespace attnflow

#endif  // ATTNFLOW_IMAGE_ENCODE_PNG_H_
