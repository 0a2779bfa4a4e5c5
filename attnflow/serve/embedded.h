// Embedded files, defined by embed.cmake.
#pragma once

#include <cstddef>

namespace attnflow::internal {

extern const unsigned char openapi_bytes[];
extern const std::size_t openapi_bytes_size;

}  // namespace attnflow::internal
