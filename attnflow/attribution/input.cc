#include "attnflow/attribution/input.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "attnflow/attribution/patch_name.h"
#include "attnflow/base/parse_number.h"

namespace attnflow {

std::string internal::shown_piece(const InputToken& token) {
  const std::string& text = token.text;
  if (token.role != "patch") return text;
  const std::size_t comma = text.find(',');
  if (comma == std::string::npos) return text;
  const std::optional<std::size_t> row = parse_number(std::string_view(text).substr(0, comma));
  const std::optional<std::size_t> column = parse_number(std::string_view(text).substr(comma + 1));
  return row && column ? fmt::format("row {}, column {}", *row + 1, *column + 1) : text;
}

std::string display_text(const InputText& input, std::size_t token) {
  const InputToken& piece = input.tokens.at(token);
  const std::string& text = piece.segment == 0 ? input.text : input.text_pair;
  // Ranges that lie outside the text (an edited file) or hold nothing fall back to the piece.
  if (piece.begin && piece.end && *piece.begin < *piece.end && *piece.end <= text.size()) {
    return text.substr(*piece.begin, *piece.end - *piece.begin);
  }
  return internal::shown_piece(piece);
}

}  // namespace attnflow
