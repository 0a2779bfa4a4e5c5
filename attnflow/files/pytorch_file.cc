#include "attnflow/files/pytorch_file.h"

#include "attnflow/files/mapped_file.h"
#include "attnflow/files/pytorch_parse.h"

namespace attnflow {

struct PytorchFile::Impl {
  explicit Impl(const std::filesystem::path& path)
      : mapping(path, "PyTorch weights"), content(internal::parse_pytorch(mapping.bytes(), path.string())) {}
  Impl(std::span<const std::byte> bytes, const std::string& name) : content(internal::parse_pytorch(bytes, name)) {}

  internal::MappedFile mapping;
  internal::PytorchContent content;
};

PytorchFile::PytorchFile(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
PytorchFile::PytorchFile(std::span<const std::byte> bytes, const std::string& name)
    : impl_(std::make_unique<Impl>(bytes, name)) {}
PytorchFile::PytorchFile(PytorchFile&&) noexcept = default;
PytorchFile& PytorchFile::operator=(PytorchFile&&) noexcept = default;
PytorchFile::~PytorchFile() = default;

const std::map<std::string, PytorchFile::Entry, std::less<>>& PytorchFile::entries() const {
  return impl_->content.entries;
}

}  // namespace attnflow
