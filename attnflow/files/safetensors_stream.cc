#include "attnflow/files/safetensors_stream.h"

#include <fmt/format.h>

#include <cassert>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"
#include "attnflow/files/dtype_table.h"
#include "attnflow/files/messages.h"

namespace attnflow::internal {
namespace {

// Returns a JSON string; bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

[[noreturn]] void fail_stream(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorKind::kOther, fmt::format("{}: cannot write this .safetensors file: {}", path.string(), what));
}

struct StreamHeader {
  std::string text;
  std::size_t data_bytes = 0;
};

StreamHeader make_header(const std::filesystem::path& path, const std::vector<TensorPlan>& tensors,
                         const std::vector<std::pair<std::string, std::string>>& metadata) {
  // Written directly rather than through a JSON object, which would sort the keys.
  StreamHeader header;
  std::string& text = header.text;
  text = "{";
  if (!metadata.empty()) {
    text += "\"__metadata__\":{";
    std::set<std::string_view> keys;
    for (const auto& [key, value] : metadata) {
      if (!keys.insert(key).second) fail_stream(path, "metadata " + quote_name(key) + " is given twice");
      if (keys.size() > 1) text += ",";
      text += json_text(key) + ":" + json_text(value);
    }
    text += "}";
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
    std::string shape;
    for (const std::size_t extent : tensor.shape) shape += fmt::format("{}{}", shape.empty() ? "" : ",", extent);
    if (text.size() > 1) text += ",";
    text += fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", json_text(tensor.name),
                        dtype_row(tensor.dtype).safetensors, shape, begin, header.data_bytes);
  }
  text += "}";
  text.append((8 - text.size() % 8) % 8, ' ');
  return header;
}

}  // namespace

SafetensorsStream::SafetensorsStream(const std::filesystem::path& path, const std::vector<TensorPlan>& tensors,
                                     const std::vector<std::pair<std::string, std::string>>& metadata)
    : file_(path) {
  const StreamHeader header = make_header(path, tensors, metadata);
  size_ = header.data_bytes;
  std::string length;
  for (std::size_t i = 0; i < 8; ++i)
    length.push_back(static_cast<char>(static_cast<unsigned char>((header.text.size() >> (8 * i)) & 0xFF)));
  file_.write(length);
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

}  // namespace attnflow::internal
