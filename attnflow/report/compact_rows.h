// Rows of non-negative numbers in few bytes: logarithmic codes, and the largest values of a row with the sum of the
// rest (docs/report-format.md, "log8" and "top").
//
// Problem. Attention of 512 tokens, 12 layers and 12 heads is 38 million numbers, of which an eye tells two digits and
// of which a few in each row hold most of the mass. A page shall hold them in a few megabytes.
//
// Definition. A row has a scale s, its largest value rounded to float32, and the document a number of decades d. Code 0
// is 0; code c from 1 to 255 is s 10^(-d (255 - c) / 254), so code 255 is s and code 1 is s 10^-d. A value takes the
// code that is nearest by ratio, which is then off by at most the factor 10^(d / 508); below code 1, that of code 1 or
// 0, whichever is nearer.
//
// What is no positive finite number (0, a negative one, infinite, undefined) takes code 0.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attnflow::internal {

class LogCodes {
 public:
  static constexpr double kDecades = 5.0;       // what is written
  static constexpr double kMaxDecades = 600.0;  // what is read: beyond any float

  explicit LogCodes(double decades = kDecades);

  // The code of a value in a row of this scale. O(log 256).
  std::uint8_t code(double value, float scale) const;
  // What a code stands for in a row of scale 1.
  double fraction(std::uint8_t code) const { return fractions_[code]; }
  double value(std::uint8_t code, float scale) const { return static_cast<double>(scale) * fractions_[code]; }

  double decades() const { return decades_; }
  // The largest relative error of a value of at least scale 10^-decades: 10^(decades / 508) - 1.
  double error() const;

 private:
  double decades_;
  std::array<double, 256> fractions_{};
  std::array<double, 256> beginnings_{};  // the smallest fraction of a scale that takes this code
};

// The scale of a row: its largest finite value as float32; 0 when it has no positive one.
float row_scale(std::span<const double> row);

// Which values of a row are kept: those of at least `share` of the row's sum, and at least the `least` largest. Of
// equal values at the border the first are kept. Never those that are 0 or below scale 10^-decades.
struct TopRule {
  double share = 0.0;
  std::size_t least = 16;
};

// Rows one after another, as in the document.
struct TopRows {
  std::vector<std::uint16_t> counts;  // of kept values, for each row
  // For each row the kept columns in increasing order, as differences (the first: the column itself; then column -
  // previous - 1), each a LEB128 varint: seven bits a byte, the lowest first, the high bit set in all but the last.
  std::vector<std::uint8_t> columns;
  std::vector<std::uint8_t> codes;  // of kept values
  std::vector<float> scales;        // for each row, to 12 bits
  std::vector<float> rest;          // for each row: the sum of what is not kept, to 12 bits
};

// Appends a row of up to 2^32 columns. At most 65535 values are kept. Returns the share of the row's sum that is kept
// (1 for a row of zeros).
double append_top_row(std::span<const double> row, const TopRule& rule, const LogCodes& codes, TopRows& rows);

// The most bytes that a column below n takes.
std::size_t max_column_bytes(std::size_t n);

// What is wrong with rows that came from a file.
struct TopProblem {
  std::string part;  // "counts", "columns", ...
  std::string expected;
  std::string found;
};

// How many columns a row can see, from column 0 on: what it does not keep lies there.
using VisibleColumns = std::function<std::size_t(std::size_t row)>;

// Takes one expanded row, valid during the call.
using RowSink = std::function<void(std::size_t row, std::span<const double> values)>;

// Hands each of `count` rows of n > 0 columns to `sink`, in order. A value that is not kept is the mean of its row's:
// the rest over the number of visible columns that are not kept; 0 where the row does not see. Trusts nothing: returns
// what is wrong when lengths do not fit together, a count is above n, a column is not below n, a varint does not end or
// does not fit, or a number is negative or not finite. Rows before the wrong one have been handed over then.
std::optional<TopProblem> expand_top_rows(const TopRows& rows, const LogCodes& codes, std::size_t count, std::size_t n,
                                          const VisibleColumns& visible, const RowSink& sink);

}  // namespace attnflow::internal
