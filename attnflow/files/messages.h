// Parts of error messages about files. Names inside a file may contain terminal escape sequences or megabytes of text,
// so messages show them through these functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace attnflow::internal {

// Quotes the text, with control characters and invalid UTF-8 as \xNN, and cuts it after about `max_bytes` bytes.
std::string quote_name(std::string_view text, std::size_t max_bytes = 80);

// '"a", "b", "c" and 12 more', or "nothing".
std::string quote_names(const std::vector<std::string_view>& names, std::size_t max_names = 8);

// Throws Error(kBadFile) with the message prefixed by the name of a file or of something in it.
[[noreturn]] void fail_file(std::string_view name, std::string_view message);

std::string system_reason(int error_number);

}  // namespace attnflow::internal
