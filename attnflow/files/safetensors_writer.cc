#include <fmt/format.h>

#include <algorithm>

#include "attnflow/base/error.h"
#include "attnflow/files/array_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/files/safetensors_stream.h"

namespace attnflow {

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedArray>& arrays,
                       const std::vector<std::pair<std::string, std::string>>& metadata) {
  std::vector<const NamedArray*> order;
  for (const NamedArray& named : arrays) {
    const Array& array = named.array;
    if (array.dtype != DType::kUnicode && array.bytes.size() != element_count(array.shape) * dtype_size(array.dtype)) {
      throw Error(
          ErrorKind::kOther,
          fmt::format("{}: cannot write this .safetensors file: tensor {} of shape {} and dtype {} has {} bytes",
                      path.string(), internal::quote_name(named.name), shape_to_string(array.shape),
                      dtype_name(array.dtype), array.bytes.size()));
    }
    order.push_back(&named);
  }
  // Larger elements first: since the header is a multiple of 8 bytes, every tensor is then aligned to its element. Text
  // has no such size, and is rejected below.
  const auto element = [](const NamedArray* named) {
    return named->array.dtype == DType::kUnicode ? std::size_t{0} : dtype_size(named->array.dtype);
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](const NamedArray* a, const NamedArray* b) { return element(a) > element(b); });
  std::vector<internal::TensorPlan> plan;
  for (const NamedArray* named : order) plan.push_back({named->name, named->array.dtype, named->array.shape});
  internal::SafetensorsStream file(path, plan, metadata);
  for (const NamedArray* named : order) file.write(named->array.bytes);
  file.commit();
}

}  // namespace attnflow
