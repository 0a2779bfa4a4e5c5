#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "attnflow/files/array_file.h"
#include "attnflow/files/atomic_file.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace {

// JSON text; bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string upper_name(DType dtype) {
  std::string name(dtype_name(dtype));
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  return name;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedArray>& arrays,
                       const std::vector<std::pair<std::string, std::string>>& metadata) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::kOther, fmt::format("{}: cannot write this .safetensors file: {}", path.string(), what));
  };
  std::set<std::string_view> names = {"__metadata__"};
  std::vector<const NamedArray*> order;
  for (const NamedArray& named : arrays) {
    const Array& array = named.array;
    if (!names.insert(named.name).second)
      fail("expected tensors with names of their own, found " + internal::quote_name(named.name) +
           " twice or reserved");
    if (array.dtype == DType::kUnicode)
      fail("tensor " + internal::quote_name(named.name) + " is text, which this format holds only as metadata");
    if (array.bytes.size() != element_count(array.shape) * dtype_size(array.dtype)) {
      fail(fmt::format("tensor {} of shape {} and dtype {} has {} bytes", internal::quote_name(named.name),
                       shape_to_string(array.shape), dtype_name(array.dtype), array.bytes.size()));
    }
    order.push_back(&named);
  }
  // Larger elements first: with a header of a multiple of 8 bytes every tensor is then aligned to its element.
  std::stable_sort(order.begin(), order.end(), [](const NamedArray* a, const NamedArray* b) {
    return dtype_size(a->array.dtype) > dtype_size(b->array.dtype);
  });

  // Written by hand and not through a JSON object, whose keys would be sorted.
  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    std::set<std::string_view> keys;
    for (const auto& [key, value] : metadata) {
      if (!keys.insert(key).second) fail("metadata " + internal::quote_name(key) + " is given twice");
      if (keys.size() > 1) header += ",";
      header += json_text(key) + ":" + json_text(value);
    }
    header += "}";
  }
  std::size_t offset = 0;
  for (const NamedArray* named : order) {
    const Array& array = named->array;
    if (header.size() > 1) header += ",";
    std::string shape;
    for (const std::size_t extent : array.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ",", extent);
    const std::size_t end = offset + array.bytes.size();
    header += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_text(named->name),
                          upper_name(array.dtype), shape, offset, end);
    offset = end;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');

  std::string length;
  for (std::size_t i = 0; i < 8; ++i)
    length.push_back(static_cast<char>(static_cast<unsigned char>((header.size() >> (8 * i)) & 0xFF)));
  AtomicFile file(path);
  file.write(length);
  file.write(header);
  for (const NamedArray* named : order) file.write(named->array.bytes);
  file.commit();
}

}  // namespace attnflow
