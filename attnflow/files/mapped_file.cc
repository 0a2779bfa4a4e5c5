#include "attnflow/files/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "attnflow/base/error.h"
#include "attnflow/files/messages.h"

namespace attnflow::internal {

MappedFile::MappedFile(const std::filesystem::path& path, std::string_view kind) {
  const auto fail = [&](const std::string& found) {
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected a {} file, {}", path.string(), kind, found));
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

MappedFile::~MappedFile() {
  if (address_ != nullptr) ::munmap(address_, size_);
}

}  // namespace attnflow::internal
