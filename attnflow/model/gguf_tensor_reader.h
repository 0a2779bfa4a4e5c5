// Reads a tensor of a GGUF file in Hugging Face's order (gguf_layout.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "attnflow/files/gguf.h"
#include "attnflow/model/checkpoint.h"
#include "attnflow/model/gguf_layout.h"

namespace attnflow::internal {

// Rows are dequantized one at a time or a few together, so memory is that of the result. Reading a part of a transposed
// matrix (GPT-2) reads all of it.
class GgufTensorReader final : public TensorReader {
 public:
  using Release = std::function<void(std::span<const std::byte> bytes)>;

  // `bytes`, which begin with the tensor's, must outlive the reader; `release` gives back their memory. Throws
  // Error(kUnsupportedModel) when a row is not a whole number of blocks.
  GgufTensorReader(const ConvertedTensor& tensor, std::span<const std::byte> bytes, const std::string& source,
                   Release release = {});

  void read(std::size_t row, std::span<float> values) const override;
  bool reads_rows() const override { return change_ != TensorChange::kTransposed; }
  void release() const override {
    if (release_) release_(blocks_);
  }

  std::size_t width() const { return width_; }  // numbers in a row

 private:
  // Dequantizes rows of the file, from `row` on.
  void dequantise(std::size_t row, std::span<float> values) const;
  void read_transposed(std::size_t row, std::span<float> values) const;
  // The row of the file that holds a row of the result.
  std::size_t stored_row(std::size_t row) const;

  std::string name_;
  std::string source_;
  std::uint32_t type_;
  TensorChange change_;
  std::size_t head_width_;
  std::size_t heads_;
  std::size_t key_value_heads_;
  std::size_t width_;         // numbers in a row of the result
  std::size_t stored_width_;  // numbers in a row of the file
  std::size_t stored_rows_;
  std::size_t row_bytes_;  // of a row of the file
  std::span<const std::byte> blocks_;
  std::unique_ptr<std::atomic<bool>[]> finite_;  // rows of the file that were found to be finite: all passes read them
  Release release_;
};

}  // namespace attnflow::internal
