#include "attnflow/attribution/input.h"

namespace attnflow {

std::string display_text(const InputText& input, std::size_t token) {
  const InputToken& piece = input.tokens.at(token);
  const std::string& text = piece.segment == 0 ? input.text : input.text_pair;
  // Ranges that lie outside the text (an edited file) or hold nothing fall back to the piece.
  if (piece.begin && piece.end && *piece.begin < *piece.end && *piece.end <= text.size()) {
    return text.substr(*piece.begin, *piece.end - *piece.begin);
  }
  return piece.text;
}

}  // namespace attnflow
