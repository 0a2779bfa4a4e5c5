// Looks up rows in the architecture tables, each of which names its model type, and names in lists.
#pragma once

#include <string>
#include <string_view>

namespace attnflow::internal {

template <typename... Names>
constexpr bool is_one_of(std::string_view name, const Names&... names) {
  return ((name == names) || ...);
}

// Returns the row of a model type, or null.
template <typename Rows>
const typename Rows::value_type* find_row(const Rows& rows, std::string_view model_type) {
  for (const auto& row : rows) {
    if (row.model_type == model_type) return &row;
  }
  return nullptr;
}

// "bert, roberta, ...": this member of every row, once where adjacent rows share it.
template <typename Rows, typename Member>
std::string list_of(const Rows& rows, Member member) {
  std::string list;
  std::string_view last;
  for (const auto& row : rows) {
    if (row.*member == last) continue;
    last = row.*member;
    if (!list.empty()) list += ", ";
    list += last;
  }
  return list;
}

}  // namespace attnflow::internal
