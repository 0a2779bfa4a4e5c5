// How a patch of a picture is called. In data and options its text is its row and column, counted from 0: "2,4". People
// read it counted from 1: "row 3, column 5".
#pragma once

#include <string>

#include "attnflow/attribution/input.h"

namespace attnflow::internal {

// The words for a patch; the text of any other token as it is.
std::string shown_piece(const InputToken& token);

}  // namespace attnflow::internal
