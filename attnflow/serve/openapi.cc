#include <string_view>

#include "attnflow/serve/api.h"
#include "attnflow/serve/embedded.h"

namespace attnflow {

std::string_view openapi_json() {
  return {reinterpret_cast<const char*>(internal::openapi_bytes), internal::openapi_bytes_size};
}

}  // namespace attnflow
