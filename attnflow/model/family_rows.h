// The tables of model families (architecture.h), and lookups in tables whose rows name their model type.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "attnflow/model/architecture.h"

namespace attnflow::internal {

std::span<const Architecture> encoder_families();
std::span<const Architecture> decoder_families();
// The encoders and the decoders of encoder-decoders.
std::span<const Architecture> source_families();
std::span<const Architecture> target_families();

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
