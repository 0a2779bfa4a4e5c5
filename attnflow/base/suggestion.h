// Suggests the intended name when an unknown one was typed; not part of the library's interface.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace attnflow::internal {

// Returns the one of `names` that begins with the typed text, or differs from it in at most a third of its letters; the
// nearest, and the first among equally near ones. Ignores case, and _ matches -. Empty if none is near.
std::string nearest_name(std::string_view typed, const std::vector<std::string>& names);

// The end of an error message: "; did you mean rollout?", or nothing.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& names);

// "--map: expected smooth or patches, found 'smoth'; did you mean smooth?"
std::string not_among(std::string_view option, const std::vector<std::string>& choices, std::string_view found);

}  // namespace attnflow::internal
