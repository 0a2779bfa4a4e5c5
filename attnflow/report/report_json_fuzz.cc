// Fuzz target: the report reader on any bytes, and on documents whose compact arrays hold any bytes. Built by ./dev
// fuzz.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "attnflow/base/base64.h"
#include "attnflow/base/error.h"
#include "attnflow/report/report_json.h"

namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 20;

void read(std::string_view json) {
  attnflow::ReportReadOptions options;
  options.max_array_bytes = kMaxBytes;
  try {
    const attnflow::Report report = attnflow::report_from_json(json, options);
    attnflow::report_from_json(attnflow::report_to_json(report), options);
  } catch (const attnflow::Error& error) {
    if (error.kind() != attnflow::ErrorKind::kBadFile) __builtin_trap();
  }
}

std::string part(std::span<const std::byte>& bytes, std::size_t size, const char* dtype, bool packed) {
  const std::span<const std::byte> taken = bytes.first(std::min(size, bytes.size()));
  bytes = bytes.subspan(taken.size());
  std::string code;
  attnflow::base64_append(code, taken);
  return std::string("{\"dtype\":\"") + dtype + "\",\"encoding\":\"" + (packed ? "zlib+base64" : "base64") +
         "\",\"data\":\"" + code + "\"}";
}

// Two tokens, one layer: the first byte selects compression, later ones the parts' lengths.
std::string document(std::span<const std::byte> bytes) {
  const auto next = [&] {
    if (bytes.empty()) return std::size_t{0};
    const auto value = std::to_integer<std::size_t>(bytes.front());
    bytes = bytes.subspan(1);
    return value;
  };
  const std::size_t packed = next();
  const std::size_t counts = next() % 16, columns = next() % 64, codes = next() % 64, scales = next() % 32;
  std::string json =
      R"({"format":"attnflow-report","version":2,"settings":{"layers":[1]},"model":{"layers":1,"heads":1},)"
      R"("input":{"tokens":[{"text":"a"},{"text":"b"}]},"output_tokens":[0,1],"arrays":{"raw":{"shape":)"
      R"([1,2,2],"dtype":"top","decades":5,"counts":)";
  json += part(bytes, counts, "u16", (packed & 1U) != 0) + ",\"columns\":";
  json += part(bytes, columns, "u8", (packed & 2U) != 0) + ",\"codes\":";
  json += part(bytes, codes, "u8", (packed & 4U) != 0) + ",\"scales\":";
  json += part(bytes, scales, "f32", (packed & 8U) != 0) + ",\"rest\":";
  json += part(bytes, bytes.size(), "f32", (packed & 16U) != 0) + "}}}";
  return json;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read({reinterpret_cast<const char*>(data), size});
  read(document(std::as_bytes(std::span(data, size))));
  return 0;
}
