// Reads weights from a file written by torch.save (pytorch_model.bin), without PyTorch and without executing any of it.
//
// Such a file holds a pickle (pickle.h), in which each tensor is a call of torch._utils._rebuild_tensor_v2 with
// (storage, offset, size, stride, ...), and, outside the pickle, the storages' numbers in little-endian order:
//   since PyTorch 1.6   a zip file of stored entries NAME/data.pkl, NAME/data/KEY for each storage, and small ones;
//   before              five pickles (a magic number, a protocol version, facts about the system, the weights, and the
//                       list of the storages' keys), then each storage: its length u64 in elements, and its numbers.
// The weights are a dict of tensors by name, at the top level or under a key such as "state_dict".
//
// References:
//   torch/serialization.py of PyTorch: save, _legacy_save
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "attnflow/files/safetensors.h"

namespace attnflow {

// Movable; spans stay valid while the object (or one moved from it) lives.
class PytorchFile {
 public:
  using Entry = SafetensorsFile::Entry;

  // Maps the file. Only tensors whose numbers are not contiguous in row-major order, such as transposed ones, are
  // copied. Throws Error(kBadFile), also for a file that holds anything other than weights.
  explicit PytorchFile(const std::filesystem::path& path);
  // Reads `bytes`, the content of a whole file, in place; they must outlive this object. Messages call the file `name`.
  PytorchFile(std::span<const std::byte> bytes, const std::string& name);
  PytorchFile(PytorchFile&&) noexcept;
  PytorchFile& operator=(PytorchFile&&) noexcept;
  ~PytorchFile();

  // Returns all tensors, sorted by name.
  const std::map<std::string, Entry, std::less<>>& entries() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnflow
