// Standard error: messages for people.
//
// A message that cannot be written (a full disk, a closed descriptor) is lost and changes nothing else: what a command
// has to give are its files and its exit code.
#ifndef ATTNFLOW_CLI_MESSAGES_H_
#define ATTNFLOW_CLI_MESSAGES_H_

#include <string_view>

namespace attnflow {

// A line. Messages quote arguments, names of files and what is in them, which may hold any bytes: what a terminal would
// obey, and what is not UTF-8, is shown as \xNN, ends of line excepted. Throws nothing.
void print_message(std::string_view text) noexcept;

// As it is, for what draws on a terminal. Throws nothing.
void print_raw_message(std::string_view text) noexcept;

// Gives the descriptors 0 to 2 to something when whoever started the program closed them: otherwise the next file that
// is opened would get them, and messages would be written into it. Reading and writing them fails as before. To be
// called before anything is opened.
void reserve_standard_descriptors() noexcept;

}  // namespace attnflow

#endif  // ATTNFLOW_CLI_MESSAGES_H_
