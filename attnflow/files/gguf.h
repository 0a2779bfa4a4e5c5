// Reading the header of a GGUF file: its metadata, and which tensors lie where. The weights are left to libllama.
//
// A GGUF file (versions 2 and 3, little-endian) is
//   "GGUF", version u32, number of tensors u64, number of metadata entries u64;
//   the entries: key, type u32, value;
//   the tensors: name, rank u32, extents u64 (the innermost first), type u32, offset u64;
//   padding up to a multiple of general.alignment (32 unless it says otherwise), and from there on the tensors' bytes,
//   each at its offset.
// Text is a u64 length and its bytes; an array is the type u32 of its elements, their number u64, and the elements.
// Specification: docs/gguf.md of the project ggml.
//
// libllama reads the same header, but some of what a damaged or hostile one may say ends the program there. So every
// count, length and offset is checked here first, against the file's size.
#ifndef ATTNFLOW_FILES_GGUF_H_
#define ATTNFLOW_FILES_GGUF_H_

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

// The numbers are the format's.
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

// An array in the metadata. What of it is kept: see GgufArrays.
struct GgufArray {
  GgufType type = GgufType::kU8;
  std::size_t count = 0;
  std::vector<std::int64_t> numbers;  // of whole numbers and bool
  std::vector<std::string> texts;     // bytes as they stand in the file, UTF-8 or not
};
inline constexpr std::size_t kMaxKeptNumbers = 4096;

// Which elements of arrays are kept. A vocabulary has 100,000 texts, which most readers do not need.
enum class GgufArrays {
  kShort,  // whole numbers in arrays of up to kMaxKeptNumbers
  kWhole,  // whole numbers and texts, however many
};

// Integers of 64 bits without sign above 2^63 - 1 are kept as double.
using GgufValue = std::variant<std::int64_t, double, bool, std::string, GgufArray>;

struct GgufTensor {
  std::string name;
  std::vector<std::size_t> extents;  // the innermost first, 1 to 4 of them
  std::uint32_t type = 0;            // of ggml: 0 float32, 1 float16, the others blocks of quantised numbers
  std::size_t offset = 0;            // from data_begin
  std::optional<std::size_t> bytes;  // nothing for types that are not in the table of gguf_block()
};

struct GgufHeader {
  std::uint32_t version = 0;
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;  // as they stand in the file
  std::size_t data_begin = 0;       // of the tensors' bytes in the file

  // Entries of a certain type; nothing when there is no such entry, or one of another type.
  std::optional<std::int64_t> number(std::string_view key) const;  // whole
  std::optional<std::string> text(std::string_view key) const;
  const GgufArray* array(std::string_view key) const;
};

// How a type of tensor is stored: `bytes` bytes for every `elements` numbers of a row. Nothing for unknown types.
struct GgufBlock {
  std::size_t elements = 1;
  std::size_t bytes = 0;
  std::string_view name = {};  // ggml's: "Q4_1"
};
std::optional<GgufBlock> gguf_block(std::uint32_t type);

// `file` is the whole file; `name` is what messages call it. Throws Error(kBadFile): another kind of file, a version
// that is not read, counts and lengths beyond the file's end, text that is no UTF-8 where it is a key or a name,
// entries or tensors that appear twice, tensors outside the file. Work is linear in the header's length; memory as
// well.
GgufHeader parse_gguf(std::span<const std::byte> file, const std::string& name, GgufArrays arrays = GgufArrays::kShort);

// Maps the file and parses its header. Throws Error(kBadFile).
GgufHeader read_gguf(const std::filesystem::path& file);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_FILES_GGUF_H_
