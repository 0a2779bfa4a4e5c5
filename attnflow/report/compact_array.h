// One compactly encoded array of the report document (docs/report-format.md, "Compact documents"); internal.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "attnflow/report/compact_rows.h"
#include "attnflow/tensor/tensor.h"

namespace attnflow::internal {

// An array to write, as rows along its last dimension. Refers to the tensor.
class RowSource {
 public:
  RowSource() = default;
  explicit RowSource(const Tensor<double>& values) : values_(&values), shape_(values.shape()) {}
  explicit RowSource(const Tensor<float>& values) : values_(&values), shape_(values.shape()) {}

  const Shape& shape() const { return shape_; }
  std::size_t row_length() const { return shape_.empty() ? 0 : shape_.back(); }
  std::size_t rows() const { return row_length() == 0 ? 0 : element_count(shape_) / row_length(); }
  // Returns row `index`, in `scratch` unless memory holds it as it is. Valid until scratch changes.
  std::span<const double> row(std::size_t index, std::vector<double>& scratch) const;

 private:
  std::variant<const Tensor<double>*, const Tensor<float>*> values_;
  Shape shape_;
};

enum class CompactEncoding { kFloat32, kLog8, kTop };

struct CompactArray {
  std::string json;  // the entry of `arrays`, without its name
  // kTop: the kept share of a row's sum, 0 to 1: the mean over rows, and the minimum.
  double mean_share = 1.0;
  double least_share = 1.0;
  bool undefined = false;  // some values are negative or not finite, which kLog8 and kTop write as 0
};

// Encodes one block of neighboring rows, which compress together, in every `every`. 1: all rows; other values give no
// valid array and only estimate the total size.
struct RowSample {
  static constexpr std::size_t kBlock = 16;
  std::size_t every = 1;

  bool takes(std::size_t row) const { return row / kBlock % every == every / 2; }
  std::size_t taken_of(std::size_t rows) const;
};

CompactArray encode_array(const RowSource& source, CompactEncoding encoding, const TopRule& rule,
                          const RowSample& sample = {});

// {"dtype", "encoding", "data"} or, with a shape, {"shape", "dtype", ...}; bytes are compressed if that shrinks them.
std::string encode_bytes(const char* dtype, std::span<const std::byte> bytes, const Shape* shape = nullptr);

}  // namespace attnflow::internal
