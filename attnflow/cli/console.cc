#include "attnflow/cli/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>

#include "attnflow/base/error.h"

namespace attnflow {
namespace {

Console& current_console() {
  static Console current;
  return current;
}

}  // namespace

const Console& console() { return current_console(); }

ConsoleScope::ConsoleScope(const Console& console) : before_(current_console()) { current_console() = console; }

ConsoleScope::~ConsoleScope() { current_console() = before_; }

bool is_terminal(std::FILE* stream) {
  const int descriptor = ::fileno(stream);
  return descriptor >= 0 && ::isatty(descriptor) != 0;
}

std::optional<std::size_t> terminal_width() {
  winsize window{};
  std::FILE* const out = console().out;
  if (!is_terminal(out) || ::ioctl(::fileno(out), TIOCGWINSZ, &window) != 0 || window.ws_col == 0) return std::nullopt;
  return window.ws_col;
}

std::string read_standard_input() {
  std::FILE* const in = console().in;
  std::string text;
  std::array<char, 1 << 12> chunk{};
  while (const std::size_t read = std::fread(chunk.data(), 1, chunk.size(), in)) text.append(chunk.data(), read);
  if (std::ferror(in) != 0) throw Error(ErrorKind::kOther, "standard input cannot be read; is it closed?");
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

}  // namespace attnflow
