#include "attnflow/words/lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "attnflow/words/numbers.h"

namespace attnflow::internal {

std::string listed(std::vector<std::string> parts, std::string_view last_word) {
  if (parts.size() == 1) return parts.front();
  const std::string last = std::move(parts.back());
  parts.pop_back();
  return fmt::format("{} {} {}", fmt::join(parts, ", "), last_word, last);
}

std::string first_few(std::vector<std::string> parts, std::optional<std::size_t> total) {
  constexpr std::size_t kMost = 3;
  const std::size_t all = total.value_or(parts.size());
  if (all > kMost + 1 || all > parts.size()) {
    parts.resize(std::min(parts.size(), kMost));
    parts.push_back(counted(all - parts.size(), "other"));
  }
  return listed(std::move(parts));
}

std::vector<std::string> ranges(const std::vector<std::size_t>& numbers, std::string_view to) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    end = begin + 1;
    while (end < numbers.size() && numbers[end] == numbers[end - 1] + 1) ++end;
    const std::size_t first = numbers[begin];
    parts.push_back(end == begin + 1 ? fmt::format("{}", first) : fmt::format("{}{}{}", first, to, numbers[end - 1]));
  }
  return parts;
}

std::string abridged(const std::vector<std::size_t>& numbers) {
  constexpr std::size_t kMost = 8;
  const std::vector<std::size_t> first(numbers.begin(),
                                       numbers.begin() + static_cast<std::ptrdiff_t>(std::min(kMost, numbers.size())));
  const std::string text = fmt::format("{}", fmt::join(first, ", "));
  return numbers.size() > kMost ? fmt::format("{}, ... {}", text, numbers.back()) : text;
}

}  // namespace attnflow::internal
