// Files embedded in the program; embed.cmake writes the definitions.
#pragma once

#include <cstddef>

namespace attnflow::internal {

extern const unsigned char openapi_bytes[];
extern const std::size_t openapi_bytes_size;

}  // namespace attnflow::internal
