// Dequantizes the block types that libllama's own loops process one number at a time; internal.
//
// Results equal libllama's bit for bit, in a fraction of the time.
//
//     Q5_0    32 numbers d (q - 16) in 22 bytes: d as float16; the fifth bits of all q; 16 bytes, of which byte j holds
//             the lower four bits of numbers j and j + 16. Most of a small model's Q4_K_M file whose rows are not a
//             whole number of larger blocks
//     Q6_K    256 numbers d s (q - 32) in 210 bytes: the lower four bits of q, packed 64 numbers at a time; the upper
//             two, 128 at a time; an int8 scale s for every 16 numbers; d as float16. Part of most Q4_K_M files
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace attnflow::internal {

// Whether `type`, ggml's number, is one of these; if so, fills `values`, which are whole blocks.
bool dequantise_blocks(std::uint32_t type, std::span<const std::byte> blocks, std::span<float> values);

}  // namespace attnflow::internal
