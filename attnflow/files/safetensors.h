// Reading .safetensors files without copying them.
//
// Layout: 8 bytes little-endian header length N; N bytes of JSON, {name: {dtype, shape, data_offsets: [begin, end]}}
// with "__metadata__": {text: text} beside the names; then the data. Tensors must lie inside the file, must not
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
#ifndef ATTNFLOW_FILES_SAFETENSORS_H_
#define ATTNFLOW_FILES_SAFETENSORS_H_

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attnflow/files/array_file.h"

namespace attnflow {

// A memory-mapped file, or one whose bytes are in memory already. Movable; spans stay valid while the object (or one
// moved from it) lives.
class SafetensorsFile {
 public:
  struct Entry {
    DType dtype;
    Shape shape;
    std::span<const std::byte> bytes;  // into the mapping, or the bytes given; not aligned
  };

  // Maps the file. Throws Error(kBadFile).
  explicit SafetensorsFile(const std::filesystem::path& path);
  // Reads `bytes`, a whole file, where they lie; they must outlive this object. `name` is what messages call the file.
  // Throws Error(kBadFile).
  SafetensorsFile(std::span<const std::byte> bytes, const std::string& name);
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
  ~SafetensorsFile();

  // The file's path, or the name that was given.
  const std::filesystem::path& path() const;
  // All tensors of a type that attnflow reads, by name, sorted.
  const std::map<std::string, Entry, std::less<>>& entries() const;
  // The others: their names, and how the file calls their types (U16, F8_E4M3, F4, C64, ...). Files may hold such
  // tensors beside those that are wanted.
  const std::map<std::string, std::string, std::less<>>& unread() const;
  // Whether there is such a tensor, of any type.
  bool holds(std::string_view name) const { return entries().contains(name) || unread().contains(name); }
  // Throws Error(kBadFile) that names the first tensor of unread(), for who needs all tensors.
  void require_all_read() const;
  // The file's "__metadata__".
  const std::map<std::string, std::string, std::less<>>& metadata() const;
  // A copy of one tensor. Throws Error(kBadFile) for one of unread(), and one that lists a few of the names that are
  // there.
  Array read(std::string_view name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace attnflow

#endif  // ATTNFLOW_FILES_SAFETENSORS_H_
