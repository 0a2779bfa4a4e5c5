// Reads .safetensors files without copying them.
//
// Layout: 8 bytes little-endian header length N; N bytes of JSON, {name: {dtype, shape, data_offsets: [begin, end]}}
// with an additional "__metadata__": {text: text}; then the data. Tensors must lie inside the file and must not
// overlap, and their byte count must match dtype and shape.
//
// References:
//   The format: https://github.com/huggingface/safetensors#format
//
// Example:
//
//     const Tensor<float> bias({2}, {0.5F, -0.5F});
//     write_safetensors("model.safetensors", {{"bias", Array::from(bias.view())}}, {{"format", "pt"}});
//     const SafetensorsFile file("model.safetensors");  // mapped, not read
//     for (const auto& [name, entry] : file.entries()) {
//       std::printf("%s %s\n", name.c_str(), shape_to_string(entry.shape).c_str());  // bias [2]
//     }
//     assert(file.read("bias").to_float("bias") == bias);
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"

namespace attnflow {

// Movable; spans stay valid while the object (or one moved from it) lives.
class SafetensorsFile {
 public:
  struct Entry {
    DType dtype;
    Shape shape;
    std::span<const std::byte> bytes;  // into the mapping, or the bytes given; not aligned
  };

  explicit SafetensorsFile(const std::filesystem::path& path);
  // Reads a whole file's content in place; it must outlive this object. Messages call it `name`. Throws
  // Error(kBadFile).
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& name);
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
  ~SafetensorsFile();

  const std::filesystem::path& path() const;
  // Returns all tensors whose type attnflow reads, sorted by name.
  const std::map<std::string, Entry, std::less<>>& entries() const;
  // Returns the other tensors, with their types as the file calls them (U16, F8_E4M3, F4, C64, ...).
  const std::map<std::string, std::string, std::less<>>& unread() const;
  // Whether the file has a tensor of this name, of any type.
  bool holds(std::string_view name) const { return entries().contains(name) || unread().contains(name); }
  // Throws Error(kBadFile) naming the first tensor of unread(), for callers that need all tensors.
  void require_all_read() const;
  const std::map<std::string, std::string, std::less<>>& metadata() const;
  // Throws Error(kBadFile) for one of unread(), and for a missing one, listing a few of the existing names.
  Array read(std::string_view name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnflow
