// The weights of a Hugging Face folder, in one file or in shards with an index; or tensors from elsewhere.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attnflow/files/folder.h"
#include "attnflow/files/pytorch_file.h"
#include "attnflow/files/safetensors.h"

namespace attnflow {

namespace internal {
class LoraAdapter;
}  // namespace internal

bool is_floating_point(DType dtype);

// Reads a tensor that is not stored as floating-point numbers of one type in row-major order, such as quantized blocks.
class TensorReader {
 public:
  virtual ~TensorReader() = default;
  // Fills `values` with whole rows (for a vector: numbers), of which `row` is the first, in float32. Several threads
  // may read at once. Throws Error(kBadFile) for numbers that are not finite.
  virtual void read(std::size_t row, std::span<float> values) const = 0;
  // Whether reading some rows takes only their share of the work.
  virtual bool reads_rows() const { return true; }
  // The stored form will not be read soon: what keeps it in memory may give that back.
  virtual void release() const {}
};

// A stored tensor. `bytes` points into a mapped or built-in file (little-endian, row-major, unaligned) and remains
// valid for the lifetime of the Checkpoint.
struct StoredTensor {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  std::span<const std::byte> bytes;
  std::string file;                                      // where it is stored, for messages
  std::shared_ptr<const TensorReader> reader = nullptr;  // if set, it gives the numbers, not `bytes`
};

class Checkpoint {
 public:
  // Opens the first of these that `folder` has: model.safetensors; every shard named in model.safetensors.index.json;
  // pytorch_model.bin; every shard named in pytorch_model.bin.index.json. Adds an adapter in the folder or attached to
  // it (lora.h), whose changed maps are held in memory as float32. Throws Error(kBadFile): no weights, a damaged file,
  // a missing shard, a tensor that is not in the shard that the index names, a shard outside the folder, a tensor of a
  // type that attnflow does not read. Throws Error(kUnsupportedModel) for an adapter that cannot be added.
  explicit Checkpoint(const Folder& folder);
  // Holds tensors from elsewhere, which messages call `source`. The caller keeps their bytes alive.
  Checkpoint(std::map<std::string, StoredTensor, std::less<>> tensors, std::string source)
      : source_(std::move(source)), tensors_(std::move(tensors)) {}

  const StoredTensor* find(std::string_view name) const;  // null when there is none
  const std::map<std::string, StoredTensor, std::less<>>& tensors() const { return tensors_; }
  // Number of stored floating-point numbers, counting shared tensors once.
  std::size_t parameters() const;
  const std::string& source() const { return source_; }  // the file or the index, for messages

 private:
  void add_file(const Folder& folder, const std::string& name);
  void add(const std::map<std::string, SafetensorsFile::Entry, std::less<>>& entries, const std::string& file);
  void open_files(const Folder& folder);
  void open_shards(const Folder& folder, const std::string& index);

  std::string source_;
  std::vector<SafetensorsFile> files_;
  std::vector<PytorchFile> pytorch_files_;
  std::shared_ptr<internal::LoraAdapter> adapter_;
  std::map<std::string, StoredTensor, std::less<>> tensors_;
};

}  // namespace attnflow
