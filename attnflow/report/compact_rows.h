// Rows of non-negative numbers in few bytes: logarithmic codes, and a row's largest values with the sum of the rest
// (docs/report-format.md, "log8" and "top").
//
// Problem. Attention of 512 tokens, 12 layers and 12 heads is 38 million numbers; a few in each row hold most of the
// mass, and an eye distinguishes two digits. A page should hold them in a few megabytes.
//
// Definition. A row has a scale s, its largest value rounded to float32; the document has a number of decades d. Code 0
// is 0; code c from 1 to 255 is s 10^(-d (255 - c) / 254), so code 255 is s and code 1 is s 10^-d. A value takes the
// code nearest by ratio, off by at most the factor 10^(d / 508); a value below code 1 takes code 1 or 0, whichever is
// nearer. A value that is not a positive finite number takes code 0.
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
  static constexpr double kDecades = 5.0;       // written
  static constexpr double kMaxDecades = 600.0;  // read: beyond any float

  explicit LogCodes(double decades = kDecades);

  std::uint8_t code(double value, float scale) const;
  double fraction(std::uint8_t code) const { return fractions_[code]; }
  double value(std::uint8_t code, float scale) const { return static_cast<double>(scale) * fractions_[code]; }

  double decades() const { return decades_; }
  // The largest relative error for values of at least scale 10^-decades: 10^(decades / 508) - 1.
  double error() const;

 private:
  double decades_;
  std::array<double, 256> fractions_{};
  std::array<double, 256> beginnings_{};  // the smallest fraction of a scale that takes this code
};

// A row's scale: its largest finite value as float32; 0 if no value is positive.
float row_scale(std::span<const double> row);

// Keeps values of at least `share` of the row's sum, and at least the `least` largest; among equal values at the
// border, the first. Never keeps values that are 0 or below scale 10^-decades.
struct TopRule {
  double share = 0.0;
  std::size_t least = 16;
};

// Concatenated rows, as in the document.
struct TopRows {
  std::vector<std::uint16_t> counts;  // kept values, for each row
  // The kept columns per row, increasing, as differences (first the column itself, then column - previous - 1), each a
  // LEB128 varint: seven bits per byte, lowest first, the high bit set in all bytes but the last.
  std::vector<std::uint8_t> columns;
  std::vector<std::uint8_t> codes;  // of kept values
  std::vector<float> scales;        // for each row, to 12 bits
  std::vector<float> rest;          // for each row: the sum of dropped values, to 12 bits
};

// Appends a row of up to 2^32 columns; keeps at most 65535 values. Returns the kept share of the row's sum (1 for
// zeros).
double append_top_row(std::span<const double> row, const TopRule& rule, const LogCodes& codes, TopRows& rows);

// The most bytes that a column below n takes.
std::size_t max_column_bytes(std::size_t n);

// A defect in rows from a file.
struct TopProblem {
  std::string part;  // "counts", "columns", ...
  std::string expected;
  std::string found;
};

// How many columns a row can see, from column 0 on; dropped values lie there.
using VisibleColumns = std::function<std::size_t(std::size_t row)>;

// Takes one expanded row, valid during the call.
using RowSink = std::function<void(std::size_t row, std::span<const double> values)>;

// Hands each of `count` rows of n > 0 columns to `sink`, in order. A dropped value becomes the row's mean: the rest
// over the number of visible columns that are not kept; 0 where the row cannot see. Trusts nothing: returns the defect
// if lengths are inconsistent, a count exceeds n, a column is not below n, a varint does not end or fit, or a number is
// negative or not finite. Rows before the bad one have already been handed over.
std::optional<TopProblem> expand_top_rows(const TopRows& rows, const LogCodes& codes, std::size_t count, std::size_t n,
                                          const VisibleColumns& visible, const RowSink& sink);

}  // namespace attnflow::internal
