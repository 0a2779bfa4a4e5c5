#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "attnflow/files/messages.h"
#include "attnflow/files/safetensors.h"
#include "attnflow/files/safetensors_parse.h"

namespace attnflow {
namespace {

using internal::quote_names;
using internal::system_reason;

// A file's bytes, mapped read-only and private. Another process that shortens the file while it is mapped ends this one
// with SIGBUS, as with every program that maps its weights.
class MappedFile {
 public:
  MappedFile() = default;  // no file
  explicit MappedFile(const std::filesystem::path& path) {
    const auto fail = [&](const std::string& found) {
      throw Error(ErrorKind::kBadFile, fmt::format("{}: expected a .safetensors file, {}", path.string(), found));
    };
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) fail("which cannot be opened: " + system_reason(errno));
    struct stat status = {};
    const bool known = ::fstat(descriptor, &status) == 0;
    const bool regular = known && S_ISREG(status.st_mode);
    if (regular && status.st_size > 0) {
      size_ = static_cast<std::size_t>(status.st_size);
      void* const address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
      address_ = address == MAP_FAILED ? nullptr : address;
    }
    const int reason = errno;
    ::close(descriptor);
    if (known && S_ISDIR(status.st_mode)) fail("found a folder");
    if (!regular) fail("found something that is not a regular file; copy it to one first");
    if (size_ != 0 && address_ == nullptr) fail("which cannot be mapped into memory: " + system_reason(reason));
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile() {
    if (address_ != nullptr) ::munmap(address_, size_);
  }

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(address_), size_}; }

 private:
  void* address_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace

struct SafetensorsFile::Impl {
  explicit Impl(const std::filesystem::path& file)
      : path(file), mapping(file), content(internal::parse_safetensors(mapping.bytes(), file.string())) {}
  Impl(std::span<const std::byte> bytes, const std::string& name)
      : path(name), content(internal::parse_safetensors(bytes, name)) {}

  std::filesystem::path path;
  MappedFile mapping;
  internal::SafetensorsContent content;
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, const std::string& name)
    : impl_(std::make_unique<Impl>(bytes, name)) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

const std::filesystem::path& SafetensorsFile::path() const { return impl_->path; }

const std::map<std::string, SafetensorsFile::Entry, std::less<>>& SafetensorsFile::entries() const {
  return impl_->content.entries;
}

const std::map<std::string, std::string, std::less<>>& SafetensorsFile::metadata() const {
  return impl_->content.metadata;
}

Array SafetensorsFile::read(std::string_view name) const {
  const auto found = entries().find(name);
  if (found == entries().end()) {
    std::vector<std::string_view> names;
    names.reserve(entries().size());
    for (const auto& entry : entries()) names.push_back(entry.first);
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected a tensor named {}; the file holds {}", path().string(),
                                                 internal::quote_name(name), quote_names(names)));
  }
  const Entry& entry = found->second;
  Array array;
  array.dtype = entry.dtype;
  array.shape = entry.shape;
  array.bytes.assign(entry.bytes.begin(), entry.bytes.end());
  return array;
}

}  // namespace attnflow
