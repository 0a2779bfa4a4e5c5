// Prints messages for people to standard error.
//
// A message that cannot be written (a full disk, a closed descriptor) is lost and has no other effect: a command's
// results are its files and its exit code.
#pragma once

#include <string_view>

namespace attnflow {

// Prints a line. Messages quote arguments, file names and file contents, which may hold any bytes: control sequences
// for a terminal and bytes that are not UTF-8 are shown as \xNN, except line ends. Throws nothing.
void print_message(std::string_view text) noexcept;

// Prints the text unchanged, for drawing on a terminal. Throws nothing.
void print_raw_message(std::string_view text) noexcept;

// Opens the descriptors 0 to 2 if they were closed when the program started: otherwise the next opened file would get
// one of them, and messages would be written into it. Reading and writing them still fails. Must be called before any
// file is opened.
void reserve_standard_descriptors() noexcept;

}  // namespace attnflow
