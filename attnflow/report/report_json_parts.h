// Pieces of the report document as JSON, shared by its writers; not part of the library's interface.
#ifndef ATTNFLOW_REPORT_REPORT_JSON_PARTS_H_
#define ATTNFLOW_REPORT_REPORT_JSON_PARTS_H_

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attnflow/attribution/note.h"
#include "attnflow/base/base64.h"
#include "attnflow/files/half.h"
#include "attnflow/report/report.h"
#include "attnflow/report/report_array_table.h"
#include "attnflow/report/report_fields.h"
#include "attnflow/report/report_json.h"
#include "attnflow/tensor/tensor.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {

using Json = nlohmann::ordered_json;

// The same text, one '?' for each byte that is not UTF-8: ranges of tokens stay what they are.
inline std::string valid_utf8(std::string_view text) { return repair_utf8(text, "?"); }

// Appends `"name": value` to an object whose text so far is `out`, escaped so that it can stand inside a <script>
// element.
void append_field(std::string& out, std::string_view name, const Json& value);

Json settings_json(const Settings& settings);
// As documents of evaluations have it.
Json named_model_json(const ReportModel& model);

// A value of a document: a number, a text, a method, an object with its fields (report_fields.h), or a list of them.
template <typename T>
Json json_of(const T& value);
template <typename T>
Json json_of(const std::vector<T>& values) {
  Json list = Json::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}

class FieldWriter {
 public:
  template <typename T>
  void operator()(const char* name, const T& value) {
    json[name] = json_of(value);
  }
  template <typename T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value) json[name] = json_of(*value);
  }
  template <typename T>
  void required(const char* name, const T& value) {
    json[name] = json_of(value);
  }
  template <typename Fields>
  void object(const char* name, const Fields& fields) {
    FieldWriter inner;
    fields(inner);
    json[name] = std::move(inner.json);
  }
  template <typename Arc, typename Value>
  void arcs(const char* name, const std::vector<Arc>& arcs, Value Arc::*value) {
    Json& list = json[name] = Json::array();
    for (const Arc& arc : arcs) list.push_back(Json::array({arc.layer, arc.from, arc.to, arc.*value}));
  }
  void derived(const char* name, const auto& make) { json[name] = json_of(make()); }
  static bool has(const char*, bool written) { return written; }

  Json json = Json::object();
};

template <typename T>
Json json_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return value;
  } else if constexpr (std::is_same_v<T, std::string>) {
    return valid_utf8(value);
  } else if constexpr (std::is_same_v<T, Method>) {
    return to_text(value);
  } else {
    FieldWriter writer;
    fields(writer, value);
    return std::move(writer.json);
  }
}

// All of a document but its arrays: an object that is still open. Notes are added to the report's own.
std::string report_head(const Report& report, const std::vector<Note>& more_notes = {});

// Stored words of `values`, converted piece by piece so that no second copy of a large array is made.
template <typename Stored, typename T, typename Convert>
void append_converted(std::string& out, std::span<const T> values, Convert convert) {
  constexpr std::size_t kPiece = 3 * 1024;  // elements; a multiple of 3, as base64_append asks
  std::vector<Stored> piece;
  for (std::size_t begin = 0; begin < values.size(); begin += kPiece) {
    piece.clear();
    for (const T value : values.subspan(begin, std::min(kPiece, values.size() - begin))) {
      piece.push_back(convert(value));
    }
    base64_append(out, std::as_bytes(std::span(piece)));
  }
}

class ArrayWriter {
 public:
  ArrayWriter(std::string& out, const ReportJsonOptions& options) : out_(out), options_(options) {}

  template <typename T>
  void write(std::string_view name, const Tensor<T>& array) {
    static_assert(std::endian::native == std::endian::little, "arrays are stored in memory order");
    if (array.empty() || std::find(options_.omit.begin(), options_.omit.end(), name) != options_.omit.end()) return;
    const bool integer = std::is_same_v<T, std::uint8_t>;
    const ReportArrayType type = options_.array_type;
    const bool half = !integer && type == ReportArrayType::kF16;
    const bool narrow = std::is_same_v<T, double> && type == ReportArrayType::kF32;
    const char* dtype = integer ? "u8" : half ? "f16" : narrow || std::is_same_v<T, float> ? "f32" : "f64";
    out_ += first_ ? "\n" : ",\n";
    first_ = false;
    out_ += '"';
    out_ += name;
    out_ += "\":{\"shape\":" + Json(array.shape()).dump() + ",\"dtype\":\"" + dtype +
            "\",\"encoding\":\"base64\",\"data\":\"";
    if (half) {
      append_converted<std::uint16_t>(out_, array.span(),
                                      [](T value) { return float_to_half(static_cast<double>(value)); });
    } else if (narrow) {
      append_converted<float>(out_, array.span(), [](T value) { return static_cast<float>(value); });
    } else {
      base64_append(out_, std::as_bytes(array.span()));
    }
    out_ += "\"}";
  }

 private:
  std::string& out_;
  const ReportJsonOptions& options_;
  bool first_ = true;
};

}  // namespace attnflow::internal

#endif  // ATTNFLOW_REPORT_REPORT_JSON_PARTS_H_
