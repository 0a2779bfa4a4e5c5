#include "attnflow/files/npy_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "attnflow/base/checked_size.h"
#include "attnflow/base/fail.h"
#include "attnflow/files/dtype_table.h"
#include "attnflow/files/half.h"
#include "attnflow/files/messages.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr std::size_t kHeaderAlignment = 64;
// NumPy writes a few hundred bytes and by default rejects more than 10,000.
constexpr std::size_t kMaxHeader = std::size_t{1} << 20;
constexpr std::size_t kMaxNpyRank = 64;  // NumPy's own limit (32 before NumPy 2)

struct NpyHeader {
  std::string descr;
  bool fortran_order = false;
  Shape shape;
};

// Parses the dict literal, only as NumPy writes it: three keys, quoted text, True or False, a tuple of decimal numbers.
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  NpyHeader parse() {
    NpyHeader header;
    std::array<bool, 3> seen{};
    const auto once = [&](std::size_t key) {
      if (std::exchange(seen[key], true)) refuse("a key appears twice");
    };
    expect('{');
    while (!accept('}')) {
      const std::string key = text();
      expect(':');
      if (key == "descr") {
        once(0);
        if (peek() == '[' || peek() == '{' || peek() == '(')
          fail_file(name_,
                    "expected an array of numbers, found a structured dtype; save each field as an array of its own");
        header.descr = text();
      } else if (key == "fortran_order") {
        once(1);
        header.fortran_order = boolean();
      } else if (key == "shape") {
        once(2);
        header.shape = tuple();
      } else {
        refuse("unknown key " + quote_name(key));
      }
      if (!accept(',')) {
        expect('}');
        break;
      }
    }
    peek();
    if (at_ != text_.size()) refuse("text after the closing brace");
    if (!seen[0] || !seen[1] || !seen[2]) refuse("expected the keys descr, fortran_order and shape");
    return header;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail_file(name_, fmt::format("not a valid .npy file: header, byte {}: {}", at_, what));
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!accept(c)) refuse(fmt::format("expected '{}'", c));
  }
  std::string text() {
    const char quote = peek();
    if (quote != '\'' && quote != '"') refuse("expected text in quotes");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) refuse("text without a closing quote");
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    if (content.find('\\') != std::string_view::npos) refuse("unexpected backslash");
    at_ = end + 1;
    return std::string(content);
  }
  bool boolean() {
    peek();
    for (const auto& [word, value] : {std::pair{std::string_view("True"), true}, {std::string_view("False"), false}}) {
      if (text_.substr(at_).starts_with(word)) {
        at_ += word.size();
        return value;
      }
    }
    refuse("expected True or False");
  }
  Shape tuple() {
    Shape shape;
    expect('(');
    while (!accept(')')) {
      if (shape.size() == kMaxNpyRank) refuse(fmt::format("expected at most {} dimensions", kMaxNpyRank));
      shape.push_back(number());
      accept('L');  // Python 2 wrote long integers this way
      if (!accept(',')) {
        expect(')');
        break;
      }
    }
    return shape;
  }
  std::size_t number() {
    peek();
    std::size_t value = 0;
    const std::size_t start = at_;
    for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      const auto digit = static_cast<std::size_t>(text_[at_] - '0');
      if (value > (std::numeric_limits<std::size_t>::max() - digit) / 10) refuse("a dimension is larger than 2^64");
      value = value * 10 + digit;
    }
    if (at_ == start) refuse("expected a dimension without sign");
    return value;
  }

  std::string_view text_;
  const std::string& name_;
  std::size_t at_ = 0;
};

struct Element {
  DType dtype = DType::kF32;
  std::size_t stored_size = 0;   // bytes in the file
  std::size_t swap_size = 1;     // the unit whose bytes are swapped; 1: none
  bool widen_unsigned = false;   // unsigned, 2, 4 or 8 bytes, kept as kI64
  bool text_in_bytes = false;    // NumPy's "S", kept as kUnicode
  std::size_t decoded_size = 0;  // bytes in memory
};

Element parse_descr(const std::string& descr, const std::string& name) {
  std::string_view rest = descr;
  bool swapped = false;
  if (!rest.empty() && std::string_view("<>|=").find(rest[0]) != std::string_view::npos) {
    swapped = rest[0] == '>';
    rest.remove_prefix(1);
  }
  const char kind = rest.empty() ? '\0' : rest[0];
  if (kind == 'O') {
    fail_file(name,
              "holds Python objects (a pickle), which can run code when loaded and is never read; save numbers as "
              "array.astype(np.float32) and text as array.astype(str), with allow_pickle=False");
  }
  std::size_t size = 0;
  bool digits = rest.size() > 1;
  for (const char c : rest.substr(std::min<std::size_t>(1, rest.size()))) {
    digits = digits && c >= '0' && c <= '9' && size < std::numeric_limits<std::uint32_t>::max();
    if (digits) size = size * 10 + static_cast<std::size_t>(c - '0');
  }
  Element element;
  element.stored_size = element.decoded_size = size;
  element.swap_size = swapped ? size : 1;
  if (digits && kind == 'U') {
    element.dtype = DType::kUnicode;
    element.stored_size = 4 * size;
    element.swap_size = swapped ? 4 : 1;
    element.decoded_size = sizeof(std::string) + 4 * size;
    return element;
  }
  if (digits && kind == 'S') {
    element.dtype = DType::kUnicode;
    element.swap_size = 1;
    element.text_in_bytes = true;
    element.decoded_size = sizeof(std::string) + size;
    return element;
  }
  if (digits && kind == 'u' && (size == 2 || size == 4 || size == 8)) {
    element.dtype = DType::kI64;
    element.widen_unsigned = true;
    element.decoded_size = 8;
    return element;
  }
  const auto known = std::find_if(kDTypes.begin(), kDTypes.end(), [&](const DTypeRow& row) {
    return row.npy_kind != '\0' && row.npy_kind == kind && row.size == size;
  });
  if (digits && known != kDTypes.end()) {
    element.dtype = known->dtype;
    return element;
  }
  fail_file(name,
            fmt::format("expected bool, integers, float16, float32, float64 or text, found dtype {}; convert it with "
                        "array.astype(np.float64), or text with array.astype(str), and save it again",
                        quote_name(descr)));
}

void swap_bytes(std::span<std::byte> bytes, std::size_t unit) {
  if (unit == 1) return;
  for (std::size_t at = 0; at + unit <= bytes.size(); at += unit)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + unit));
}

std::vector<std::byte> from_fortran_order(std::span<const std::byte> stored, const Shape& shape, std::size_t size) {
  std::vector<std::byte> out(stored.size());
  std::vector<std::size_t> stride(shape.size());  // in elements of `stored`
  std::size_t step = 1;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    stride[d] = step;
    step *= shape[d];
  }
  std::vector<std::size_t> index(shape.size(), 0);
  std::size_t from = 0;
  for (std::size_t to = 0; to < out.size(); to += size) {
    std::memcpy(out.data() + to, stored.data() + from * size, size);
    for (std::size_t d = shape.size(); d-- > 0;) {
      from += stride[d];
      if (++index[d] < shape[d]) break;
      from -= stride[d] * shape[d];
      index[d] = 0;
    }
  }
  return out;
}

std::vector<std::byte> widen_unsigned(std::span<const std::byte> stored, std::size_t size, const std::string& name) {
  const std::size_t count = stored.size() / size;
  std::vector<std::byte> out(count * sizeof(std::int64_t));
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t value = 0;
    std::memcpy(&value, stored.data() + i * size, size);
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
      fail_file(name, fmt::format("expected integers up to 2^63 - 1, found {}", value));
    std::memcpy(out.data() + i * sizeof value, &value, sizeof value);
  }
  return out;
}

// Converts fixed-width UTF-32 text to UTF-8, without the NULs that pad each element.
std::vector<std::string> decode_text(std::span<const std::byte> stored, std::size_t count, const std::string& name) {
  std::vector<std::string> out(count);
  const std::size_t width = count == 0 ? 0 : stored.size() / count / 4;
  std::u32string points(width, U'\0');
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(points.data(), stored.data() + i * width * 4, width * 4);
    const std::size_t length = points.find_last_not_of(U'\0') + 1;  // npos + 1 is 0
    for (std::size_t k = 0; k < length; ++k) {
      if (!is_scalar_value(points[k])) {
        fail_file(name, fmt::format("expected text, found {:#x}, which is not a Unicode character",
                                    static_cast<std::uint32_t>(points[k])));
      }
      append_utf8(out[i], points[k]);
    }
  }
  return out;
}

// Converts fixed-width bytes, which must be UTF-8, without the NULs that pad each element.
std::vector<std::string> text_of_bytes(std::span<const std::byte> stored, std::size_t count, const std::string& name) {
  std::vector<std::string> out(count);
  const std::size_t width = count == 0 ? 0 : stored.size() / count;
  for (std::size_t i = 0; i < count; ++i) {
    std::string& text = out[i];
    text.assign(reinterpret_cast<const char*>(stored.data()) + i * width, width);
    text.resize(text.find_last_not_of('\0') + 1);  // npos + 1 is 0
    if (find_invalid_utf8(text)) {
      fail_file(name, fmt::format("expected text in UTF-8, found other bytes in element {}; save it as "
                                  "array.astype(str)",
                                  i));
    }
  }
  return out;
}

void read_exactly(const ByteSource& source, std::span<std::byte> into, const std::string& name) {
  std::size_t done = 0;
  while (done < into.size()) {
    const std::size_t got = source.read(into.subspan(done));
    if (got == 0) {
      fail_file(name, fmt::format("expected {} more bytes, found the end of the file: it is truncated; copy it again",
                                  into.size() - done));
    }
    done += got;
  }
}

NpyHeader read_header(const ByteSource& source, const std::string& name, std::uint64_t& consumed) {
  std::array<std::byte, 8> start{};  // magic and version
  const std::size_t got = source.read(start);
  const std::string_view magic(reinterpret_cast<const char*>(start.data()), std::min(got, kNpyMagic.size()));
  if (magic != kNpyMagic) {
    if (got > 0 && start[0] == std::byte{0x80}) {
      fail_file(name,
                "found a Python pickle, which can run code when loaded and is never read; save the array with "
                "np.save(file, array.astype(np.float32), allow_pickle=False)");
    }
    if (got > 1 && magic.starts_with("PK"))
      fail_file(name, "found a zip file; if it comes from np.savez, name it .npz");
    fail_file(name, fmt::format("expected a NumPy .npy file, found {} bytes that do not start with \"\\x93NUMPY\"",
                                source.size));
  }
  if (got < start.size()) fail_file(name, "the file is truncated; copy it again");
  const int version = std::to_integer<int>(start[6]);
  if (version < 1 || version > 3) {
    fail_file(name,
              fmt::format("expected .npy version 1, 2 or 3, found {}.{}", version, std::to_integer<int>(start[7])));
  }
  std::array<std::byte, 4> length_bytes{};
  const std::size_t length_size = version == 1 ? 2 : 4;
  read_exactly(source, std::span(length_bytes).first(length_size), name);
  std::size_t length = 0;
  for (std::size_t i = 0; i < length_size; ++i) length |= std::to_integer<std::size_t>(length_bytes[i]) << (8 * i);
  consumed = start.size() + length_size;
  if (length > source.size - std::min(consumed, source.size)) {
    fail_file(name, fmt::format("not a valid .npy file: its header claims {} bytes, but only {} follow", length,
                                source.size - std::min(consumed, source.size)));
  }
  if (length > kMaxHeader)
    fail_file(name,
              fmt::format("not a valid .npy file: its header has {} bytes; at most {} are read", length, kMaxHeader));
  std::string text(length, '\0');
  read_exactly(source, std::as_writable_bytes(std::span(text)), name);
  consumed += length;
  return HeaderParser(text, name).parse();
}

}  // namespace

ByteSource memory_source(std::span<const std::byte> bytes) {
  return {bytes.size(), [rest = bytes](std::span<std::byte> into) mutable {
            const std::size_t count = std::min(into.size(), rest.size());
            std::copy_n(rest.begin(), count, into.begin());
            rest = rest.subspan(count);
            return count;
          }};
}

Array parse_npy(const ByteSource& source, const std::string& name, const ReadLimits& limits) {
  std::uint64_t consumed = 0;
  NpyHeader header = read_header(source, name, consumed);
  const Element element = parse_descr(header.descr, name);

  const auto count = checked_product(header.shape);
  const auto stored = count ? checked_multiply(*count, element.stored_size) : std::nullopt;
  const auto decoded = count ? checked_multiply(*count, element.decoded_size) : std::nullopt;
  if (!stored || !decoded)
    fail_file(name, fmt::format("shape {} is larger than any memory", shape_to_string(header.shape)));
  if (*decoded > limits.max_bytes) {
    fail_file(name, fmt::format("shape {} and dtype {} need {} bytes of memory; at most {} are allowed",
                                shape_to_string(header.shape), quote_name(header.descr), *decoded, limits.max_bytes));
  }
  const std::uint64_t found = source.size - std::min<std::uint64_t>(source.size, consumed);
  if (*stored != found) {
    fail_file(name, fmt::format("shape {} and dtype {} need {} bytes after the header, found {}: the file is {}",
                                shape_to_string(header.shape), quote_name(header.descr), *stored, found,
                                found < *stored ? "truncated; copy it again" : "damaged, or holds several arrays"));
  }
  // Zero-width text would let a tiny file request any number of strings.
  if (element.dtype == DType::kUnicode && element.stored_size == 0 && *count > 0)
    fail_file(name, "expected text of at least one character, found dtype " + quote_name(header.descr));

  std::vector<std::byte> bytes(*stored);
  read_exactly(source, bytes, name);
  std::byte extra{};
  if (source.read(std::span(&extra, 1)) != 0) fail_file(name, "holds more bytes than its header claims: it is damaged");

  swap_bytes(bytes, element.swap_size);
  if (header.fortran_order && header.shape.size() > 1 && *count > 0)
    bytes = from_fortran_order(bytes, header.shape, element.stored_size);

  Array array;
  array.dtype = element.dtype;
  array.shape = std::move(header.shape);
  if (element.dtype == DType::kUnicode) {
    array.strings = (element.text_in_bytes ? text_of_bytes : decode_text)(bytes, *count, name);
  } else if (element.widen_unsigned) {
    array.bytes = widen_unsigned(bytes, element.stored_size, name);
  } else {
    array.bytes = std::move(bytes);
  }
  return array;
}

NpyBytes serialize_npy(const Array& array) {
  const std::size_t count = element_count(array.shape);
  NpyBytes out;
  std::string descr;
  if (array.dtype == DType::kUnicode) {
    if (array.strings.size() != count) {
      fail_with(ErrorKind::kOther, "an array of shape {} needs {} strings, found {}", shape_to_string(array.shape),
                count, array.strings.size());
    }
    std::vector<std::u32string> decoded;
    decoded.reserve(count);
    std::size_t width = 1;  // as NumPy, which has no zero-width text
    for (const std::string& text : array.strings) {
      decoded.push_back(decode_utf8(text));
      width = std::max(width, decoded.back().size());
    }
    descr = fmt::format("<U{}", width);
    out.converted.resize(count * width * 4);
    for (std::size_t i = 0; i < count; ++i)
      std::memcpy(out.converted.data() + i * width * 4, decoded[i].data(), decoded[i].size() * 4);
  } else {
    if (array.bytes.size() != count * dtype_size(array.dtype)) {
      fail_with(ErrorKind::kOther, "an array of shape {} and dtype {} needs {} bytes, found {}",
                shape_to_string(array.shape), dtype_name(array.dtype), count * dtype_size(array.dtype),
                array.bytes.size());
    }
    const DTypeRow& stored = dtype_row(array.dtype == DType::kBF16 ? DType::kF32 : array.dtype);
    descr = fmt::format("{}{}{}", stored.size == 1 ? '|' : '<', stored.npy_kind, stored.size);
    if (array.dtype == DType::kBF16) {
      out.converted.resize(count * sizeof(float));
      for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, array.bytes.data() + i * sizeof bits, sizeof bits);
        const float value = bfloat16_to_float(bits);
        std::memcpy(out.converted.data() + i * sizeof value, &value, sizeof value);
      }
    }
  }
  const bool converted = array.dtype == DType::kUnicode || array.dtype == DType::kBF16;
  out.data = converted ? std::span<const std::byte>(out.converted) : std::span<const std::byte>(array.bytes);

  std::string shape;
  for (const std::size_t extent : array.shape) shape += fmt::format("{}, ", extent);
  if (array.shape.size() > 1) shape.resize(shape.size() - 2);  // "(3, 4)", but "(3,)"
  if (array.shape.size() == 1) shape.resize(shape.size() - 1);
  std::string dict = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", descr, shape);
  constexpr std::size_t kPrefix = 10;  // magic, version, length
  const std::size_t unpadded = kPrefix + dict.size() + 1;
  const std::size_t padding = (kHeaderAlignment - unpadded % kHeaderAlignment) % kHeaderAlignment;
  dict.append(padding, ' ');
  dict.push_back('\n');
  // At most kMaxRank dimensions of 20 digits: version 1's 16-bit length is enough.
  if (array.shape.size() > kMaxNpyRank)
    fail_with(ErrorKind::kOther, "expected at most {} dimensions, found {}", kMaxNpyRank, array.shape.size());
  out.header.append(kNpyMagic);
  out.header.push_back('\x01');
  out.header.push_back('\x00');
  out.header.push_back(static_cast<char>(static_cast<unsigned char>(dict.size() & 0xFF)));
  out.header.push_back(static_cast<char>(static_cast<unsigned char>(dict.size() >> 8)));
  out.header += dict;
  return out;
}

}  // namespace attnflow::internal
