#include "attnflow/model/llama/output_projections.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attnflow/base/available_memory.h"
#include "attnflow/files/mapped_file.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/llama/dequantise.h"

namespace attnflow {
namespace {

// A matrix is kept only if it takes at most 1 / kSpare of the free memory.
constexpr std::size_t kSpare = 4;

// Transposes [hidden, head, width] to [head, width, hidden].
std::vector<float> transposed(const std::vector<float>& values, std::size_t rows, std::size_t columns, double scale) {
  constexpr std::size_t kTile = 32;  // a tile's rows stay in the nearest cache
  std::vector<float> result(values.size());
  const auto factor = static_cast<float>(scale);
  for (std::size_t top = 0; top < rows; top += kTile) {
    for (std::size_t left = 0; left < columns; left += kTile) {
      for (std::size_t column = left; column < std::min(left + kTile, columns); ++column) {
        for (std::size_t row = top; row < std::min(top + kTile, rows); ++row)
          result[column * rows + row] = factor * values[row * columns + column];
      }
    }
  }
  return result;
}

std::vector<float> read_projection(const StoredMatrix& matrix, double scale) {
  const internal::MappedFile file(matrix.file, "GGUF");
  if (file.bytes().size() < matrix.offset + matrix.bytes) {
    internal::fail(ErrorKind::kBadFile,
                   "{}: expected the {} bytes that it had when it was opened, found {}; another program has "
                   "changed it",
                   matrix.file.string(), matrix.offset + matrix.bytes, file.bytes().size());
  }
  std::vector<float> values(matrix.rows * matrix.columns);
  dequantise_blocks(matrix.type, file.bytes().subspan(matrix.offset, matrix.bytes), values);
  return transposed(values, matrix.rows, matrix.columns, scale);
}

}  // namespace

void add_matrices(const std::filesystem::path& file, const internal::GgufHeader& header, StoredMatrices& matrices) {
  for (const internal::GgufTensor& tensor : header.tensors) {
    if (tensor.extents.size() != 2 || !tensor.bytes) continue;
    matrices[tensor.name] = {
        file, tensor.type, tensor.extents[1], tensor.extents[0], header.data_begin + tensor.offset, *tensor.bytes};
  }
}

std::string OutputProjections::problem(const Wanted& wanted) const {
  const auto found = matrices_.find(wanted.name);
  if (found == matrices_.end()) return fmt::format("no matrix \"{}\" in the file", wanted.name);
  const StoredMatrix& matrix = found->second;
  if (matrix.columns == wanted.heads * wanted.width && matrix.rows == wanted.hidden) return {};
  return fmt::format("a matrix \"{}\" of shape [{}, {}] for {} heads of {} numbers and a stream of {}", wanted.name,
                     matrix.rows, matrix.columns, wanted.heads, wanted.width, wanted.hidden);
}

TensorView<const float> OutputProjections::get(const Wanted& wanted) {
  const Shape shape = {wanted.heads, wanted.width, wanted.hidden};
  const auto kept = kept_.find(wanted.name);
  if (kept != kept_.end()) return {kept->second.data(), shape};
  std::vector<float> numbers = read_projection(matrices_.at(wanted.name), wanted.scale);
  const auto available = available_memory();
  const bool fits = !available || kSpare * numbers.size() * sizeof(float) <= *available;
  std::vector<float>& place = fits ? kept_[wanted.name] : last_;
  place = std::move(numbers);
  return {place.data(), shape};
}

}  // namespace attnflow
