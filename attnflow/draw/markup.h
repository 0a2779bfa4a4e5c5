// Text in markup: SVG and HTML; internal.
#pragma once

#include <string>

namespace attnflow::internal {

// Safe as text and as a quoted attribute value.
std::string xml_escaped(const std::string& text);

}  // namespace attnflow::internal
