#include "attnflow/base/suggestion.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>

namespace attnflow::internal {
namespace {

constexpr std::size_t kMostLetters = 64;  // no name is longer; the distance takes time proportional to both lengths

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last;
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before_last = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool exchanged = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (exchanged) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
  }
  return row.back();
}

std::string plain(std::string_view name) {
  std::string text(name);
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return text;
}

}  // namespace

std::string nearest_name(std::string_view typed, const std::vector<std::string>& names) {
  const std::string asked = plain(typed);
  // The dashes of an option are not letters.
  const std::size_t letters = asked.size() - std::min(asked.size(), asked.find_first_not_of('-'));
  std::string nearest;
  if (letters < 2 || letters > kMostLetters) return nearest;  // many names begin with any given letter
  std::size_t least = std::max<std::size_t>(1, letters / 3) + 1;
  for (const std::string& name : names) {
    const std::string other = plain(name);
    const bool begins = other.starts_with(asked);
    const std::size_t distance = other == asked ? 0 : begins ? 1 : edit_distance(asked, other);
    if (distance >= least || distance >= other.size()) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names) {
  const std::string nearest = nearest_name(typed, names);
  return nearest.empty() ? "" : "; did you mean " + nearest + "?";
}

std::string not_among(std::string_view option, const std::vector<std::string>& choices, std::string_view found) {
  std::string list;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) list += i + 1 == choices.size() ? " or " : ", ";
    list += choices[i];
  }
  return fmt::format("{}: expected {}, found '{}'{}", option, list, found, did_you_mean(found, choices));
}

}  // namespace attnflow::internal
