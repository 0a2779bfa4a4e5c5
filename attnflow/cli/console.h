// The running command's streams for a text, data and messages.
//
// The program passes its standard streams, a test streams in memory (fmemopen, open_memstream). Commands use these and
// never stdin, stdout or stderr. Files written to standard output by name (-o -, /dev/stdout) always go to descriptor
// 1.
#pragma once

#include <cstdio>
#include <optional>
#include <string>

namespace attnflow {

struct Console {
  std::FILE* in = stdin;
  std::FILE* out = stdout;  // data
  std::FILE* err = stderr;  // messages
};

// The running command's; else the process's streams.
const Console& console();

// Makes a console current during this object's life. One at a time.
class ConsoleScope {
 public:
  explicit ConsoleScope(const Console& console);
  ConsoleScope(const ConsoleScope&) = delete;
  ConsoleScope& operator=(const ConsoleScope&) = delete;
  ~ConsoleScope();

 private:
  Console before_;
};

// False for a stream in memory.
bool is_terminal(std::FILE* stream);

// Columns of the terminal that receives data; nothing if it is no terminal.
std::optional<std::size_t> terminal_width();

// All input, without trailing line ends. Throws Error(kOther) if it cannot be read.
std::string read_standard_input();

}  // namespace attnflow
