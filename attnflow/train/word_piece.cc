#include "attnflow/train/word_piece.h"

#include <algorithm>

#include "attnflow/train/bert_pipeline.h"

namespace attnflow {
namespace {

bool begins_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) != 0x80U; }

}  // namespace

WordPiece::WordPiece(const std::vector<std::string>& pieces) {
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::string_view piece = pieces[i];
    const bool continues = piece.starts_with(internal::kContinuation) && piece != internal::kContinuation;
    const std::string_view text = continues ? piece.substr(internal::kContinuation.size()) : piece;
    (continues ? continuation_ : first_).emplace(text, static_cast<std::uint32_t>(i));
    longest_ = std::max(longest_, text.size());
  }
}

std::vector<std::uint32_t> WordPiece::cut(std::string_view word) const {
  if (static_cast<std::size_t>(std::count_if(word.begin(), word.end(), begins_character)) >
      internal::kMaxWordCharacters) {
    return {};
  }
  std::vector<std::uint32_t> ids;
  for (std::size_t at = 0; at < word.size();) {
    const Ids& known = at == 0 ? first_ : continuation_;
    std::size_t size = std::min(longest_, word.size() - at);
    auto found = known.end();
    for (; size > 0; --size) {
      found = known.find(word.substr(at, size));
      if (found != known.end()) break;
    }
    if (size == 0) return {};
    ids.push_back(found->second);
    at += size;
  }
  return ids;
}

std::optional<std::uint32_t> WordPiece::id(std::string_view piece) const {
  const bool continues = piece.starts_with(internal::kContinuation) && piece != internal::kContinuation;
  const Ids& ids = continues ? continuation_ : first_;
  const auto found = ids.find(continues ? piece.substr(internal::kContinuation.size()) : piece);
  if (found == ids.end()) return std::nullopt;
  return found->second;
}

}  // namespace attnflow
