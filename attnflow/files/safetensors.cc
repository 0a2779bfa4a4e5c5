#include "attnflow/files/safetensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "attnflow/base/checked_size.h"
#include "attnflow/files/dtype_table.h"
#include "attnflow/files/little_endian.h"
#include "attnflow/files/mapped_file.h"
#include "attnflow/files/messages.h"

namespace attnflow {
namespace internal {

struct SafetensorsContent {
  std::map<std::string, SafetensorsFile::Entry, std::less<>> entries;  // `bytes` point into the file
  std::map<std::string, std::string, std::less<>> metadata;
  std::map<std::string, std::string, std::less<>> unread;  // as SafetensorsFile::unread()
};

namespace {

constexpr std::size_t kLengthBytes = 8;
// Larger headers are rejected, as by the format's own library: 100 MB.
constexpr std::size_t kMaxSafetensorsHeader = 100'000'000;
constexpr std::size_t kMaxTensorRank = 64;
constexpr std::size_t kMaxIgnoredDepth = 32;

struct Declared {
  std::optional<DType> dtype;
  std::string unread;  // the dtype's name, if attnflow does not read it
  std::optional<Shape> shape;
  std::optional<std::vector<std::size_t>> offsets;
};

// Receives the header's JSON as events, so that a hostile header costs no more memory than its text: only the tensors'
// descriptions are built, and nesting is limited to what the format allows.
class HeaderReader : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit HeaderReader(const std::string& file) : file_(file) {}

  std::map<std::string, Declared, std::less<>> tensors;
  std::map<std::string, std::string, std::less<>> metadata;

  bool null() override {
    // Equivalent to no metadata; the format's own library writes it in that case.
    const bool no_metadata = place_ == Place::kTop && name_ == "__metadata__";
    return ignored() || no_metadata || unexpected("null");
  }
  bool boolean(bool value) override { return ignored() || unexpected(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return ignored() || unexpected(std::to_string(value)); }
  bool number_float(number_float_t, const string_t& text) override { return ignored() || unexpected(text); }
  bool binary(binary_t&) override { return unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (ignored()) return true;
    if (place_ == Place::kShape) {
      if (tensor_->shape->size() == kMaxTensorRank)
        fail(fmt::format("tensor {}: expected at most {} dimensions", quote_name(name_), kMaxTensorRank));
      tensor_->shape->push_back(value);
    } else if (place_ == Place::kOffsets && tensor_->offsets->size() < 2) {
      tensor_->offsets->push_back(value);
    } else {
      unexpected(std::to_string(value));
    }
    return true;
  }

  bool string(string_t& value) override {
    if (ignored()) return true;
    if (place_ == Place::kMetadata) {
      if (!metadata.emplace(key_, std::move(value)).second) fail("metadata key " + quote_name(key_) + " appears twice");
    } else if (place_ == Place::kTensor && key_ == "dtype") {
      const auto found = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeRow& known) {
        return !known.safetensors.empty() && known.safetensors == value;
      });
      const bool is_read = found != kDTypes.end();
      tensor_->dtype = is_read ? found->dtype : DType::kU8;
      if (!is_read) tensor_->unread = value.empty() ? "none" : std::move(value);
    } else {
      unexpected(quote_name(value));
    }
    return true;
  }

  bool key(string_t& value) override {
    if (ignored_depth_ != 0) return true;
    key_ = std::move(value);
    if (place_ == Place::kTop) {
      name_ = key_;
      if (name_ == "__metadata__") {
        if (std::exchange(has_metadata_, true)) fail("\"__metadata__\" appears twice");
      } else {
        const auto [position, inserted] = tensors.try_emplace(name_);
        if (!inserted) fail("tensor " + quote_name(name_) + " appears twice");
        tensor_ = &position->second;
      }
    } else if (place_ == Place::kTensor) {
      const bool again = (key_ == "dtype" && tensor_->dtype) || (key_ == "shape" && tensor_->shape) ||
                         (key_ == "data_offsets" && tensor_->offsets);
      if (again) fail(fmt::format("tensor {}: {} appears twice", quote_name(name_), quote_name(key_)));
      // Fields added by later versions of the format are skipped.
      ignore_next_ = key_ != "dtype" && key_ != "shape" && key_ != "data_offsets";
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (enter_ignored()) return true;
    if (place_ == Place::kStart) {
      place_ = Place::kTop;
    } else if (place_ == Place::kTop) {
      place_ = name_ == "__metadata__" ? Place::kMetadata : Place::kTensor;
    } else {
      unexpected("an object");
    }
    return true;
  }
  bool end_object() override {
    if (leave_ignored()) return true;
    if (place_ == Place::kTensor && !(tensor_->dtype && tensor_->shape && tensor_->offsets))
      fail("tensor " + quote_name(name_) + ": expected dtype, shape and data_offsets");
    place_ = place_ == Place::kTop ? Place::kEnd : Place::kTop;
    return true;
  }

  bool start_array(std::size_t) override {
    if (enter_ignored()) return true;
    if (place_ == Place::kTensor && key_ == "shape") {
      place_ = Place::kShape;
      tensor_->shape.emplace();
    } else if (place_ == Place::kTensor && key_ == "data_offsets") {
      place_ = Place::kOffsets;
      tensor_->offsets.emplace();
    } else {
      unexpected("an array");
    }
    return true;
  }
  bool end_array() override {
    if (leave_ignored()) return true;
    if (place_ == Place::kOffsets && tensor_->offsets->size() != 2)
      fail("tensor " + quote_name(name_) + ": expected data_offsets [begin, end]");
    place_ = Place::kTensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) override {
    fail(fmt::format("the header is not valid JSON in UTF-8 (at byte {})", position));
  }

 private:
  enum class Place { kStart, kTop, kTensor, kShape, kOffsets, kMetadata, kEnd };

  [[noreturn]] void fail(const std::string& what) const {
    internal::fail_file(file_, fmt::format("not a valid .safetensors file: {}", what));
  }
  // Never returns normally; the return type allows `return ok || unexpected(...)`.
  bool unexpected(const std::string& found) const {
    switch (place_) {
      case Place::kStart:
      case Place::kEnd:
        fail("expected the header to be a JSON object, found " + found);
      case Place::kTop:
        fail(fmt::format("{}: expected an object, found {}", quote_name(name_), found));
      case Place::kTensor:
        fail(fmt::format("tensor {}: {}: expected {}, found {}", quote_name(name_), quote_name(key_),
                         key_ == "dtype" ? "text" : "an array", found));
      case Place::kShape:
        fail(fmt::format("tensor {}: expected a shape of whole numbers, found {}", quote_name(name_), found));
      case Place::kOffsets:
        fail(fmt::format("tensor {}: expected data_offsets [begin, end], found {}", quote_name(name_), found));
      case Place::kMetadata:
        fail(fmt::format("metadata {}: expected text, found {}", quote_name(key_), found));
    }
    fail("unexpected " + found);
  }

  // Values of unknown keys: a scalar is skipped by ignored(), a container by tracking its depth.
  bool ignored() { return std::exchange(ignore_next_, false) || ignored_depth_ != 0; }
  bool enter_ignored() {
    if (!ignored()) return false;
    if (++ignored_depth_ > kMaxIgnoredDepth) fail("the header is nested too deeply");
    return true;
  }
  bool leave_ignored() {
    if (ignored_depth_ == 0) return false;
    --ignored_depth_;
    return true;
  }

  const std::string& file_;
  Place place_ = Place::kStart;
  std::string name_;  // of the current tensor
  std::string key_;   // the innermost key
  Declared* tensor_ = nullptr;
  bool has_metadata_ = false;
  bool ignore_next_ = false;
  std::size_t ignored_depth_ = 0;
};

// Time and memory are linear in the header's length; tensor data is not touched.
SafetensorsContent parse_safetensors(std::span<const std::byte> file, const std::string& name) {
  const auto fail = [&](const std::string& what) {
    internal::fail_file(name, fmt::format("not a valid .safetensors file: {}", what));
  };
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("version https://git-lfs"))
    fail("found a Git LFS pointer instead of the file; run `git lfs pull` in the folder it came from");
  if (file.size() < kLengthBytes)
    fail(fmt::format("expected at least {} bytes, found {}; copy it again", kLengthBytes, file.size()));
  const std::uint64_t length = little_endian<std::uint64_t>(file, 0);
  if (length > file.size() - kLengthBytes) {
    fail(fmt::format(
        "its header claims {} bytes, but only {} follow: the file is truncated or is something else; copy it again",
        length, file.size() - kLengthBytes));
  }
  if (length > kMaxSafetensorsHeader)
    fail(fmt::format("its header has {} bytes; at most {} are read", length, kMaxSafetensorsHeader));
  const std::string_view header = text.substr(kLengthBytes, length);
  if (!header.starts_with('{')) fail("expected the header to be a JSON object that starts with '{'");

  // The parser treats NUL as the end of its input, and would accept anything after it.
  if (const std::size_t nul = header.find('\0'); nul != std::string_view::npos)
    fail(fmt::format("the header is not valid JSON in UTF-8 (at byte {})", nul + 1));

  HeaderReader reader(name);
  nlohmann::json::sax_parse(header.begin(), header.end(), &reader);

  const std::span<const std::byte> data = file.subspan(kLengthBytes + length);
  SafetensorsContent content;
  content.metadata = std::move(reader.metadata);

  struct Extent {
    std::size_t begin;
    std::size_t end;
    std::string_view name;
  };
  std::vector<Extent> extents;
  extents.reserve(reader.tensors.size());
  for (auto& [tensor_name, declared] : reader.tensors) {
    const std::size_t begin = (*declared.offsets)[0];
    const std::size_t end = (*declared.offsets)[1];
    if (begin > end || end > data.size()) {
      fail(
          fmt::format("tensor {} lies at bytes {} to {}, but the file holds {} bytes of data: it is truncated or "
                      "damaged; copy it again",
                      quote_name(tensor_name), begin, end, data.size()));
    }
    extents.push_back({begin, end, tensor_name});
    if (!declared.unread.empty()) {
      content.unread.emplace_hint(content.unread.end(), tensor_name, std::move(declared.unread));
      continue;
    }
    const auto count = checked_product(*declared.shape);
    const auto bytes = count ? checked_multiply(*count, dtype_size(*declared.dtype)) : std::nullopt;
    if (!bytes || *bytes != end - begin) {
      fail(fmt::format("tensor {} of shape {} and dtype {} needs {} bytes, but its offsets {} to {} hold {}",
                       quote_name(tensor_name), shape_to_string(*declared.shape), dtype_name(*declared.dtype),
                       bytes ? std::to_string(*bytes) : "more than 2^64", begin, end, end - begin));
    }
    content.entries.emplace_hint(
        content.entries.end(), tensor_name,
        SafetensorsFile::Entry{*declared.dtype, std::move(*declared.shape), data.subspan(begin, end - begin)});
  }

  // The format requires every byte of the data to belong to exactly one tensor.
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  std::size_t covered = 0;
  std::string_view previous;
  for (const Extent& extent : extents) {
    if (extent.begin < covered)
      fail(fmt::format("tensors {} and {} overlap at byte {}", quote_name(previous), quote_name(extent.name),
                       extent.begin));
    if (extent.begin > covered)
      fail(fmt::format("bytes {} to {} before tensor {} belong to no tensor", covered, extent.begin,
                       quote_name(extent.name)));
    covered = extent.end;
    previous = extent.name;
  }
  if (covered != data.size()) fail(fmt::format("the last {} bytes belong to no tensor", data.size() - covered));
  return content;
}

[[noreturn]] void refuse_type(const SafetensorsFile& file, std::string_view name, std::string_view dtype) {
  internal::fail_file(
      file.path().string(),
      fmt::format("tensor {} has dtype {}, which attnflow does not read; expected one of BOOL, U8, I8, I16, "
                  "I32, I64, F16, BF16, F32, F64: convert the tensor and save it again",
                  quote_name(name), quote_name(dtype)));
}

}  // namespace
}  // namespace internal

struct SafetensorsFile::Impl {
  explicit Impl(const std::filesystem::path& file)
      : path(file),
        mapping(file, ".safetensors"),
        content(internal::parse_safetensors(mapping.bytes(), file.string())) {}
  Impl(std::span<const std::byte> bytes, const std::string& name)
      : path(name), content(internal::parse_safetensors(bytes, name)) {}

  std::filesystem::path path;
  internal::MappedFile mapping;
  internal::SafetensorsContent content;
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path) : impl_(std::make_unique<Impl>(path)) {}
SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes, const std::string& name)
    : impl_(std::make_unique<Impl>(bytes, name)) {}
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

const std::filesystem::path& SafetensorsFile::path() const { return impl_->path; }

const std::map<std::string, SafetensorsFile::Entry, std::less<>>& SafetensorsFile::entries() const {
  return impl_->content.entries;
}

const std::map<std::string, std::string, std::less<>>& SafetensorsFile::metadata() const {
  return impl_->content.metadata;
}

const std::map<std::string, std::string, std::less<>>& SafetensorsFile::unread() const { return impl_->content.unread; }

void SafetensorsFile::require_all_read() const {
  if (!unread().empty()) internal::refuse_type(*this, unread().begin()->first, unread().begin()->second);
}

Array SafetensorsFile::read(std::string_view name) const {
  if (const auto other = unread().find(name); other != unread().end())
    internal::refuse_type(*this, name, other->second);
  const auto found = entries().find(name);
  if (found == entries().end()) {
    std::vector<std::string_view> names;
    names.reserve(entries().size());
    for (const auto& entry : entries()) names.push_back(entry.first);
    internal::fail_file(path().string(), fmt::format("expected a tensor named {}; the file holds {}",
                                                     internal::quote_name(name), internal::quote_names(names)));
  }
  const Entry& entry = found->second;
  Array array;
  array.dtype = entry.dtype;
  array.shape = entry.shape;
  array.bytes.assign(entry.bytes.begin(), entry.bytes.end());
  return array;
}

}  // namespace attnflow
