// Errors that users can act on.
//
// The library never prints and never exits. A user's mistake (a bad file, an impossible option, an unsupported model)
// throws attnflow::Error; its message says what was expected, what was found, and what to do. A bug asserts.
//
// Example:
//
//     try {
//       read_npy("attention.npy");  // files/array_file.h
//     } catch (const Error& error) {
//       assert(error.kind() == ErrorKind::kBadFile && error.exit_code() == 3);
//       std::fprintf(stderr, "error: %s\n", error.what());  // what was expected, what was found, what to do
//     }
#pragma once

#include <stdexcept>
#include <string>

namespace attnflow {

// The value of each kind is the exit code of the command-line tool.
enum class ErrorKind : int {
  kOther = 1,             // anything else: disk full, output path that cannot be written, out of memory
  kUsage = 2,             // an option or argument with a wrong value
  kBadFile = 3,           // an input file that is missing, truncated or malformed, or holds unusable values
  kUnsupportedModel = 4,  // a valid model that no backend can run
  kInputTooLong = 5,      // more tokens than the model has positions
};

// Replaces each NUL, at which what() would end, by \x00: messages quote user input.
std::string without_nul(std::string message);

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message);
  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

}  // namespace attnflow
