#include "attnflow/report/compact_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace attnflow::internal {
namespace {

constexpr int kSteps = 254;
constexpr unsigned kPayload = 7;   // bits of a varint's byte
constexpr unsigned kMore = 0x80U;  // set when another byte follows

void append_varint(std::size_t value, std::vector<std::uint8_t>& out) {
  for (; value >= kMore; value >>= kPayload) out.push_back(static_cast<std::uint8_t>((value & (kMore - 1U)) | kMore));
  out.push_back(static_cast<std::uint8_t>(value));
}

// Returns nothing if the varint is longer than `longest` bytes.
std::optional<std::size_t> read_varint(std::span<const std::uint8_t> bytes, std::size_t longest, std::size_t& at) {
  std::size_t value = 0;
  for (std::size_t i = 0; i < longest && at < bytes.size(); ++i) {
    const std::uint8_t byte = bytes[at++];
    value |= static_cast<std::size_t>(byte & (kMore - 1U)) << (kPayload * i);
    if ((byte & kMore) == 0) return value;
  }
  return std::nullopt;
}

// 12 significant bits suffice for the codes and compress better than 24.
float short_float(double value) {
  constexpr double kSteps12 = 4096.0;
  constexpr float kMost = std::numeric_limits<float>::max();
  if (!(value < static_cast<double>(kMost) / 2.0)) return value > 0.0 ? kMost : 0.0F;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return static_cast<float>(std::ldexp(std::nearbyint(fraction * kSteps12), exponent - 12));
}

bool is_sound(float value) { return value >= 0.0F && value <= std::numeric_limits<float>::max(); }

}  // namespace

LogCodes::LogCodes(double decades) : decades_(decades) {
  assert(decades > 0.0 && decades <= kMaxDecades);
  for (int c = 1; c <= kSteps + 1; ++c) {
    const auto index = static_cast<std::size_t>(c);
    fractions_[index] = std::pow(10.0, -decades * (kSteps + 1 - c) / kSteps);
    beginnings_[index] = std::pow(10.0, -decades * (kSteps + 1 - c + 0.5) / kSteps);
  }
  beginnings_[1] = fractions_[1] / 2.0;  // nearer to code 1 than to 0
}

std::uint8_t LogCodes::code(double value, float scale) const {
  const double fraction = value / static_cast<double>(scale);
  if (!(fraction > 0.0 && std::isfinite(value))) return 0;
  const auto above = std::upper_bound(beginnings_.begin() + 1, beginnings_.end(), fraction);
  return static_cast<std::uint8_t>(above - beginnings_.begin() - 1);
}

double LogCodes::error() const { return std::pow(10.0, decades_ / (2.0 * kSteps)) - 1.0; }

float row_scale(std::span<const double> row) {
  double largest = 0.0;
  for (const double value : row) {
    if (value > largest && value <= static_cast<double>(std::numeric_limits<float>::max())) largest = value;
  }
  return static_cast<float>(largest);
}

double append_top_row(std::span<const double> row, const TopRule& rule, const LogCodes& codes, TopRows& rows) {
  constexpr std::size_t kMaxKept = std::numeric_limits<std::uint16_t>::max();
  const float scale = short_float(static_cast<double>(row_scale(row)));
  const double smallest = static_cast<double>(scale) * codes.fraction(1);
  const auto keepable = [&](double value) { return value > 0.0 && value >= smallest && std::isfinite(value); };
  double sum = 0.0;
  std::size_t candidates = 0;
  for (const double value : row) {
    if (!(value > 0.0 && std::isfinite(value))) continue;
    sum += value;
    if (keepable(value)) ++candidates;
  }
  rows.scales.push_back(scale);
  if (scale == 0.0F || candidates == 0) {
    rows.counts.push_back(0);
    rows.rest.push_back(short_float(sum));
    return sum > 0.0 ? 0.0 : 1.0;
  }

  // Keep all values above the border, and values equal to it while there is room.
  double border = std::max(smallest, rule.share * sum);
  std::size_t kept = 0;
  for (const double value : row) {
    if (keepable(value) && value >= border) ++kept;
  }
  const std::size_t wanted = std::clamp(kept, std::min(rule.least, candidates), kMaxKept);
  std::size_t at_border = kept;
  if (wanted != kept) {
    std::vector<double> values;
    values.reserve(candidates);
    for (const double value : row) {
      if (keepable(value)) values.push_back(value);
    }
    if (wanted == 0) {
      border = std::numeric_limits<double>::infinity();
      at_border = 0;
    } else {
      const auto last = values.begin() + static_cast<std::ptrdiff_t>(wanted - 1);
      std::nth_element(values.begin(), last, values.end(), std::greater<>());
      border = *last;
      at_border =
          wanted - static_cast<std::size_t>(std::count_if(values.begin(), last, [&](double v) { return v > border; }));
    }
  }

  double rest = 0.0;
  std::size_t count = 0;
  std::size_t next = 0;
  for (std::size_t j = 0; j < row.size(); ++j) {
    const double value = row[j];
    if (!(value > 0.0 && std::isfinite(value))) continue;
    bool keep = keepable(value) && value >= border;
    if (keep && value == border) keep = at_border > 0;
    if (!keep) {
      rest += value;
      continue;
    }
    if (value == border) --at_border;
    append_varint(j - next, rows.columns);
    rows.codes.push_back(codes.code(value, scale));
    next = j + 1;
    ++count;
  }
  rows.counts.push_back(static_cast<std::uint16_t>(count));
  rows.rest.push_back(short_float(rest));
  return (sum - rest) / sum;
}

std::size_t max_column_bytes(std::size_t n) {
  std::size_t bytes = 1;
  for (std::size_t left = n >> kPayload; left > 0; left >>= kPayload) ++bytes;
  return bytes;
}

std::optional<TopProblem> expand_top_rows(const TopRows& rows, const LogCodes& codes, std::size_t count, std::size_t n,
                                          const VisibleColumns& visible, const RowSink& sink) {
  for (const auto& [name, size] : {std::pair{"counts", rows.counts.size()}, std::pair{"scales", rows.scales.size()},
                                   std::pair{"rest", rows.rest.size()}}) {
    if (size != count) return TopProblem{name, fmt::format("{} rows", count), std::to_string(size)};
  }
  const std::size_t longest = max_column_bytes(n);
  std::vector<double> row(n);
  std::size_t next_code = 0;
  std::size_t next_byte = 0;
  for (std::size_t r = 0; r < count; ++r) {
    if (!is_sound(rows.scales[r])) {
      return TopProblem{"scales", "numbers of at least 0", std::to_string(rows.scales[r])};
    }
    if (!is_sound(rows.rest[r])) return TopProblem{"rest", "numbers of at least 0", std::to_string(rows.rest[r])};
    const std::size_t kept = rows.counts[r];
    if (kept > n) return TopProblem{"counts", fmt::format("at most {} values in a row", n), std::to_string(kept)};
    if (kept > rows.codes.size() - next_code) {
      return TopProblem{"codes", fmt::format("at least {} codes", next_code + kept), std::to_string(rows.codes.size())};
    }
    std::fill(row.begin(), row.end(), -1.0);
    const std::size_t seen = std::min(visible(r), n);
    std::size_t open = seen;  // visible columns that are not kept
    std::size_t next = 0;     // the smallest column that may follow
    for (std::size_t k = 0; k < kept; ++k) {
      const std::optional<std::size_t> skipped = read_varint(rows.columns, longest, next_byte);
      if (!skipped)
        return TopProblem{"columns", fmt::format("varints of at most {} bytes", longest), "one that does not end"};
      if (next >= n || *skipped >= n - next) {
        return TopProblem{"columns", fmt::format("columns below {}", n),
                          fmt::format("one {} after {}", *skipped, next)};
      }
      const std::size_t column = next + *skipped;
      row[column] = codes.value(rows.codes[next_code++], rows.scales[r]);
      if (column < seen) --open;
      next = column + 1;
    }
    const double other = open > 0 ? static_cast<double>(rows.rest[r]) / static_cast<double>(open) : 0.0;
    for (std::size_t j = 0; j < n; ++j) {
      if (row[j] < 0.0) row[j] = j < seen ? other : 0.0;
    }
    sink(r, row);
  }
  if (next_code != rows.codes.size()) {
    return TopProblem{"codes", fmt::format("{} codes", next_code), std::to_string(rows.codes.size())};
  }
  if (next_byte != rows.columns.size()) {
    return TopProblem{"columns", fmt::format("{} bytes", next_byte), std::to_string(rows.columns.size())};
  }
  return std::nullopt;
}

}  // namespace attnflow::internal
