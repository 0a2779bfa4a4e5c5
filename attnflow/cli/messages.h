// Prints messages to standard error. Messages that cannot be written (a full disk, a closed descriptor) are lost
// without other effect: a command's results are its files and its exit code.
#pragma once

#include <string_view>

namespace attnflow {

// Prints a line. Quoted arguments, file names and contents may hold any bytes: terminal control sequences and bytes
// that are not UTF-8 are shown as \xNN, except line ends. Throws nothing.
void print_message(std::string_view text) noexcept;

// Prints unchanged, for drawing on a terminal. Throws nothing.
void print_raw_message(std::string_view text) noexcept;

// Opens descriptors 0 to 2 if they are closed; otherwise the next opened file would get one and receive messages.
// Reading and writing them still fails. Must precede opening any file.
void reserve_standard_descriptors() noexcept;

}  // namespace attnflow
