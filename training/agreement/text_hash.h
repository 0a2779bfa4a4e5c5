// Tables of words that are asked with views of text, without a copy.
#ifndef ATTNFLOW_TRAINING_AGREEMENT_TEXT_HASH_H_
#define ATTNFLOW_TRAINING_AGREEMENT_TEXT_HASH_H_

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace attnflow::internal {

struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};

template <typename T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

}  // namespace attnflow::internal

#endif  // ATTNFLOW_TRAINING_AGREEMENT_TEXT_HASH_H_
