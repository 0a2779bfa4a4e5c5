#include "attnflow/files/gguf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/error.h"
#include "attnflow/files/mapped_file.h"
#include "attnflow/files/messages.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "what is in a file is taken as it stands");

constexpr std::string_view kGgufMagic = "GGUF";
constexpr std::uint32_t kOldestVersion = 2;
constexpr std::uint32_t kNewestVersion = 3;
constexpr std::size_t kMaxGgufRank = 4;
constexpr std::size_t kMaxKey = 65535;         // the format's limit
constexpr std::size_t kMaxTensorName = 63;     // libllama's limit
constexpr std::size_t kDefaultAlignment = 32;  // if there is no general.alignment
constexpr std::size_t kMaxAlignment = std::size_t{1} << 20;
// The minimum size of an entry and of a tensor, which bounds their number before any is read.
constexpr std::size_t kLeastEntry = 8 + 4 + 1;
constexpr std::size_t kLeastTensor = 8 + 4 + 8 + 4 + 8;

// ggml's type numbers, in order; the missing ones were removed from ggml.
constexpr std::array<std::pair<std::uint32_t, GgufBlock>, 34> kBlocks = {{
    {0, {1, 4, "F32"}},         {1, {1, 2, "F16"}},         {2, {32, 18, "Q4_0"}},      {3, {32, 20, "Q4_1"}},
    {6, {32, 22, "Q5_0"}},      {7, {32, 24, "Q5_1"}},      {8, {32, 34, "Q8_0"}},      {9, {32, 36, "Q8_1"}},
    {10, {256, 84, "Q2_K"}},    {11, {256, 110, "Q3_K"}},   {12, {256, 144, "Q4_K"}},   {13, {256, 176, "Q5_K"}},
    {14, {256, 210, "Q6_K"}},   {15, {256, 292, "Q8_K"}},   {16, {256, 66, "IQ2_XXS"}}, {17, {256, 74, "IQ2_XS"}},
    {18, {256, 98, "IQ3_XXS"}}, {19, {256, 50, "IQ1_S"}},   {20, {32, 18, "IQ4_NL"}},   {21, {256, 110, "IQ3_S"}},
    {22, {256, 82, "IQ2_S"}},   {23, {256, 136, "IQ4_XS"}}, {24, {1, 1, "I8"}},         {25, {1, 2, "I16"}},
    {26, {1, 4, "I32"}},        {27, {1, 8, "I64"}},        {28, {1, 8, "F64"}},        {29, {256, 56, "IQ1_M"}},
    {30, {1, 2, "BF16"}},       {34, {256, 54, "TQ1_0"}},   {35, {256, 66, "TQ2_0"}},   {39, {32, 17, "MXFP4"}},
    {40, {64, 36, "NVFP4"}},    {41, {128, 18, "Q1_0"}},
}};

// Bytes of a value of each type, by number; 0 for texts and arrays.
constexpr std::array<std::size_t, 13> kTypeBytes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

template <typename Value>
const Value* entry_of(const GgufHeader& header, std::string_view key) {
  const auto found = header.metadata.find(key);
  return found == header.metadata.end() ? nullptr : std::get_if<Value>(&found->second);
}

class Reader {
 public:
  Reader(std::span<const std::byte> file, const std::string& name, GgufArrays arrays)
      : file_(file), name_(name), arrays_(arrays) {}

  GgufHeader read() {
    begin();
    const std::uint64_t tensors = integer<std::uint64_t>("the number of tensors");
    const std::uint64_t entries = integer<std::uint64_t>("the number of metadata entries");
    check_count(entries, kLeastEntry, "metadata entries");
    for (std::uint64_t i = 0; i < entries; ++i) read_entry();
    check_count(tensors, kLeastTensor, "tensors");
    header_.tensors.reserve(tensors);
    for (std::uint64_t i = 0; i < tensors; ++i) read_tensor();
    place_tensors();
    return std::move(header_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    fail_file(name_, fmt::format("not a valid GGUF file: {}", what));
  }

  std::size_t left() const { return file_.size() - at_; }

  void need(std::uint64_t bytes, std::string_view what) const {
    if (bytes > left()) {
      fail(
          fmt::format("{} would take {} bytes at offset {}, but only {} follow: the file is truncated or damaged; "
                      "copy it again",
                      what, bytes, at_, left()));
    }
  }

  template <typename T>
  T integer(std::string_view what) {
    need(sizeof(T), what);
    T value;
    std::memcpy(&value, file_.data() + at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  void check_count(std::uint64_t count, std::size_t least, std::string_view what) const {
    if (count > left() / least) {
      fail(fmt::format("it claims to have {} {}, but only {} bytes follow: it is truncated or damaged; copy it again",
                       count, what, left()));
    }
  }

  std::string_view text(std::string_view what) {
    const auto length = integer<std::uint64_t>(what);
    need(length, what);
    const std::string_view found(reinterpret_cast<const char*>(file_.data()) + at_, length);
    at_ += length;
    return found;
  }

  std::string_view name(std::size_t longest, std::string_view what) {
    const std::string_view found = text(what);
    if (found.empty() || found.size() > longest || found.find('\0') != std::string_view::npos ||
        find_invalid_utf8(found)) {
      fail(fmt::format("expected {} of 1 to {} bytes in UTF-8, found {} of {} bytes", what, longest, quote_name(found),
                       found.size()));
    }
    return found;
  }

  void begin() {
    const std::string_view start(reinterpret_cast<const char*>(file_.data()),
                                 std::min(file_.size(), std::string_view("version https://git-lfs").size()));
    if (start == "version https://git-lfs")
      fail("found a Git LFS pointer instead of the file; run `git lfs pull` in the folder it came from");
    if (!start.starts_with(kGgufMagic)) {
      fail(fmt::format(
          "expected it to begin with \"GGUF\", found {}",
          file_.empty() ? "no bytes at all; copy it again" : quote_name(start.substr(0, kGgufMagic.size()))));
    }
    at_ = kGgufMagic.size();
    header_.version = integer<std::uint32_t>("the version");
    if (header_.version >= kOldestVersion && header_.version <= kNewestVersion) return;
    const bool other_order = header_.version != 0 && header_.version % 0x10000 == 0;
    fail(fmt::format("expected version {} or {}, found {}{}", kOldestVersion, kNewestVersion, header_.version,
                     other_order ? ", which is a file for the other byte order; convert it for this machine"
                                 : "; convert the model again with a current tool"));
  }

  GgufType type(std::string_view key) {
    const auto number = integer<std::uint32_t>("a type");
    if (number > static_cast<std::uint32_t>(GgufType::kF64))
      fail(fmt::format("{} has the type {}, expected one from 0 to 12", quote_name(key), number));
    return static_cast<GgufType>(number);
  }

  GgufValue scalar(GgufType type, std::string_view key) {
    switch (type) {
      case GgufType::kU8:
        return std::int64_t{integer<std::uint8_t>(key)};
      case GgufType::kI8:
        return std::int64_t{integer<std::int8_t>(key)};
      case GgufType::kU16:
        return std::int64_t{integer<std::uint16_t>(key)};
      case GgufType::kI16:
        return std::int64_t{integer<std::int16_t>(key)};
      case GgufType::kU32:
        return std::int64_t{integer<std::uint32_t>(key)};
      case GgufType::kI32:
        return std::int64_t{integer<std::int32_t>(key)};
      case GgufType::kF32:
        return double{integer<float>(key)};
      case GgufType::kBool:
        return integer<std::uint8_t>(key) != 0;
      case GgufType::kText:
        return std::string(text(key));
      case GgufType::kU64: {
        const auto value = integer<std::uint64_t>(key);
        if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
          return static_cast<double>(value);
        return static_cast<std::int64_t>(value);
      }
      case GgufType::kI64:
        return integer<std::int64_t>(key);
      case GgufType::kF64:
        return integer<double>(key);
      case GgufType::kArray:
        break;
    }
    fail(fmt::format("{} holds an array of arrays, which is not supported", quote_name(key)));
  }

  GgufArray array(std::string_view key) {
    GgufArray array;
    array.type = type(key);
    if (array.type == GgufType::kArray) scalar(array.type, key);  // throws
    const auto count = integer<std::uint64_t>(key);
    const bool texts = array.type == GgufType::kText;
    const std::size_t least = texts ? sizeof(std::uint64_t) : kTypeBytes[static_cast<std::size_t>(array.type)];
    check_count(count, least, fmt::format("elements of {}", quote_name(key)));
    array.count = count;
    const bool whole = !texts && array.type != GgufType::kF32 && array.type != GgufType::kF64;
    if (texts) {
      for (std::uint64_t i = 0; i < count; ++i) {
        const std::string_view found = text(key);
        if (arrays_ == GgufArrays::kWhole) array.texts.emplace_back(found);
      }
    } else if (whole && (count <= kMaxKeptNumbers || arrays_ == GgufArrays::kWhole)) {
      array.numbers.reserve(count);
      for (std::uint64_t i = 0; i < count; ++i) {
        const GgufValue value = scalar(array.type, key);
        if (const auto* number = std::get_if<std::int64_t>(&value)) {
          array.numbers.push_back(*number);
        } else {
          const bool* flag = std::get_if<bool>(&value);
          array.numbers.push_back(flag == nullptr ? std::numeric_limits<std::int64_t>::max() : std::int64_t{*flag});
        }
      }
    } else {
      at_ += count * least;
    }
    return array;
  }

  void read_entry() {
    const std::string_view key = name(kMaxKey, "a key");
    const GgufType found = type(key);
    GgufValue value = found == GgufType::kArray ? GgufValue(array(key)) : scalar(found, key);
    if (!header_.metadata.emplace(key, std::move(value)).second)
      fail(fmt::format("the key {} appears twice", quote_name(key)));
  }

  void read_tensor() {
    GgufTensor tensor;
    tensor.name = name(kMaxTensorName, "a tensor's name");
    if (!names_.insert(tensor.name).second) fail(fmt::format("the tensor {} appears twice", quote_name(tensor.name)));
    const auto rank = integer<std::uint32_t>("a tensor's rank");
    if (rank == 0 || rank > kMaxGgufRank) {
      fail(
          fmt::format("tensor {}: expected 1 to {} dimensions, found {}", quote_name(tensor.name), kMaxGgufRank, rank));
    }
    for (std::uint32_t d = 0; d < rank; ++d)
      tensor.extents.push_back(integer<std::uint64_t>("the shape of " + quote_name(tensor.name)));
    tensor.type = integer<std::uint32_t>("the type of " + quote_name(tensor.name));
    tensor.offset = integer<std::uint64_t>("the offset of " + quote_name(tensor.name));
    header_.tensors.push_back(std::move(tensor));
  }

  std::size_t alignment() const {
    const auto entry = header_.metadata.find("general.alignment");
    if (entry == header_.metadata.end()) return kDefaultAlignment;
    const auto* value = std::get_if<std::int64_t>(&entry->second);
    if (value == nullptr || *value <= 0 || !std::has_single_bit(static_cast<std::uint64_t>(*value)) ||
        static_cast<std::uint64_t>(*value) > kMaxAlignment) {
      fail(fmt::format("general.alignment: expected a power of two up to {}", kMaxAlignment));
    }
    return static_cast<std::size_t>(*value);
  }

  std::size_t size_of_tensor(const GgufTensor& tensor, const GgufBlock& block) const {
    if (tensor.extents.front() % block.elements != 0) {
      fail(fmt::format("tensor {}: its type stores {} numbers at a time, but its rows have {}", quote_name(tensor.name),
                       block.elements, tensor.extents.front()));
    }
    std::vector<std::size_t> extents = tensor.extents;
    extents.front() /= block.elements;
    extents.push_back(block.bytes);
    const auto bytes = checked_product(extents);
    // Element counts are 63-bit.
    const auto elements = checked_product(tensor.extents);
    if (!bytes || !elements || *elements > static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max()))
      fail(fmt::format("tensor {} is larger than the address space", quote_name(tensor.name)));
    return *bytes;
  }

  void place_tensors() {
    const std::size_t unit = alignment();
    header_.data_begin = (at_ + unit - 1) / unit * unit;
    const std::size_t data = file_.size() > header_.data_begin ? file_.size() - header_.data_begin : 0;
    for (GgufTensor& tensor : header_.tensors) {
      const std::optional<GgufBlock> block = gguf_block(tensor.type);
      if (block) tensor.bytes = size_of_tensor(tensor, *block);
      const std::size_t bytes = tensor.bytes.value_or(0);
      if (tensor.offset % unit != 0) {
        fail(fmt::format("tensor {}: expected an offset that is a multiple of {}, found {}", quote_name(tensor.name),
                         unit, tensor.offset));
      }
      if (tensor.offset > data || bytes > data - tensor.offset) {
        fail(
            fmt::format("tensor {} takes {} bytes at offset {}, but the file holds {} bytes of data: it is truncated "
                        "or damaged; copy it again",
                        quote_name(tensor.name), bytes, tensor.offset, data));
      }
    }
  }

  std::span<const std::byte> file_;
  const std::string& name_;
  GgufArrays arrays_;
  std::size_t at_ = 0;
  GgufHeader header_;
  std::set<std::string, std::less<>> names_;
};

}  // namespace

std::optional<GgufBlock> gguf_block(std::uint32_t type) {
  const auto found =
      std::find_if(kBlocks.begin(), kBlocks.end(), [&](const auto& entry) { return entry.first == type; });
  if (found == kBlocks.end()) return std::nullopt;
  return found->second;
}

std::optional<std::int64_t> GgufHeader::number(std::string_view key) const {
  const auto* value = entry_of<std::int64_t>(*this, key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::optional<std::string> GgufHeader::text(std::string_view key) const {
  const auto* value = entry_of<std::string>(*this, key);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

const GgufArray* GgufHeader::array(std::string_view key) const { return entry_of<GgufArray>(*this, key); }

GgufHeader parse_gguf(std::span<const std::byte> file, const std::string& name, GgufArrays arrays) {
  return Reader(file, name, arrays).read();
}

GgufHeader read_gguf(const std::filesystem::path& file) {
  const MappedFile mapping(file, "GGUF");
  return parse_gguf(mapping.bytes(), file.string());
}

}  // namespace attnflow::internal
