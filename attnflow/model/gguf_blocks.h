// Dequantizes those types of blocks for which libllama's own loops take one number at a time; internal.
//
// The numbers are libllama's to the bit, in a fraction of the time.
//
//     Q5_0    32 numbers d (q - 16) in 22 bytes: d as float16; the fifth bits of q; the lower four of the first 16 and
//     the
//             last 16 numbers in turn. Most of a small model in a file called Q4_K_M, since its rows are no whole
//             number of larger blocks
//     Q6_K    256 numbers d s (q - 32) in 210 bytes: the lower four bits of q, of 64 numbers at a time; the upper two,
//     of 128
//             at a time; a scale s for every 16, as int8; d as float16. A part of most files called Q4_K_M
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attnflow::internal {

// Whether `type`, ggml's number, is one of these; if so, fills `values`, which are whole blocks.
bool dequantise_blocks(std::uint32_t type, std::span<const std::byte> blocks, std::span<float> values);

}  // namespace attnflow::internal
