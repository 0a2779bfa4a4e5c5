// Names of a picture's patches. In data and options a patch is its row and column, counted from 0: "2,4". People read
// it counted from 1: "row 3, column 5".
#pragma once

#include <string>

#include "attnflow/attribution/input.h"

namespace attnflow::internal {

// Returns a patch's readable name, or any other token's text unchanged.
std::string shown_piece(const InputToken& token);

}  // namespace attnflow::internal
