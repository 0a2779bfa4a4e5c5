// Fuzz target: any bytes as a table of comma-separated values. Built by ./dev fuzz.
#include <cstddef>
#include <cstdint>
#include <string>

#include "attnflow/analysis/evaluate/csv_reader.h"
#include "attnflow/base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const std::string content =
        attnflow::check_utf8_text(std::string(reinterpret_cast<const char*>(data), size), "fuzz.csv");
    attnflow::CsvReader reader(content, "fuzz.csv");
    std::size_t line = 0;
    while (!reader.done()) {
      const attnflow::CsvRow row = reader.next();
      if (row.line <= line || row.cells.empty()) __builtin_trap();
      line = row.line;
    }
  } catch (const attnflow::Error&) {
  }
  return 0;
}
