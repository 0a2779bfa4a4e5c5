// Reads the output projections of a GGUF file as numbers.
//
// The file holds a layer's output projection as [hidden, heads * width], in blocks of any type; libllama may keep it in
// its own order. This class reads it from the file again on request, dequantizes it to [head, width, hidden]
// (graph/layer_terms.h), and keeps it if memory allows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "attnflow/files/gguf.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow {

// Location of a matrix: `bytes` bytes of `file` from `offset` on.
struct StoredMatrix {
  std::filesystem::path file;
  std::uint32_t type = 0;  // ggml's
  std::size_t rows = 0;
  std::size_t columns = 0;  // innermost
  std::size_t offset = 0;
  std::size_t bytes = 0;
};
using StoredMatrices = std::map<std::string, StoredMatrix, std::less<>>;

// Adds the matrices of a file; skips tensors of other ranks or unknown types.
void add_matrices(const std::filesystem::path& file, const internal::GgufHeader& header, StoredMatrices& matrices);

class OutputProjections {
 public:
  // Keeps a reference to `matrices`.
  explicit OutputProjections(const StoredMatrices& matrices) : matrices_(matrices) {}

  struct Wanted {
    std::string name;  // of the tensor
    std::size_t heads = 0;
    std::size_t width = 0;
    std::size_t hidden = 0;
    double scale = 1.0;  // factor for every number
  };
  // Describes why `wanted` cannot be read, or returns an empty string.
  std::string problem(const Wanted& wanted) const;
  // Returns [head, width, hidden], valid until the next call. Throws Error(kBadFile) for a file that is gone or shrunk.
  TensorView<const float> get(const Wanted& wanted);

 private:
  const StoredMatrices& matrices_;
  std::map<std::string, std::vector<float>> kept_;
  std::vector<float> last_;  // the latest, if there is no room to keep it
};

}  // namespace attnflow
