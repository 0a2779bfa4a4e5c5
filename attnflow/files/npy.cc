#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/npy_format.h"

namespace attnflow {
namespace {

class FileSource : public internal::ByteSource {
 public:
  explicit FileSource(const internal::InputFile& file) : file_(file) {}
  std::uint64_t size() const override { return file_.size(); }
  std::size_t read(std::span<std::byte> into) override { return file_.read(into); }

 private:
  const internal::InputFile& file_;
};

}  // namespace

Array read_npy(const std::filesystem::path& path, const ReadLimits& limits) {
  const internal::InputFile file(path, "a NumPy .npy file");
  FileSource source(file);
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
