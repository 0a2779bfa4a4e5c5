#include "attnflow/text/sentencepiece_file.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <unordered_set>
#include <utility>

#include "attnflow/files/little_endian.h"
#include "attnflow/files/messages.h"
#include "attnflow/text/tokenizer_settings.h"
#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

enum class WireType : std::uint8_t { kVarint = 0, kEightBytes = 1, kBytes = 2, kFourBytes = 5 };

struct Field {
  std::uint64_t number = 0;
  WireType type = WireType::kVarint;
  std::uint64_t value = 0;  // for kVarint, kEightBytes and kFourBytes
  std::string_view bytes;   // for kBytes
  std::size_t at = 0;       // offset of the field in the file
};

// The fields of one message, which is a part of the file.
class Message {
 public:
  Message(std::string_view bytes, std::size_t begins_at, const std::string& label)
      : bytes_(bytes), begins_at_(begins_at), label_(label) {}

  std::optional<Field> next() {
    if (at_ == bytes_.size()) return std::nullopt;
    Field field;
    field.at = begins_at_ + at_;
    const std::uint64_t key = varint();
    field.number = key >> 3U;
    field.type = static_cast<WireType>(key & 7U);
    if (field.number == 0 || field.number > 0x1FFFFFFF) fail(fmt::format("field number {}", field.number), field.at);
    switch (field.type) {
      case WireType::kVarint:
        field.value = varint();
        return field;
      case WireType::kEightBytes:
        field.value = little_endian<std::uint64_t>(std::as_bytes(std::span(take(8))), 0);
        return field;
      case WireType::kFourBytes:
        field.value = little_endian<std::uint32_t>(std::as_bytes(std::span(take(4))), 0);
        return field;
      case WireType::kBytes:
        field.bytes = take(varint());
        return field;
    }
    fail(fmt::format("wire type {}", key & 7U), field.at);
  }

  std::uint64_t number_of(const Field& field, const char* name) const {
    expect(field, WireType::kVarint, name);
    return field.value;
  }
  bool flag_of(const Field& field, const char* name) const { return number_of(field, name) != 0; }
  std::string_view bytes_of(const Field& field, const char* name) const {
    expect(field, WireType::kBytes, name);
    return field.bytes;
  }
  float float_of(const Field& field, const char* name) const {
    expect(field, WireType::kFourBytes, name);
    return std::bit_cast<float>(static_cast<std::uint32_t>(field.value));
  }
  Message message_of(const Field& field, const char* name) const {
    const std::string_view bytes = bytes_of(field, name);
    return {bytes, begins_at_ + static_cast<std::size_t>(bytes.data() - bytes_.data()), label_};
  }

 private:
  [[noreturn]] void fail(const std::string& found, std::size_t at) const {
    fail_settings(label_, "a SentencePiece model", fmt::format("{} at byte {}", found, at));
  }

  void expect(const Field& field, WireType type, const char* name) const {
    if (field.type != type) fail(fmt::format("wire type {} for {}", static_cast<int>(field.type), name), field.at);
  }

  std::string_view take(std::uint64_t size) {
    if (size > bytes_.size() - at_) {
      fail(fmt::format("a field of {} bytes of which only {} are present", size, bytes_.size() - at_),
           begins_at_ + at_);
    }
    const std::string_view taken = bytes_.substr(at_, static_cast<std::size_t>(size));
    at_ += taken.size();
    return taken;
  }

  std::uint64_t varint() {
    const std::size_t begin = begins_at_ + at_;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (at_ == bytes_.size()) fail("a number that is cut off", begin);
      const auto byte = static_cast<unsigned char>(bytes_[at_++]);
      value |= std::uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    fail("a number of more than ten bytes", begin);
  }

  std::string_view bytes_;
  std::size_t begins_at_;
  const std::string& label_;
  std::size_t at_ = 0;
};

class Reader {
 public:
  explicit Reader(const std::string& label) : label_(label) {}

  SentencePieceModel read(std::string_view bytes) {
    Message message(bytes, 0, label_);
    while (const std::optional<Field> field = message.next()) {
      switch (field->number) {
        case 1:
          read_piece(message.message_of(*field, "a piece"));
          break;
        case 2:
          read_trainer(message.message_of(*field, "trainer_spec"));
          break;
        case 3:
          read_normalizer(message.message_of(*field, "normalizer_spec"));
          break;
      }
    }
    check();
    return std::move(model_);
  }

 private:
  void read_piece(Message message) {
    SentencePiece piece;
    while (const std::optional<Field> field = message.next()) {
      switch (field->number) {
        case 1:
          piece.text = message.bytes_of(*field, "a piece's text");
          break;
        case 2:
          piece.score = message.float_of(*field, "a piece's score");
          break;
        case 3:
          piece.type = static_cast<PieceType>(one_of(message.number_of(*field, "a piece's type"), 6, "type"));
          break;
      }
    }
    const std::size_t id = model_.pieces.size();
    if (piece.text.empty()) fail("a text for each piece", fmt::format("none for piece {}", id));
    if (piece.text.size() > kMaxPieceBytes) {
      fail(fmt::format("pieces of at most {} bytes", kMaxPieceBytes),
           fmt::format("{} in piece {}", piece.text.size(), id));
    }
    if (find_invalid_utf8(piece.text))
      fail("pieces in UTF-8", fmt::format("{} as piece {}", quote_name(piece.text), id));
    if (!std::isfinite(piece.score))
      fail("a number as the score of each piece", fmt::format("{} for {}", piece.score, quote_name(piece.text)));
    model_.pieces.push_back(std::move(piece));
  }

  void read_trainer(Message message) {
    while (const std::optional<Field> field = message.next()) {
      switch (field->number) {
        case 3:
          model_.kind =
              static_cast<SentencePieceKind>(one_of(message.number_of(*field, "model_type"), 4, "model_type"));
          break;
        case 24:
          model_.whitespace_as_suffix = message.flag_of(*field, "treat_whitespace_as_suffix");
          break;
        case 35:
          model_.byte_fallback = message.flag_of(*field, "byte_fallback");
          break;
      }
    }
  }

  void read_normalizer(Message message) {
    while (const std::optional<Field> field = message.next()) {
      switch (field->number) {
        case 2:
          model_.charsmap = message.bytes_of(*field, "precompiled_charsmap");
          break;
        case 3:
          model_.add_dummy_prefix = message.flag_of(*field, "add_dummy_prefix");
          break;
        case 4:
          model_.remove_extra_whitespaces = message.flag_of(*field, "remove_extra_whitespaces");
          break;
        case 5:
          model_.escape_whitespaces = message.flag_of(*field, "escape_whitespaces");
          break;
      }
    }
  }

  void check() {
    if (model_.pieces.empty()) fail("a SentencePiece model with pieces", "none");
    std::unordered_set<std::string_view> texts;
    std::unordered_set<std::string_view> bytes;
    std::size_t unknown_pieces = 0;
    for (std::size_t id = 0; id < model_.pieces.size(); ++id) {
      const SentencePiece& piece = model_.pieces[id];
      if (!texts.insert(piece.text).second) fail("pieces that differ", fmt::format("{} twice", quote_name(piece.text)));
      if (piece.type == PieceType::kByte) bytes.insert(piece.text);
      if (piece.type != PieceType::kUnknown) continue;
      model_.unknown = id;
      ++unknown_pieces;
    }
    check_charsmap();
    if (unknown_pieces != 1) fail("one piece for unknown text", fmt::format("{}", unknown_pieces));
    if (!model_.byte_fallback) return;
    for (int byte = 0; byte < 256; ++byte) {
      const std::string text = fmt::format("<0x{:02X}>", byte);
      if (bytes.find(text) == bytes.end())
        fail("a piece for each byte, as byte_fallback says", fmt::format("none for {}", text));
    }
  }

  // The size of a trie of 32-bit units, the trie itself, and zero-terminated texts.
  void check_charsmap() const {
    const std::string_view map = model_.charsmap;
    if (map.empty()) return;
    const std::size_t size = map.size() < 4 ? 0 : little_endian<std::uint32_t>(std::as_bytes(std::span(map)), 0);
    if (map.size() < 4 || size % 4 != 0 || size > map.size() - 4)
      fail("a precompiled_charsmap with a whole trie", fmt::format("a trie of {} bytes in {}", size, map.size()));
  }

  std::uint64_t one_of(std::uint64_t value, std::uint64_t last, const char* name) const {
    if (value < 1 || value > last) fail(fmt::format("a {} from 1 to {}", name, last), fmt::format("{}", value));
    return value;
  }

  [[noreturn]] void fail(const std::string& expected, const std::string& found) const {
    fail_settings(label_, expected, found);
  }

  const std::string& label_;
  SentencePieceModel model_;
};

}  // namespace

SentencePieceModel parse_sentencepiece(std::string_view bytes, const std::string& label) {
  if (bytes.size() > kMaxSentencePieceBytes) {
    fail_settings(label, fmt::format("a SentencePiece model of at most {} bytes", kMaxSentencePieceBytes),
                  fmt::format("{} bytes", bytes.size()));
  }
  if (bytes.starts_with("version https://git-lfs")) {
    fail_settings(label, "a SentencePiece model", "a Git LFS pointer to one",
                  "fetch the file itself with git lfs pull");
  }
  return Reader(label).read(bytes);
}

}  // namespace attnflow::internal
