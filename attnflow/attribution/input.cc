#include "attnflow/attribution/input.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string_view>

#include "attnflow/attribution/patch_name.h"
#include "attnflow/attribution/shown_token.h"
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

namespace {

// Ranges outside the text (an edited file) count as empty.
std::string_view own_characters(const InputText& input, const InputToken& token) {
  const std::string_view text = token.segment == 0 ? input.text : input.text_pair;
  const bool has_range = token.begin && token.end && *token.begin < *token.end && *token.end <= text.size();
  return has_range ? text.substr(*token.begin, *token.end - *token.begin) : std::string_view();
}

}  // namespace

std::string own_text(const InputText& input, std::size_t token) {
  const InputToken& piece = input.tokens.at(token);
  const std::string_view own = own_characters(input, piece);
  return own.empty() ? internal::shown_piece(piece) : std::string(own);
}

std::string display_text(const InputText& input, std::size_t token) {
  if (input.tokens.at(token).role == "patch") return own_text(input, token);
  return internal::shown_token(input.tokens.size(), token, [&](std::size_t t) -> internal::TokenPiece {
    const InputToken& piece = input.tokens[t];
    return {.own = own_characters(input, piece),
            .piece = piece.text,
            .begin = piece.begin.value_or(0),
            .segment = piece.segment};
  });
}

}  // namespace attnflow
