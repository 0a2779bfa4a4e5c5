#include "attnflow/model/gguf_parts.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "attnflow/files/mapped_file.h"
#include "attnflow/model/fail.h"

namespace attnflow::internal {

// A file, mapped or copied.
class GgufParts::FileBytes {
 public:
  FileBytes(const std::filesystem::path& path, bool copy)
      : mapping_(std::make_unique<const MappedFile>(path, "GGUF")), bytes_(mapping_->bytes()) {
    if (!copy) return;
    copy_.assign(bytes_.begin(), bytes_.end());
    bytes_ = copy_;
    mapping_.reset();
  }
  std::span<const std::byte> bytes() const { return bytes_; }
  void release(std::span<const std::byte> part) const {
    if (mapping_) mapping_->release(part);
  }

 private:
  std::unique_ptr<const MappedFile> mapping_;
  std::vector<std::byte> copy_;
  std::span<const std::byte> bytes_;
};

GgufParts::GgufParts(const std::filesystem::path& first, GgufHeader header, bool copy) : header_(std::move(header)) {
  add(first, header_, copy);
  const std::int64_t count = header_.number("split.count").value_or(1);
  if (count <= 1) return;
  const std::string name = first.string();
  const auto ending = [&](std::int64_t number) { return fmt::format("-{:05}-of-{:05}.gguf", number, count); };
  if (!name.ends_with(ending(1))) {
    fail(ErrorKind::kBadFile,
         "{}: expected the first of {} files, whose name ends in {}; give that one, or join the files "
         "(llama-gguf-split --merge)",
         name, count, ending(1));
  }
  const std::string prefix = name.substr(0, name.size() - ending(1).size());
  for (std::int64_t number = 2; number <= count; ++number) {
    const std::filesystem::path path = prefix + ending(number);
    const GgufHeader part = read_gguf(path);
    header_.tensors.insert(header_.tensors.end(), part.tensors.begin(), part.tensors.end());
    add(path, part, copy);
  }
}

GgufParts::~GgufParts() = default;

void GgufParts::add(const std::filesystem::path& path, const GgufHeader& header, bool copy) {
  files_.push_back(std::make_unique<const FileBytes>(path, copy));
  const std::span<const std::byte> file = files_.back()->bytes();
  for (const GgufTensor& tensor : header.tensors) {
    const std::size_t begin = header.data_begin + tensor.offset;
    if (begin > file.size() || tensor.bytes.value_or(0) > file.size() - begin)
      fail(ErrorKind::kBadFile, "{}: expected a file that nobody changes, found it shorter than before", path.string());
    bytes_.push_back(file.subspan(begin));
  }
}

std::span<const std::byte> GgufParts::bytes(const GgufTensor& tensor) const {
  return bytes_[static_cast<std::size_t>(&tensor - header_.tensors.data())];
}

void GgufParts::release(std::span<const std::byte> part) const {
  for (const auto& file : files_) file->release(part);
}

}  // namespace attnflow::internal
