// Converts quantized blocks to the numbers that they represent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attnflow {

// A block of a ggml tensor type holds a few scales and some bits for each of 32 or 256 numbers; float types hold one
// number. Fills `values` with the numbers of `blocks`, in float32, as ggml itself reads them: exactly, whereas ggml's
// quantized products round again. Linear. `blocks` need not be aligned. Throws Error(kUnsupportedModel) for a type that
// this ggml does not know or that holds no floating-point numbers, and Error(kBadFile) when `blocks` are not exactly
// the whole blocks for the number of values.
void dequantise_blocks(std::uint32_t type, std::span<const std::byte> blocks, std::span<float> values);

}  // namespace attnflow
