#include "attnflow/cli/messages.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string>

#include "attnflow/cli/console.h"
#include "attnflow/unicode/escape_text.h"

namespace attnflow {

void print_message(std::string_view text) noexcept {
  try {
    print_raw_message(escape_text(text, "\n") + "\n");
  } catch (const std::exception&) {  // not enough memory for a copy
    print_raw_message("attnflow: out of memory for a message\n");
  }
}

void print_raw_message(std::string_view text) noexcept {
  (void)std::fwrite(text.data(), 1, text.size(), console().err);
  (void)std::fflush(console().err);
}

void reserve_standard_descriptors() noexcept {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // open() returns the lowest free descriptor, this one; the opposite access mode keeps its use an error.
    (void)::open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

}  // namespace attnflow
