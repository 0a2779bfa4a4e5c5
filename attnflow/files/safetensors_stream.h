#pragma once

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

// A .safetensors file whose data is too large to hold in memory at once: tensors are declared up front, then written
// one after another in that order. The same plan and bytes give the same file, which appears only when it is complete.
class SafetensorsStream {
 public:
  // Throws Error(kOther) if the file cannot be created, if a tensor name or `metadata` key is duplicated or reserved,
  // for text (DType::kUnicode), and for a size that does not fit into 64 bits.
  SafetensorsStream(const std::filesystem::path& path, const std::vector<TensorPlan>& tensors,
                    const std::vector<std::pair<std::string, std::string>>& metadata);

  std::size_t size() const { return size_; }
  // Writes the next bytes of the data, row-major and little-endian. Throws Error(kOther) when the disk is full.
  void write(std::span<const std::byte> bytes);
  // Requires that all size() bytes have been written. Throws Error(kOther).
  void commit();

 private:
  AtomicFile file_;
  std::size_t size_ = 0;
  std::size_t written_ = 0;
};

}  // namespace attnflow::internal
