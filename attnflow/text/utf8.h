// Checking that bytes are UTF-8.
#ifndef ATTNFLOW_TEXT_UTF8_H_
#define ATTNFLOW_TEXT_UTF8_H_

#include <cstddef>
#include <optional>
#include <string_view>

namespace attnflow {

// The offset of the first byte that is not part of well-formed UTF-8 (Unicode 15, table 3-7: no overlong forms, no
// surrogates, nothing above U+10FFFF); nothing when all bytes are.
std::optional<std::size_t> find_invalid_utf8(std::string_view bytes);

}  // namespace attnflow

#endif  // ATTNFLOW_TEXT_UTF8_H_
