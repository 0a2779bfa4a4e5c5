#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

namespace attnflow::internal {

// A file's bytes, memory-mapped instead of copied, read-only and private. If another process shortens the file while it
// is mapped, this process dies of SIGBUS, like any program that maps its weights.
class MappedFile {
 public:
  MappedFile() = default;  // no file: no bytes
  // Messages name `kind`: ".safetensors". Throws Error(kBadFile) as InputFile does, or if the file cannot be mapped.
  MappedFile(const std::filesystem::path& path, std::string_view kind);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

  // Frees the memory of the whole pages within a part that will not be read soon; reading them later loads them from
  // the file again. Does nothing if the part is not within this mapping.
  void release(std::span<const std::byte> part) const;

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace attnflow::internal
