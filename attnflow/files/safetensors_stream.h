// Writing .safetensors files whose numbers are too many to be in memory at once.
#ifndef ATTNFLOW_FILES_SAFETENSORS_STREAM_H_
#define ATTNFLOW_FILES_SAFETENSORS_STREAM_H_

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"

namespace attnflow::internal {

struct TensorPlan {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
};

// A file whose tensors are announced first and written then, one after the other, in that order. Same plan, same bytes,
// same file. It appears when it is complete; until then there is only a temporary one.
class SafetensorsStream {
 public:
  // Throws Error(kOther): the file cannot be created, a name or a key of `metadata` that is given twice or reserved,
  // text (DType::kUnicode), a size that does not fit into 64 bits.
  SafetensorsStream(const std::filesystem::path& path, const std::vector<TensorPlan>& tensors,
                    const std::vector<std::pair<std::string, std::string>>& metadata);

  // Bytes of all tensors together.
  std::size_t size() const { return size_; }
  // The next bytes of the data, row-major and little-endian. Throws Error(kOther) when the disk is full.
  void write(std::span<const std::byte> bytes);
  // All of size() must have been written. Throws Error(kOther).
  void commit();

 private:
  AtomicFile file_;
  std::size_t size_ = 0;
  std::size_t written_ = 0;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_SAFETENSORS_STREAM_H_
