// Reads the header of a GGUF file: its metadata and the layout of its tensors. The weights are left to libllama.
//
// A GGUF file (versions 2 and 3, little-endian) is
//   "GGUF", version u32, number of tensors u64, number of metadata entries u64;
//   the entries: key, type u32, value;
//   the tensors: name, rank u32, extents u64 (innermost first), type u32, offset u64;
//   padding to a multiple of general.alignment (default 32), followed by the tensors' bytes, each at its offset.
// A text is a u64 length and its bytes; an array is the type u32 of its elements, their number u64, and the elements.
// Specification: docs/gguf.md of the ggml project.
//
// libllama reads the same header, but certain values in a damaged or hostile one abort the program there. So every
// count, length and offset is first checked here against the file's size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace attnflow::internal {

// Numbered as in the format.
enum class GgufType : std::uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kText = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

// An array in the metadata. GgufArrays determines which elements are kept.
struct GgufArray {
  GgufType type = GgufType::kU8;
  std::size_t count = 0;
  std::vector<std::int64_t> numbers;  // for whole numbers and bool
  std::vector<std::string> texts;     // bytes as in the file, whether UTF-8 or not
};
inline constexpr std::size_t kMaxKeptNumbers = 4096;

// A vocabulary has 100,000 texts, which most readers do not need.
enum class GgufArrays {
  kShort,  // whole numbers in arrays of up to kMaxKeptNumbers
  kWhole,  // all whole numbers and texts
};

// Unsigned 64-bit integers above 2^63 - 1 are kept as double.
using GgufValue = std::variant<std::int64_t, double, bool, std::string, GgufArray>;

struct GgufTensor {
  std::string name;
  std::vector<std::size_t> extents;  // innermost first, 1 to 4 of them
  std::uint32_t type = 0;            // ggml's number: 0 float32, 1 float16, others are blocks of quantized numbers
  std::size_t offset = 0;            // from data_begin
  std::optional<std::size_t> bytes;  // empty for types missing from the table of gguf_block()
};

struct GgufHeader {
  std::uint32_t version = 0;
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;  // in file order
  std::size_t data_begin = 0;       // where the tensors' bytes begin in the file

  // The result is empty (or null) when there is no such entry or it has another type.
  std::optional<std::int64_t> number(std::string_view key) const;  // whole
  std::optional<std::string> text(std::string_view key) const;
  const GgufArray* array(std::string_view key) const;
};

// How a tensor type is stored: `bytes` bytes for every `elements` numbers of a row; nothing for unknown types.
struct GgufBlock {
  std::size_t elements = 1;
  std::size_t bytes = 0;
  std::string_view name = {};  // ggml's: "Q4_1"
};
std::optional<GgufBlock> gguf_block(std::uint32_t type);

// Parses `file`, the content of a whole file; messages call it `name`. Throws Error(kBadFile) for another kind of file,
// an unsupported version, counts and lengths beyond the end of the file, keys or names that are not UTF-8, duplicate
// entries or tensors, and tensors outside the file. Time and memory are linear in the header's length.
GgufHeader parse_gguf(std::span<const std::byte> file, const std::string& name, GgufArrays arrays = GgufArrays::kShort);

// Maps the file and parses its header. Throws Error(kBadFile).
GgufHeader read_gguf(const std::filesystem::path& file);

}  // namespace attnflow::internal
