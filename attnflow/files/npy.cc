#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/input_file.h"
#include "attnflow/files/npy_format.h"

namespace attnflow {

Array read_npy(const std::filesystem::path& path, const ReadLimits& limits) {
  const internal::InputFile file(path, "a NumPy .npy file");
  const auto read = [&file](std::span<std::byte> into) { return file.read(into); };
  return internal::parse_npy({file.size(), read}, path.string(), limits);
}

void write_npy(const std::filesystem::path& path, const Array& array) {
  const internal::NpyBytes bytes = internal::serialize_npy(array);
  AtomicFile file(path);
  file.write(bytes.header);
  file.write(bytes.data);
  file.commit();
}

}  // namespace attnflow
