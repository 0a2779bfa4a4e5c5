#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/files/npy_format.h"

namespace attnflow {
namespace {

class RegularFileSource : public internal::ByteSource {
 public:
  RegularFileSource(const internal::InputFile& file, std::string name) : file_(file), name_(std::move(name)) {}
  std::uint64_t size() const override { return file_.size(); }
  std::size_t read(std::span<std::byte> into) override {
    std::size_t got = 0;
    while (got < into.size()) {
      const ssize_t some = ::read(file_.descriptor(), into.data() + got, into.size() - got);
      if (some == 0) break;
      if (some < 0 && errno == EINTR) continue;
      if (some < 0)
        throw Error(ErrorKind::kBadFile, fmt::format("{}: cannot be read: {}", name_, internal::system_reason(errno)));
      got += static_cast<std::size_t>(some);
    }
    return got;
  }

 private:
  const internal::InputFile& file_;
  std::string name_;
};

}  // namespace

Array read_npy(const std::filesystem::path& path, const ReadLimits& limits) {
  const internal::InputFile file(path, "a NumPy .npy file");
  RegularFileSource source(file, path.string());
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
