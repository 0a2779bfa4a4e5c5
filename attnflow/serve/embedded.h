// Files embedded in the program; embed.cmake writes the definitions.
#ifndef ATTNFLOW_SERVE_EMBEDDED_H_
#define ATTNFLOW_SERVE_EMBEDDED_H_

#include <cstddef>

namespace attnflow::internal {

extern const unsigned char openapi_bytes[];
extern const std::size_t openapi_bytes_size;

}  // namespace attnflow::internal

#endif  // ATTNFLOW_SERVE_EMBEDDED_H_
