#include <fmt/format.h>

#include <utility>

#include "attnflow/files/mapped_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/files/safetensors.h"
#include "attnflow/files/safetensors_parse.h"

namespace attnflow {
namespace {

using internal::MappedFile;
using internal::quote_names;

[[noreturn]] void refuse_type(const SafetensorsFile& file, std::string_view name, std::string_view dtype) {
  throw Error(
      ErrorKind::kBadFile,
      fmt::format("{}: tensor {} has dtype {}, which attnflow does not read; expected one of BOOL, U8, I8, I16, "
                  "I32, I64, F16, BF16, F32, F64: convert the tensor and save it again",
                  file.path().string(), internal::quote_name(name), internal::quote_name(dtype)));
}

}  // namespace

struct SafetensorsFile::Impl {
  explicit Impl(const std::filesystem::path& file)
      : path(file),
        mapping(file, ".safetensors"),
        content(internal::parse_safetensors(mapping.bytes(), file.string())) {}
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

const std::map<std::string, std::string, std::less<>>& SafetensorsFile::unread() const { return impl_->content.unread; }

void SafetensorsFile::require_all_read() const {
  if (!unread().empty()) refuse_type(*this, unread().begin()->first, unread().begin()->second);
}

Array SafetensorsFile::read(std::string_view name) const {
  if (const auto other = unread().find(name); other != unread().end()) refuse_type(*this, name, other->second);
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
