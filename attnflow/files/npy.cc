#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/files/npy_format.h"

namespace attnflow {
namespace {

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class RegularFileSource : public internal::ByteSource {
 public:
  RegularFileSource(std::FILE* file, std::uint64_t size, std::string name)
      : file_(file), size_(size), name_(std::move(name)) {}
  std::uint64_t size() const override { return size_; }
  std::size_t read(std::span<std::byte> into) override {
    const std::size_t got = std::fread(into.data(), 1, into.size(), file_);
    if (got < into.size() && std::ferror(file_) != 0)
      throw Error(ErrorKind::kBadFile, fmt::format("{}: cannot be read: {}", name_, internal::system_reason(errno)));
    return got;
  }

 private:
  std::FILE* file_;
  std::uint64_t size_;
  std::string name_;
};

}  // namespace

Array read_npy(const std::filesystem::path& path, const ReadLimits& limits) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rbe"));
  if (!file) {
    throw Error(ErrorKind::kBadFile, fmt::format("{}: expected a NumPy .npy file, which cannot be opened: {}",
                                                 path.string(), internal::system_reason(errno)));
  }
  struct stat status = {};
  if (::fstat(::fileno(file.get()), &status) == 0 && S_ISREG(status.st_mode)) {
    RegularFileSource source(file.get(), static_cast<std::uint64_t>(status.st_size), path.string());
    return internal::parse_npy(source, path.string(), limits);
  }
  // A pipe has no length to check the header against, so its bytes are gathered first. A folder fails here.
  const std::string content = read_file(path, limits.max_bytes);
  internal::MemorySource source(std::as_bytes(std::span(content)));
  return internal::parse_npy(source, path.string(), limits);
}

void write_npy(const std::filesystem::path& path, const Array& array) {
  const internal::NpyBytes bytes = internal::serialize_npy(array);
  AtomicFile file(path);
  file.write(bytes.header);
  file.write(bytes.data);
  file.commit();
}

}  // namespace attnflow
