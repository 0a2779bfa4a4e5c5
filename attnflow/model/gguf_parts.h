// The files of a GGUF model: one, or several that llama-gguf-split made of it.
//
// Those of a model in N files are named PREFIX-00001-of-0000N.gguf and so on. Each has a header with its own tensors;
// the first has the metadata of all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnflow/files/gguf.h"

namespace attnflow::internal {

// Where a tensor's numbers begin, up to the end of its file.
using GgufBytes = std::function<std::span<const std::byte>(const GgufTensor&)>;

class GgufParts {
 public:
  // `header` is that of `first`. The files are mapped, or copied into memory. Throws Error(kBadFile): `first` has
  // another name than the first of several files, another file is missing or damaged.
  GgufParts(const std::filesystem::path& first, GgufHeader header, bool copy = false);
  ~GgufParts();

  // The first file's, with the tensors of all.
  const GgufHeader& header() const { return header_; }
  // `tensor` must be one of header().tensors.
  std::span<const std::byte> bytes(const GgufTensor& tensor) const;
  // Gives back the memory of mapped bytes that will not be read soon.
  void release(std::span<const std::byte> part) const;
  // bytes() as a function, which must not outlive this.
  GgufBytes reader() const {
    return [this](const GgufTensor& tensor) { return bytes(tensor); };
  }

 private:
  class FileBytes;

  void add(const std::filesystem::path& path, const GgufHeader& header, bool copy);

  GgufHeader header_;
  std::vector<std::unique_ptr<const FileBytes>> files_;
  std::vector<std::span<const std::byte>> bytes_;  // of each tensor, to the end of its file
};

}  // namespace attnflow::internal
