#include "attnflow/report/compact_array.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "attnflow/base/base64.h"
#include "attnflow/report/zlib_bytes.h"

namespace attnflow::internal {
namespace {

static_assert(std::endian::native == std::endian::little, "arrays are stored in memory order");

std::string shape_json(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

std::string data_json(std::span<const std::byte> bytes) {
  const std::vector<std::byte> packed = zlib_compress(bytes);
  const bool smaller = packed.size() < bytes.size();
  std::string json = smaller ? R"("encoding":"zlib+base64","data":")" : R"("encoding":"base64","data":")";
  base64_append(json, smaller ? std::span<const std::byte>(packed) : bytes);
  return json + '"';
}

template <typename T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// The error is rounded up.
std::string log_fields(const RowSource& source, const char* dtype, const LogCodes& codes) {
  constexpr double kPlaces = 1e4;
  return fmt::format(R"({{"shape":{},"dtype":"{}","decades":{},"error":{},)", shape_json(source.shape()), dtype,
                     codes.decades(), std::ceil(codes.error() * kPlaces) / kPlaces);
}

bool has_undefined(std::span<const double> row) {
  return !std::all_of(row.begin(), row.end(),
                      [](double value) { return value >= 0.0 && value <= std::numeric_limits<double>::max(); });
}

CompactArray encode_float32(const RowSource& source, const RowSample& sample) {
  std::vector<float> values;
  std::vector<double> scratch;
  for (std::size_t r = 0; r < source.rows(); ++r) {
    if (!sample.takes(r)) continue;
    for (const double value : source.row(r, scratch)) values.push_back(static_cast<float>(value));
  }
  return {.json = encode_bytes("f32", bytes_of(values), &source.shape())};
}

CompactArray encode_log8(const RowSource& source, const RowSample& sample) {
  const LogCodes codes;
  CompactArray array;
  std::vector<std::uint8_t> code_bytes;
  std::vector<float> scales;
  std::vector<double> scratch;
  code_bytes.reserve(sample.taken_of(source.rows()) * source.row_length());
  for (std::size_t r = 0; r < source.rows(); ++r) {
    if (!sample.takes(r)) continue;
    const std::span<const double> row = source.row(r, scratch);
    const float scale = row_scale(row);
    scales.push_back(scale);
    for (const double value : row) code_bytes.push_back(scale > 0.0F ? codes.code(value, scale) : std::uint8_t{0});
    array.undefined = array.undefined || has_undefined(row);
  }
  array.json = log_fields(source, "log8", codes) + data_json(bytes_of(code_bytes)) +
               ",\"scales\":" + encode_bytes("f32", bytes_of(scales)) + "}";
  return array;
}

CompactArray encode_top(const RowSource& source, const TopRule& rule, const RowSample& sample) {
  const LogCodes codes;
  CompactArray array;
  TopRows rows;
  std::vector<double> scratch;
  double sum = 0.0;
  std::size_t count = 0;
  for (std::size_t r = 0; r < source.rows(); ++r) {
    if (!sample.takes(r)) continue;
    const std::span<const double> row = source.row(r, scratch);
    const double share = append_top_row(row, rule, codes, rows);
    sum += share;
    ++count;
    array.least_share = std::min(array.least_share, share);
    array.undefined = array.undefined || has_undefined(row);
  }
  if (count > 0) array.mean_share = sum / static_cast<double>(count);
  array.json = log_fields(source, "top", codes) + "\"counts\":" + encode_bytes("u16", bytes_of(rows.counts)) +
               ",\"columns\":" + encode_bytes("u8", bytes_of(rows.columns)) +
               ",\"codes\":" + encode_bytes("u8", bytes_of(rows.codes)) +
               ",\"scales\":" + encode_bytes("f32", bytes_of(rows.scales)) +
               ",\"rest\":" + encode_bytes("f32", bytes_of(rows.rest)) + "}";
  return array;
}

}  // namespace

std::size_t RowSample::taken_of(std::size_t rows) const {
  const std::size_t period = kBlock * every;
  const std::size_t begin = every / 2 * kBlock;  // the block's place in a period
  const std::size_t rest = rows % period;
  return rows / period * kBlock + (rest > begin ? std::min(rest - begin, kBlock) : 0);
}

std::span<const double> RowSource::row(std::size_t index, std::vector<double>& scratch) const {
  if (const auto* doubles = std::get_if<const Tensor<double>*>(&values_)) {
    return (*doubles)->span().subspan(index * row_length(), row_length());
  }
  const float* const data = std::get<const Tensor<float>*>(values_)->data() + index * row_length();
  scratch.assign(data, data + row_length());
  return scratch;
}

std::string encode_bytes(const char* dtype, std::span<const std::byte> bytes, const Shape* shape) {
  std::string json = "{";
  if (shape != nullptr) json += "\"shape\":" + shape_json(*shape) + ",";
  return json + "\"dtype\":\"" + dtype + "\"," + data_json(bytes) + "}";
}

CompactArray encode_array(const RowSource& source, CompactEncoding encoding, const TopRule& rule,
                          const RowSample& sample) {
  if (encoding == CompactEncoding::kFloat32) return encode_float32(source, sample);
  return encoding == CompactEncoding::kLog8 ? encode_log8(source, sample) : encode_top(source, rule, sample);
}

}  // namespace attnflow::internal
