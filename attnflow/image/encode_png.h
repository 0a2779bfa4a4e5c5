#pragma once

#include <string>

#include "attnflow/image/picture.h"

namespace attnflow {

// Returns the bytes of a PNG file: 8-bit RGB, not interlaced, containing nothing but the picture (no time, no text).
// The same picture gives the same bytes with the same version of zlib. Throws Error(kOther) for a side of more than
// 10^6 pixels, which readers reject, and when memory runs out.
std::string encode_png(const Picture& picture);

}  // namespace attnflow
