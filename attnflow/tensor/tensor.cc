#include "attnflow/tensor/tensor.h"

namespace attnflow {

std::string shape_to_string(std::span<const std::size_t> shape) {
  std::string text = "[";
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != 0) text += ", ";
    text += std::to_string(shape[d]);
  }
  return text + "]";
}

}  // namespace attnflow
