// The streams of the command that runs: where it reads a text, and where its data and messages go.
//
// The program gives its own standard streams; a test gives streams in memory (fmemopen, open_memstream), so that a
// command runs within the test's process. Commands name these streams and never stdin, stdout or stderr. Files written
// to standard output by name (-o -, /dev/stdout) go to the process's descriptor 1 whatever the console is.
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

// The console of the command that runs; the process's streams where none does.
const Console& console();

// Makes a console the current one for as long as this object lives. One at a time.
class ConsoleScope {
 public:
  explicit ConsoleScope(const Console& console);
  ConsoleScope(const ConsoleScope&) = delete;
  ConsoleScope& operator=(const ConsoleScope&) = delete;
  ~ConsoleScope();

 private:
  Console before_;
};

// Whether a person looks at the stream. A stream in memory is no terminal.
bool is_terminal(std::FILE* stream);

// Columns of the terminal that data goes to; nothing when it goes elsewhere.
std::optional<std::size_t> terminal_width();

// All of the console's input, without line ends at its end. Throws Error(kOther) when it cannot be read.
std::string read_standard_input();

}  // namespace attnflow
