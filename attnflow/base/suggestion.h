// The name that was likely meant where an unknown one was typed; not part of the library's interface.
#ifndef ATTNFLOW_BASE_SUGGESTION_H_
#define ATTNFLOW_BASE_SUGGESTION_H_

#include <string>
#include <string_view>
#include <vector>

namespace attnflow::internal {

// The one of `names` that begins with what was typed, or differs from it in a third of its letters at most; the nearest
// of several, the first of those that are equally near. Letter case does not count, nor does _ for -. Empty if none is
// near.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

// The end of an error message: "; did you mean rollout?", or nothing.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

// "--map: expected smooth or patches, found 'smoth'; did you mean smooth?"
std::string not_among(std::string_view option, const std::vector<std::string>& choices, std::string_view found);

}  // namespace attnflow::internal

#endif  // ATTNFLOW_BASE_SUGGESTION_H_
