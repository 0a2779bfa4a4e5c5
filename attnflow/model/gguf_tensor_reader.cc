#include "attnflow/model/gguf_tensor_reader.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "attnflow/files/messages.h"
#include "attnflow/model/backend.h"
#include "attnflow/model/fail.h"
#include "attnflow/model/gguf_blocks.h"

namespace attnflow::internal {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 13U;  // numbers dequantized at a time: they stay in the cache
constexpr std::uint32_t kExponent = 0x7f800000;

// Without branches and maxima, so that every processor's vectors serve.
bool all_finite(std::span<const float> values) {
  std::uint32_t found = 0;
  for (const float value : values) {
    found |= static_cast<std::uint32_t>((std::bit_cast<std::uint32_t>(value) & kExponent) == kExponent);
  }
  return found == 0;
}

}  // namespace

GgufTensorReader::GgufTensorReader(const ConvertedTensor& tensor, std::span<const std::byte> bytes,
                                   const std::string& source, Release release)
    : name_(tensor.source->name),
      source_(source),
      type_(tensor.source->type),
      change_(tensor.change),
      head_width_(tensor.head_width),
      heads_(tensor.heads),
      key_value_heads_(tensor.key_value_heads),
      release_(std::move(release)) {
  const std::vector<std::size_t>& extents = tensor.source->extents;
  const bool is_vector = tensor.shape.size() == 1;
  width_ = is_vector ? 1 : tensor.shape.back();
  stored_width_ = is_vector ? 1 : extents.front();
  stored_rows_ = extents[is_vector ? 0 : 1];
  const GgufBlock block = *gguf_block(type_);
  if (stored_width_ % block.elements != 0) {
    fail(ErrorKind::kUnsupportedModel, "{}: tensor {}: expected a bias as plain numbers, found blocks of {}", source_,
         quote_name(name_), block.elements);
  }
  row_bytes_ = stored_width_ / block.elements * block.bytes;
  blocks_ = bytes.subspan(tensor.expert.value_or(0) * stored_rows_ * row_bytes_, stored_rows_ * row_bytes_);
  finite_ = std::make_unique<std::atomic<bool>[]>(stored_rows_);
}

void GgufTensorReader::read(std::size_t row, std::span<float> values) const {
  if (change_ == TensorChange::kTransposed) {
    read_transposed(row, values);
    return;
  }
  const std::size_t rows = values.size() / width_;
  const bool reordered = change_ == TensorChange::kHalves || change_ == TensorChange::kByHead;
  const std::size_t step = reordered ? 1 : std::max(kChunk / width_, std::size_t{1});
  for (std::size_t begin = 0; begin < rows; begin += step) {
    const std::size_t count = std::min(step, rows - begin);
    dequantise(stored_row(row + begin), values.subspan(begin * width_, count * width_));
  }
  if (change_ == TensorChange::kMinusOne) {
    for (float& value : values) value -= 1.0F;
  }
}

void GgufTensorReader::dequantise(std::size_t row, std::span<float> values) const {
  const std::size_t rows = values.size() / stored_width_;
  const std::span<const std::byte> stored = blocks_.subspan(row * row_bytes_, rows * row_bytes_);
  if (!dequantise_blocks(type_, stored, values)) llama_backend().dequantise(type_, stored, values);
  std::span<std::atomic<bool>> known(finite_.get() + row, rows);
  const auto is_known = [](const std::atomic<bool>& one) { return one.load(std::memory_order_relaxed); };
  if (std::all_of(known.begin(), known.end(), is_known)) return;
  if (all_finite(values)) {
    for (std::atomic<bool>& one : known) one.store(true, std::memory_order_relaxed);
    return;
  }
  const auto bad = std::find_if(values.begin(), values.end(), [](float value) { return !std::isfinite(value); });
  fail(ErrorKind::kBadFile, "{}: tensor {}: expected finite numbers, found {}; the file is damaged, download it again",
       source_, quote_name(name_), *bad);
}

void GgufTensorReader::read_transposed(std::size_t row, std::span<float> values) const {
  const std::size_t rows = values.size() / width_;
  std::vector<float> column(stored_width_);
  for (std::size_t j = 0; j < stored_rows_; ++j) {
    dequantise(j, column);
    for (std::size_t i = 0; i < rows; ++i) values[i * width_ + j] = column[row + i];
  }
}

std::size_t GgufTensorReader::stored_row(std::size_t row) const {
  const std::size_t in_head = row % head_width_;
  if (change_ == TensorChange::kHalves) {
    const std::size_t half = head_width_ / 2;
    return row - in_head + in_head % half * 2 + in_head / half;
  }
  if (change_ != TensorChange::kByHead) return row;
  const std::size_t head = row / head_width_;
  const std::size_t queries = heads_ / key_value_heads_;  // of a group, before its key and its value
  const std::size_t group = head / (queries + 2);
  const std::size_t place = head % (queries + 2);
  const std::size_t stored =
      place < queries ? group * queries + place : heads_ + (place - queries) * key_value_heads_ + group;
  return stored * head_width_ + in_head;
}

}  // namespace attnflow::internal
