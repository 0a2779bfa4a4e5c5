#include "attnflow/files/mapped_file.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
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

void MappedFile::release(std::span<const std::byte> part) const {
  const auto* const begin = static_cast<const std::byte*>(address_);
  const std::less<const std::byte*> before;  // also for pointers into different arrays
  if (part.empty() || before(part.data(), begin) || before(begin + size_, part.data() + part.size())) return;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto first = (static_cast<std::size_t>(part.data() - begin) + page - 1) / page * page;
  const auto end = static_cast<std::size_t>(part.data() - begin) + part.size();
  const std::size_t last = end == size_ ? end : end / page * page;
  if (first < last)
    static_cast<void>(::madvise(static_cast<std::byte*>(address_) + first, last - first, MADV_DONTNEED));
}

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace attnflow::internal
