#include "attnflow/files/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/messages.h"

namespace attnflow::internal {

MappedFile::MappedFile(const std::filesystem::path& path, std::string_view kind) {
  const InputFile file(path, fmt::format("a {} file", kind));
  if (file.size() == 0) return;
  void* const address = ::mmap(nullptr, file.size(), PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
  if (address == MAP_FAILED) {
    fail_file(path.string(),
              fmt::format("expected a {} file, which cannot be mapped into memory: {}", kind, system_reason(errno)));
  }
  address_ = address;
  size_ = file.size();
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace attnflow::internal
