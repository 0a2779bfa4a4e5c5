// SentencePiece models written out piece by piece, as protocol buffers.
#pragma once

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attnflow/text/sentencepiece_file.h"

namespace attnflow::internal {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7U) bytes += static_cast<char>((value & 0x7FU) | 0x80U);
  return bytes + static_cast<char>(value);
}

inline std::string number_field(std::uint64_t field, std::uint64_t value) {
  return varint(field << 3U) + varint(value);
}

inline std::string bytes_field(std::uint64_t field, std::string_view bytes) {
  return varint(field << 3U | 2U) + varint(bytes.size()) + std::string(bytes);
}

inline std::string float_field(std::uint64_t field, float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  std::string bytes = varint(field << 3U | 5U);
  for (const unsigned shift : {0U, 8U, 16U, 24U}) bytes += static_cast<char>(bits >> shift & 0xFFU);
  return bytes;
}

inline std::string piece_field(std::string_view text, float score = 0, PieceType type = PieceType::kNormal) {
  return bytes_field(1, bytes_field(1, text) + float_field(2, score) +
                            (type == PieceType::kNormal ? "" : number_field(3, static_cast<std::uint64_t>(type))));
}

inline std::string sentencepiece(const std::vector<std::string>& specials, const std::vector<std::string>& pieces,
                                 SentencePieceKind kind = SentencePieceKind::kUnigram) {
  std::string bytes;
  for (const std::string& special : specials) {
    const bool unknown = special == "<unk>" || special == "[UNK]";
    bytes += piece_field(special, 0, unknown ? PieceType::kUnknown : PieceType::kControl);
  }
  float score = 0;
  for (const std::string& piece : pieces) bytes += piece_field(piece, score -= 1);
  return bytes + bytes_field(2, number_field(3, static_cast<std::uint64_t>(kind)));
}

}  // namespace attnflow::internal
