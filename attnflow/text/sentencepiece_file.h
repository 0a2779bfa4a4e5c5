// SentencePiece models: the pieces of a vocabulary and how text is prepared for them.
//
// Models of many families (T5, ALBERT, XLM-R, Llama, Marian, ...) come with the file that SentencePiece trained, which
// has everything that encoding needs, and without a tokenizer.json converted from it.
//
// The format is a single protocol buffer, ModelProto of SentencePiece's sentencepiece_model.proto. A message is a
// sequence of fields: a key (field number * 8 + wire type, as a varint: seven bits per byte, lowest first, the top bit
// set if another byte follows), then a value: a varint (type 0), 8 bytes (1), a varint length followed by that number
// of bytes (2), or 4 bytes (5). The fields read here, with their defaults:
//   1  pieces, one field each:  1 text, 2 score (float, 0), 3 type (PieceType, normal)
//   2  trainer_spec:  3 model type (ModelType, unigram), 24 treat_whitespace_as_suffix (no), 35 byte_fallback (no)
//   3  normalizer_spec:  2 precompiled_charsmap (none), 3 add_dummy_prefix, 4 remove_extra_whitespaces,
//      5 escape_whitespaces (yes, all three)
// Other fields are skipped. As protocol buffers specify, the last value of a repeated scalar field counts, and a
// message that occurs twice is merged.
//
// Source: https://github.com/google/sentencepiece/blob/master/src/sentencepiece_model.proto and
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow::internal {

// Numbered as in the file.
enum class PieceType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,      // stands for text that no piece covers
  kControl = 3,      // never found in a text: <s>, </s>
  kUserDefined = 4,  // matched before anything else
  kUnused = 5,
  kByte = 6,  // "<0x0A>": one byte of text that no piece covers
};

enum class SentencePieceKind : std::uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };

struct SentencePiece {
  std::string text;  // UTF-8, not empty, unique
  float score = 0;   // finite
  PieceType type = PieceType::kNormal;
};

struct SentencePieceModel {
  std::vector<SentencePiece> pieces;  // by id
  std::size_t unknown = 0;            // the id of the one piece of type kUnknown
  SentencePieceKind kind = SentencePieceKind::kUnigram;
  bool byte_fallback = false;         // there is a piece for each of the 256 bytes
  bool whitespace_as_suffix = false;  // "the▁" rather than "▁the"
  std::string charsmap;               // replacements of characters: a trie and texts; empty: none
  bool add_dummy_prefix = true;       // a space before the text
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;  // spaces become "▁"
};

// Parses the model in `bytes`; messages call it `label`. Memory is linear in the size of the file, which is at most
// kMaxSentencePieceBytes. Throws Error(kBadFile) for a file that is cut off or not such a protocol buffer, and for a
// model that SentencePiece would not load: one without pieces, with no or several unknown pieces, with a piece that is
// empty, too long, duplicated or not UTF-8, with a score that is not a finite number, with a kind or type not listed
// above, with a charsmap that is cut off, or with byte_fallback but no piece for some byte.
SentencePieceModel parse_sentencepiece(std::string_view bytes, const std::string& label);

// Three times the largest file and ten times the longest piece in use; later work is quadratic in a piece's length.
inline constexpr std::size_t kMaxSentencePieceBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxPieceBytes = 1024;

}  // namespace attnflow::internal
