#include "attnflow/files/safetensors_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/fail.h"
#include "attnflow/files/array_file.h"
#include "attnflow/files/dtype_table.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace internal {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers are written as they are in memory");

[[noreturn]] void fail_stream(const std::filesystem::path& path, const std::string& what) {
  fail_with(ErrorKind::kOther, "{}: cannot write this .safetensors file: {}", path.string(), what);
}

struct StreamHeader {
  std::string text;
  std::size_t data_bytes = 0;
};

StreamHeader make_header(const std::filesystem::path& path, const std::vector<TensorPlan>& tensors,
                         const std::vector<std::pair<std::string, std::string>>& metadata) {
  StreamHeader header;
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const auto& [key, value] : metadata) {
    if (!json["__metadata__"].emplace(key, value).second)
      fail_stream(path, "metadata " + quote_name(key) + " is given twice");
  }
  std::set<std::string_view> names = {"__metadata__"};
  for (const TensorPlan& tensor : tensors) {
    if (!names.insert(tensor.name).second)
      fail_stream(path,
                  "expected tensors with names of their own, found " + quote_name(tensor.name) + " twice or reserved");
    if (tensor.dtype == DType::kUnicode)
      fail_stream(path, "tensor " + quote_name(tensor.name) + " is text, which this format holds only as metadata");
    Shape extents = tensor.shape;
    extents.push_back(dtype_size(tensor.dtype));
    const std::optional<std::size_t> bytes = checked_product(extents);
    const std::size_t begin = header.data_bytes;
    if (!bytes || *bytes > std::numeric_limits<std::size_t>::max() - begin)
      fail_stream(path, fmt::format("tensor {} of shape {} is larger than the address space", quote_name(tensor.name),
                                    shape_to_string(tensor.shape)));
    header.data_bytes += *bytes;
    json.push_back({tensor.name,
                    {{"dtype", dtype_row(tensor.dtype).safetensors},
                     {"shape", tensor.shape},
                     {"data_offsets", {begin, header.data_bytes}}}});
  }
  // Bytes that are not UTF-8 become U+FFFD.
  header.text = json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  header.text.append((8 - header.text.size() % 8) % 8, ' ');
  return header;
}

}  // namespace

SafetensorsStream::SafetensorsStream(const std::filesystem::path& path, const std::vector<TensorPlan>& tensors,
                                     const std::vector<std::pair<std::string, std::string>>& metadata)
    : file_(path) {
  const StreamHeader header = make_header(path, tensors, metadata);
  size_ = header.data_bytes;
  const auto length = std::uint64_t{header.text.size()};
  file_.write(std::as_bytes(std::span(&length, 1)));
  file_.write(header.text);
}

void SafetensorsStream::write(std::span<const std::byte> bytes) {
  assert(bytes.size() <= size_ - written_ && "more bytes than were announced");
  file_.write(bytes);
  written_ += bytes.size();
}

void SafetensorsStream::commit() {
  assert(written_ == size_ && "fewer bytes than were announced");
  file_.commit();
}

}  // namespace internal

void write_safetensors(const std::filesystem::path& path, const std::vector<NamedArray>& arrays,
                       const std::vector<std::pair<std::string, std::string>>& metadata) {
  std::vector<const NamedArray*> order;
  for (const NamedArray& named : arrays) {
    const Array& array = named.array;
    if (array.dtype != DType::kUnicode && array.bytes.size() != element_count(array.shape) * dtype_size(array.dtype)) {
      fail_with(ErrorKind::kOther,
                "{}: cannot write this .safetensors file: tensor {} of shape {} and dtype {} has {} bytes",
                path.string(), internal::quote_name(named.name), shape_to_string(array.shape), dtype_name(array.dtype),
                array.bytes.size());
    }
    order.push_back(&named);
  }
  // Larger elements first: the header is a multiple of 8 bytes, so each tensor is aligned to its element. Text is
  // rejected below.
  const auto element = [](const NamedArray* named) { return internal::dtype_row(named->array.dtype).size; };
  std::stable_sort(order.begin(), order.end(),
                   [&](const NamedArray* a, const NamedArray* b) { return element(a) > element(b); });
  std::vector<internal::TensorPlan> plan;
  for (const NamedArray* named : order) plan.push_back({named->name, named->array.dtype, named->array.shape});
  internal::SafetensorsStream file(path, plan, metadata);
  for (const NamedArray* named : order) file.write(named->array.bytes);
  file.commit();
}

}  // namespace attnflow
