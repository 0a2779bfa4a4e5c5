// The output projections of a GGUF file as numbers.
//
// A layer's attention is multiplied with a matrix that the file holds as [hidden, heads * width], in blocks of whatever
// type; libllama may keep it in an order of its own. Here it is read from the file again and dequantised, as [head,
// width, hidden] (graph/layer_terms.h), when somebody asks for it, and kept where memory allows.
#ifndef ATTNFLOW_MODEL_LLAMA_OUTPUT_PROJECTIONS_H_
#define ATTNFLOW_MODEL_LLAMA_OUTPUT_PROJECTIONS_H_

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

// Where a matrix lies: `bytes` of `file` from `offset` on.
struct StoredMatrix {
  std::filesystem::path file;
  std::uint32_t type = 0;  // of ggml
  std::size_t rows = 0;
  std::size_t columns = 0;  // innermost
  std::size_t offset = 0;
  std::size_t bytes = 0;
};
using StoredMatrices = std::map<std::string, StoredMatrix, std::less<>>;

// Adds those of a file; tensors of other ranks or of unknown types are none.
void add_matrices(const std::filesystem::path& file, const internal::GgufHeader& header, StoredMatrices& matrices);

class OutputProjections {
 public:
  // Keeps a reference.
  explicit OutputProjections(const StoredMatrices& matrices) : matrices_(matrices) {}

  struct Wanted {
    std::string name;  // of the tensor
    std::size_t heads = 0;
    std::size_t width = 0;
    std::size_t hidden = 0;
    double scale = 1.0;  // every number is multiplied with it
  };
  // What is wrong with it, or nothing.
  std::string problem(const Wanted& wanted) const;
  // [head, width, hidden], valid until the next call. Throws Error(kBadFile) for a file that has gone or shrunk.
  TensorView<const float> get(const Wanted& wanted);

 private:
  const StoredMatrices& matrices_;
  std::map<std::string, std::vector<float>> kept_;
  std::vector<float> last_;  // one that there is no room to keep
};

}  // namespace attnflow

#endif  // ATTNFLOW_MODEL_LLAMA_OUTPUT_PROJECTIONS_H_
