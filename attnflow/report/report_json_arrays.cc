#include "attnflow/report/report_json_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <type_traits>

#include "attnflow/base/available_memory.h"
#include "attnflow/base/base64.h"
#include "attnflow/base/checked_size.h"
#include "attnflow/files/half.h"
#include "attnflow/report/compact_rows.h"
#include "attnflow/report/report_array_table.h"
#include "attnflow/report/zlib_bytes.h"

namespace attnflow::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are stored in memory order");

std::string quoted(const std::string& text) { return '"' + text.substr(0, 40) + '"'; }

// The remaining allowance: a few compact bytes can stand for any amount of memory.
class Allowance {
 public:
  explicit Allowance(std::size_t bytes) : limit_(bytes) {}

  void take(const std::string& path, std::size_t count, std::size_t element) {
    if (!asked_) {  // plain documents need not ask the system
      limit_ = std::min(limit_, available_memory().value_or(limit_));
      asked_ = true;
    }
    const std::optional<std::size_t> bytes = checked_multiply(count, element);
    if (!bytes || *bytes > limit_ - taken_) {
      report_problem(path, fmt::format("arrays of at most {} bytes, uncompressed", limit_), "more");
    }
    taken_ += *bytes;
  }

 private:
  std::size_t limit_;
  std::size_t taken_ = 0;
  bool asked_ = false;
};

bool is_compressed(const Field& json) {
  const std::string& encoding = json.at("encoding").string();
  if (encoding != "base64" && encoding != "zlib+base64") {
    report_problem(json.path() + ".encoding", "\"base64\" or \"zlib+base64\"", quoted(encoding));
  }
  return encoding == "zlib+base64";
}

// Decodes base64 of unknown length.
std::vector<std::byte> decode_all(const Field& data) {
  const std::string& code = data.string();
  const std::size_t padding = code.ends_with("==") ? 2 : code.ends_with('=') ? 1 : 0;
  std::vector<std::byte> bytes(code.size() % 4 == 0 ? code.size() / 4 * 3 - padding : 0);
  if (code.size() % 4 != 0 || !base64_decode(code, bytes)) {
    report_problem(data.path(), "base64 (RFC 4648, padded, no spaces)", "other characters or wrong padding");
  }
  return bytes;
}

// Returns `least` to `most` bytes of "data"; the caller bounds both.
std::vector<std::byte> read_bytes(const Field& json, std::size_t least, std::size_t most) {
  const Field data = json.at("data");
  const std::string expected =
      least == most ? fmt::format("{} bytes", least) : fmt::format("{} to {} bytes", least, most);
  if (is_compressed(json)) {
    auto bytes = zlib_uncompress(decode_all(data), least, most);
    if (!bytes) report_problem(data.path(), "a zlib stream of " + expected, "another length or damaged data");
    return *std::move(bytes);
  }
  const std::size_t found = data.string().size();
  if (found < base64_size(least) || found > base64_size(most)) {
    report_problem(data.path(), fmt::format("base64 of {}", expected), fmt::format("{} characters", found));
  }
  std::vector<std::byte> bytes = decode_all(data);
  if (bytes.size() < least || bytes.size() > most) {
    report_problem(data.path(), expected, fmt::format("{} bytes", bytes.size()));
  }
  return bytes;
}

template <typename T>
std::vector<T> as_words(const std::vector<std::byte>& bytes) {
  std::vector<T> words(bytes.size() / sizeof(T));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(T));
  return words;
}

template <typename T>
std::vector<T> read_part(const Field& array, const char* name, const char* dtype, std::size_t least, std::size_t most) {
  const Field part = array.at(name);
  if (part.at("dtype").string() != dtype) {
    report_problem(part.path() + ".dtype", '"' + std::string(dtype) + '"', quoted(part.at("dtype").string()));
  }
  return as_words<T>(read_bytes(part, least * sizeof(T), most * sizeof(T)));
}

template <typename T>
std::vector<T> read_part(const Field& array, const char* name, const char* dtype, std::size_t count) {
  return read_part<T>(array, name, dtype, count, count);
}

LogCodes read_log_codes(const Field& array) {
  double decades = 0.0;
  array.at("decades").get(decades);
  if (!(decades > 0.0 && decades <= LogCodes::kMaxDecades)) {
    report_problem(array.path() + ".decades", fmt::format("a number above 0, at most {}", LogCodes::kMaxDecades),
                   std::to_string(decades));
  }
  return LogCodes(decades);
}

struct RowShape {
  std::size_t rows = 0;
  std::size_t n = 0;
};

template <typename T>
std::vector<T> read_log8(const Field& array, const RowShape& shape) {
  const LogCodes codes = read_log_codes(array);
  const std::size_t count = shape.rows * shape.n;
  const std::vector<std::byte> bytes = read_bytes(array, count, count);
  const std::vector<float> scales = read_part<float>(array, "scales", "f32", shape.rows);
  std::vector<T> values;
  values.reserve(count);
  for (std::size_t r = 0; r < shape.rows; ++r) {
    if (!(scales[r] >= 0.0F && std::isfinite(scales[r]))) {
      report_problem(array.path() + ".scales", "numbers of at least 0", std::to_string(scales[r]));
    }
    for (std::size_t j = 0; j < shape.n; ++j) {
      const auto code = std::to_integer<std::uint8_t>(bytes[r * shape.n + j]);
      values.push_back(static_cast<T>(codes.value(code, scales[r])));
    }
  }
  return values;
}

template <typename T>
std::vector<T> read_top(const Field& array, const RowShape& shape, const VisibleColumns& visible) {
  const LogCodes codes = read_log_codes(array);
  TopRows rows;
  rows.counts = read_part<std::uint16_t>(array, "counts", "u16", shape.rows);
  rows.scales = read_part<float>(array, "scales", "f32", shape.rows);
  rows.rest = read_part<float>(array, "rest", "f32", shape.rows);
  std::size_t kept = 0;
  for (const std::uint16_t count : rows.counts) {
    // Also keeps the sum below the number of values, which the caller bounds.
    if (count > shape.n) {
      report_problem(array.path() + ".counts", fmt::format("at most {} values in a row", shape.n),
                     std::to_string(count));
    }
    kept += count;
  }
  rows.codes = read_part<std::uint8_t>(array, "codes", "u8", kept);
  rows.columns = read_part<std::uint8_t>(array, "columns", "u8", kept, kept * max_column_bytes(shape.n));
  std::vector<T> values;
  values.reserve(shape.rows * shape.n);
  const auto problem =
      expand_top_rows(rows, codes, shape.rows, shape.n, visible, [&](std::size_t, std::span<const double> row) {
        for (const double value : row) values.push_back(static_cast<T>(value));
      });
  if (problem) report_problem(array.path() + '.' + problem->part, problem->expected, problem->found);
  return values;
}

// Reads little-endian words, converting from a narrower stored type.
template <typename Stored, typename T>
std::vector<T> read_plain(const Field& array, std::size_t count, Allowance& allowance) {
  if (is_compressed(array)) allowance.take(array.path(), count, sizeof(Stored));
  const std::vector<Stored> stored =
      as_words<Stored>(read_bytes(array, count * sizeof(Stored), count * sizeof(Stored)));
  if constexpr (std::is_same_v<Stored, T>) {
    return stored;
  } else {
    std::vector<T> values;
    values.reserve(count);
    for (const Stored word : stored) {
      if constexpr (std::is_same_v<Stored, std::uint16_t>) {
        values.push_back(static_cast<T>(half_to_float(word)));
      } else {
        values.push_back(static_cast<T>(word));
      }
    }
    return values;
  }
}

// Approximate arrays have a row of exact values.
enum class Found { kNothing, kPlain, kApproximate };

template <typename T>
Found read_array(const Field& arrays, const std::string& name, const Shape& expected, const VisibleColumns& visible,
                 Allowance& allowance, Tensor<T>& out) {
  const std::optional<Field> json = arrays.find(name.c_str());
  if (!json) return Found::kNothing;
  Shape shape;
  json->at("shape").get(shape);
  if (shape != expected) report_problem(json->path() + ".shape", shape_to_string(expected), shape_to_string(shape));
  const std::optional<std::size_t> count = checked_product(shape);
  // Leaves room in the address space for 8-byte elements and their encoded length.
  if (!count || *count > std::numeric_limits<std::size_t>::max() / 16) {
    report_problem(json->path() + ".shape", "an array that fits in memory", shape_to_string(shape));
  }
  const std::string& dtype = json->at("dtype").string();
  std::vector<T> values;
  Found found = Found::kPlain;
  if constexpr (std::is_same_v<T, std::uint8_t>) {
    if (dtype != "u8") report_problem(json->path() + ".dtype", "\"u8\"", quoted(dtype));
    values = read_plain<std::uint8_t, T>(*json, *count, allowance);
  } else if (dtype == "log8" || dtype == "top") {
    found = Found::kApproximate;
    if (*count > 0) {
      allowance.take(json->path(), *count, sizeof(T) + 1);
      const RowShape rows{*count / shape.back(), shape.back()};
      values = dtype == "log8" ? read_log8<T>(*json, rows) : read_top<T>(*json, rows, visible);
    }
  } else if (dtype == "f32") {
    values = read_plain<float, T>(*json, *count, allowance);
  } else if (dtype == "f16") {
    values = read_plain<std::uint16_t, T>(*json, *count, allowance);
  } else if (std::is_same_v<T, double> && dtype == "f64") {
    values = read_plain<double, T>(*json, *count, allowance);
  } else {
    report_problem(json->path() + ".dtype",
                   std::is_same_v<T, double> ? "\"f64\", \"f32\", \"f16\", \"log8\" or \"top\""
                                             : "\"f32\", \"f16\", \"log8\" or \"top\"",
                   quoted(dtype));
  }
  if (!values.empty()) out = Tensor<T>(std::move(shape), std::move(values));
  return found;
}

}  // namespace

void read_report_arrays(const Field& arrays, const ReportReadOptions& options, Report& report) {
  Allowance allowance(options.max_array_bytes);
  const std::size_t m = report.input.tokens.size();
  for_each_array(report, [&](const std::string& name, auto& values, const ArrayPlace& place) {
    if (place.shape.back() == 0) return;
    const bool generated = name.ends_with("_generated");
    const VisibleColumns visible = [&](std::size_t row) {
      const std::size_t columns = place.shape.back();
      if (!report.model.causal || place.rows == ArrayPlace::Rows::kWhole || place.rows == ArrayPlace::Rows::kExact) {
        return columns;
      }
      const std::size_t position = place.rows == ArrayPlace::Rows::kOutputs
                                       ? (*place.output_tokens)[row % place.output_tokens->size()]
                                       : row % columns;
      return generated ? position + 1 - m : std::min(position + 1, columns);
    };
    const Found found = read_array(arrays, name, place.shape, visible, allowance, values);
    if constexpr (std::is_same_v<std::decay_t<decltype(values)>, Tensor<double>>) {
      // Exact values replace the approximate row.
      const bool has_exact = name == "raw" || name == "rollout" || name == "flow";
      if (found != Found::kApproximate || !has_exact) return;
      const std::optional<std::size_t> row = row_index(*place.output_tokens, report.output_token);
      if (!row) return;
      Tensor<double> exact;
      const std::size_t layers = place.shape[0];
      read_array(arrays, name + "_exact", {layers, m}, visible, allowance, exact);
      if (exact.empty() || values.empty()) return;
      for (std::size_t l = 0; l < layers; ++l) {
        std::copy_n(exact.data() + l * m, m, values.data() + (l * place.output_tokens->size() + *row) * m);
      }
    }
  });
  if (!arrays.find("graph") && graph_equals_raw_by_rule(report)) report.graph = report.raw;
}

}  // namespace attnflow::internal
