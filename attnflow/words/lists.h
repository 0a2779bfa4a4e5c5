// Lists in sentences; internal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow::internal {

// "a", "a and b", "a, b and c"; or, with another last word, "a, b or c". `parts` is not empty.
std::string listed(std::vector<std::string> parts, std::string_view last_word = "and");

// The same for up to four; of more, "a, b, c and 8 others". `parts` may be the first of `total`.
std::string first_few(std::vector<std::string> parts, std::optional<std::size_t> total = {});

// Ascending numbers, with each run of consecutive ones as its first and last joined by `to`, including spaces: with "
// to ", {1, 2, 3, 6} becomes "1 to 3" and "6".
std::vector<std::string> ranges(const std::vector<std::size_t>& numbers, std::string_view to);

// If there are more than eight, only the first eight and the last: "1, 2, 3, 4, 5, 6, 7, 8, ... 30".
std::string abridged(const std::vector<std::size_t>& numbers);

}  // namespace attnflow::internal
