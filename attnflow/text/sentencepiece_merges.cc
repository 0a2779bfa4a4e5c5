#include "attnflow/text/sentencepiece_merges.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "attnflow/unicode/unicode.h"

namespace attnflow::internal {
namespace {

struct Merge {
  float score = 0;
  std::size_t left_length = 0;  // in code points
  std::size_t right_length = 0;
  std::size_t piece = 0;
  std::string_view left;
  std::string_view right;
};

}  // namespace

std::vector<std::pair<std::string_view, std::string_view>> sentencepiece_merges(const SentencePieceModel& model) {
  std::unordered_map<std::string_view, std::size_t> found_in_text;
  for (std::size_t id = 0; id < model.pieces.size(); ++id) {
    const SentencePiece& piece = model.pieces[id];
    if (piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined)
      found_in_text.emplace(piece.text, id);
  }
  std::vector<Merge> merges;
  for (const auto& [text, number] : found_in_text) {
    const std::size_t id = number;
    const std::size_t length = decode_utf8(text).size();
    std::size_t left_length = 0;
    for (std::size_t at = 0; at < text.size();) {
      next_code_point(text, at);
      ++left_length;
      const std::string_view left = text.substr(0, at);
      const std::string_view right = text.substr(at);
      const auto joins = [&](std::string_view part) {
        const auto found = found_in_text.find(part);
        if (found == found_in_text.end()) return false;
        // User-defined pieces are never split.
        return model.pieces[id].type == PieceType::kUserDefined ||
               model.pieces[found->second].type == PieceType::kNormal;
      };
      if (!joins(left) || !joins(right)) continue;
      merges.push_back({model.pieces[id].score, left_length, length - left_length, id, left, right});
    }
  }
  std::sort(merges.begin(), merges.end(), [](const Merge& a, const Merge& b) {
    return std::tuple(-a.score, b.left_length, b.right_length, a.piece) <
           std::tuple(-b.score, a.left_length, a.right_length, b.piece);
  });
  std::vector<std::pair<std::string_view, std::string_view>> result;
  result.reserve(merges.size());
  for (const Merge& merge : merges) result.emplace_back(merge.left, merge.right);
  return result;
}

}  // namespace attnflow::internal
